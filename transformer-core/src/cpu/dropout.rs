//! Dropout with a mask that is generated twice instead of stored.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, unary};
use burn::backend::tensor::FloatTensor;
use burn::backend::{DispatchTensor, TensorMetadata};
use burn::tensor::{Device, Tensor, TensorData};
use pulp::NullaryFnOnce;
use rayon::prelude::*;
use transformer_kernels::{BLOCK, instruction_set};

use super::autodiff::{primitive_and_node, record, run_with_autodiff};
use crate::device::{CpuBackend, CpuOp, DispatchTo, is_cpu_memory};
use crate::random::SplitMix64;

thread_local! {
    /// Generates this thread's masks. Without [`seed_dropout`], each thread has another seed.
    static GENERATOR: Cell<SplitMix64> =
        Cell::new(SplitMix64::new(N_GENERATORS.fetch_add(1, Ordering::Relaxed)));
}

/// Number of threads that have generated masks; the seed of the next one.
static N_GENERATORS: AtomicU64 = AtomicU64::new(0);

/// Elements that share one 64-bit output of the generator.
const ELEMENTS_PER_DRAW: usize = 4;

const _: () = assert!(
    BLOCK.is_multiple_of(ELEMENTS_PER_DRAW),
    "a block starts with a new output of the generator"
);

/// Seeds dropout: of this thread for a device in CPU memory, otherwise of the whole device.
///
/// Burn's CPU backends have one generator for all threads. Here every thread has its own, so that threads that share an
/// update generate the same masks in every run. Threads that were not seeded generate different masks, which vary from
/// run to run.
///
/// # Example
///
/// ```
/// use transformer_core::{device, seed_dropout};
///
/// let (_, device) = device::choose(None)?;
/// seed_dropout(&device, 7);
/// # Ok::<(), device::DeviceError>(())
/// ```
#[expect(clippy::disallowed_methods, reason = "on GPUs there is no other")]
pub fn seed_dropout(device: &Device, seed: u64) {
    if is_cpu_memory(device) {
        GENERATOR.set(SplitMix64::from_state(seed));
    } else {
        device.seed(seed);
    }
}

/// The state of the generator before a part of a pass; from it, the masks of the part are generated again.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DropoutState {
    /// This thread's generator, for tensors in CPU memory.
    Cpu(SplitMix64),
    /// The seed that the device's generator received, because its state cannot be read.
    Seed(u64),
}

impl DropoutState {
    /// Returns the current state; outside CPU memory, the generator is seeded with `seed` first.
    pub(crate) fn begin(device: &Device, seed: u64) -> Self {
        if is_cpu_memory(device) {
            return Self::Cpu(GENERATOR.get());
        }
        seed_dropout(device, seed);
        Self::Seed(seed)
    }

    /// Goes back to this state.
    pub(crate) fn restore(self, device: &Device) {
        match self {
            Self::Cpu(generator) => GENERATOR.set(generator),
            Self::Seed(seed) => seed_dropout(device, seed),
        }
    }
}

/// Sets elements to zero with this probability and scales the others, for tensors in CPU memory; `None`: fall back to
/// Burn.
///
/// With autodiff, the backward pass generates the mask again, so that the graph does not store it.
pub(crate) fn dropout<const D: usize>(x: &Tensor<D>, probability: f64) -> Option<Tensor<D>> {
    let device = x.device();
    if !is_cpu_memory(&device) {
        return None;
    }
    let shape = x.shape();
    let n_elements = shape.num_elements();
    let mask = next_mask(n_elements, probability);
    let dropped = apply(x, mask).unwrap_or_else(|| {
        let factors = TensorData::new(mask.factors(n_elements), shape);
        let factors = Tensor::from_data(factors, (&device, x.dtype()));
        x.clone() * factors
    });
    Some(dropped)
}

/// Takes a mask for `n` elements from this thread's generator.
pub(super) fn next_mask(n: usize, probability: f64) -> DropoutMask {
    let mask = DropoutMask {
        generator: GENERATOR.get(),
        threshold: (probability * 65_536.0).round() as u32,
        scale: (1.0 - probability).recip() as f32,
    };
    GENERATOR.set(mask.generator_at(n.next_multiple_of(ELEMENTS_PER_DRAW)));
    mask
}

/// A mask, stored as the state of the generator that makes it.
///
/// Each element uses 16 random bits, so that the probability is exact to 1/65,536.
#[derive(Clone, Copy, Debug)]
pub(super) struct DropoutMask {
    /// The generator before the first element.
    generator: SplitMix64,
    /// Elements with bits below this become zero.
    threshold: u32,
    /// Factor of the other elements, so that the mean is unchanged.
    scale: f32,
}

impl DropoutMask {
    /// Returns the generator at an element that starts a new output.
    fn generator_at(&self, element: usize) -> SplitMix64 {
        self.generator.skip((element / ELEMENTS_PER_DRAW) as u64)
    }

    pub(super) fn factors(&self, n: usize) -> Vec<f32> {
        let mut factors = vec![0.0; n];
        self.apply(&vec![1.0; n], &mut factors);
        factors
    }

    /// Writes `input` times the factors of its elements.
    fn apply(&self, input: &[f32], output: &mut [f32]) {
        let arch = instruction_set();
        let blocks = output.par_chunks_mut(BLOCK).zip(input.par_chunks(BLOCK));
        blocks.enumerate().for_each(|(block, (output, input))| {
            arch.dispatch(ApplyToBlock {
                mask: self,
                start: block * BLOCK,
                input,
                output,
            });
        });
    }

    /// Applies the mask to a block that begins with element `start`.
    #[inline(always)]
    fn apply_to_block(&self, start: usize, input: &[f32], output: &mut [f32]) {
        /// Number of generator outputs that are computed together.
        const DRAWS: usize = 8;
        let mut generator = self.generator_at(start);
        let chunks = input.chunks(DRAWS * ELEMENTS_PER_DRAW);
        for (input, output) in chunks.zip(output.chunks_mut(DRAWS * ELEMENTS_PER_DRAW)) {
            let mut factors = [0.0; DRAWS * ELEMENTS_PER_DRAW];
            let (draws, _) = factors.as_chunks_mut::<ELEMENTS_PER_DRAW>();
            for (draw, factors) in draws.iter_mut().enumerate() {
                let bits = generator.nth(draw as u64);
                for (element, factor) in factors.iter_mut().enumerate() {
                    let is_dropped = ((bits >> (16 * element)) as u32 & 0xffff) < self.threshold;
                    *factor = if is_dropped { 0.0 } else { self.scale };
                }
            }
            generator = generator.skip(DRAWS as u64);
            for (output, (x, factor)) in output.iter_mut().zip(input.iter().zip(factors)) {
                *output = x * factor;
            }
        }
    }
}

struct ApplyToBlock<'a> {
    mask: &'a DropoutMask,
    start: usize,
    input: &'a [f32],
    output: &'a mut [f32],
}

impl NullaryFnOnce for ApplyToBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.mask
            .apply_to_block(self.start, self.input, self.output);
    }
}

/// Applies a mask to a tensor with autodiff; `None`: multiply by the factors of the mask.
pub(super) fn apply<const D: usize>(x: &Tensor<D>, mask: DropoutMask) -> Option<Tensor<D>> {
    run_with_autodiff(x, || Dropout { x: x.clone(), mask })
}

struct Dropout<const D: usize> {
    x: Tensor<D>,
    mask: DropoutMask,
}

impl<const D: usize> CpuOp for Dropout<D> {
    type Output = Option<Tensor<D>>;

    fn run<B: CpuBackend>(self) -> Option<Tensor<D>>
    where
        DispatchTensor: DispatchTo<B>,
    {
        let (x, node) = primitive_and_node::<B, D>(self.x)?;
        let output = apply_to_primitive::<B>(&x, &self.mask);
        Some(record(DropoutBackward, [node], self.mask, output))
    }
}

/// The backward pass, which applies the same mask to the gradient.
#[derive(Debug)]
struct DropoutBackward;

impl<B: CpuBackend> Backward<B, 1> for DropoutBackward {
    type State = DropoutMask;

    fn backward(self, ops: Ops<DropoutMask, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        unary::<B, _>(ops.parents, ops.node, gradients, |d_output| {
            apply_to_primitive::<B>(&d_output, &ops.state)
        });
    }
}

fn apply_to_primitive<B: CpuBackend>(x: &FloatTensor<B>, mask: &DropoutMask) -> FloatTensor<B> {
    B::create(x.shape(), |output| mask.apply(&B::values(x), output))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors(seed: u64, n: usize, probability: f64) -> Vec<f32> {
        GENERATOR.set(SplitMix64::from_state(seed));
        next_mask(n, probability).factors(n)
    }

    #[test]
    fn the_share_of_zeros_is_the_probability() {
        let n = 200_000;
        let factors = factors(1, n, 0.2);
        let zeros = factors.iter().filter(|&&factor| factor == 0.0).count();
        // Four standard deviations of a binomial distribution of 200,000 draws are 716.
        assert!(zeros.abs_diff(n / 5) < 716, "{zeros}");
    }

    #[test]
    fn a_seed_determines_the_mask() {
        let [first, second, other] = [5, 5, 6].map(|seed| factors(seed, 31, 0.5));
        assert_eq!(first, second);
        assert_ne!(first, other);
    }

    #[test]
    fn threads_without_a_seed_generate_different_masks() {
        let masks = || std::thread::spawn(|| next_mask(64, 0.5).factors(64));
        let [one, other] = [masks(), masks()].map(|it| it.join().expect("no thread panics"));
        assert_ne!(one, other);
    }

    /// The first outputs of the generator for the state 0, by the reference implementation of
    /// Sebastiano Vigna (<https://prng.di.unimi.it/splitmix64.c>).
    #[test]
    fn the_bits_of_a_mask_are_those_of_splitmix64() {
        let draws = [16_294_208_416_658_607_535_u64, 7_960_286_522_194_355_700];
        let bits = draws
            .iter()
            .flat_map(|draw| (0..4).map(move |element| (draw >> (16 * element)) as u16));
        let expected: Vec<f32> = bits
            .map(|bits| if bits < 1 << 15 { 0.0 } else { 2.0 })
            .collect();
        assert_eq!(factors(0, 8, 0.5), expected);
    }

    /// Compares with one element after the other.
    #[test]
    fn each_block_continues_the_generator_of_the_previous_one() {
        let (seed, n, probability) = (u64::MAX - 5, 2 * BLOCK + 6, 0.1_f64);
        let mut generator = SplitMix64::from_state(seed);
        let mut expected = Vec::new();
        while expected.len() < n {
            let bits = generator.next_u64();
            let kept = (1.0 - probability).recip() as f32;
            let four = [bits, bits >> 16, bits >> 32, bits >> 48];
            expected.extend(four.map(|bits| if bits & 0xffff < 6554 { 0.0 } else { kept }));
        }
        expected.truncate(n);
        assert_eq!(factors(seed, n, probability), expected);
        assert_eq!(GENERATOR.get().state(), generator.state());
    }

    #[test]
    fn a_probability_near_one_drops_everything() {
        let factors = factors(3, 1 << 18, 1.0 - 1e-9);
        assert!(factors.iter().all(|&factor| factor == 0.0));
    }
}
