//! Dropout whose mask is not kept.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, unary};
use burn::backend::tensor::FloatTensor;
use burn::backend::{DispatchTensor, TensorMetadata};
use burn::tensor::Tensor;
use pulp::Arch;
use rayon::prelude::*;

use super::autodiff::{on_tape, parts, record};
use super::vector::BLOCK;
use crate::device::{Host, OnHost, Reach};
use crate::random::SplitMix64;

/// Numbers that share a draw of 64 bits.
const SHARING: usize = 4;

const _: () = assert!(BLOCK.is_multiple_of(SHARING), "a block begins with a draw");

/// Says which numbers are dropped: those of a generator whose state it holds.
///
/// Each number has 16 bits of a draw, so that the probability is exact to 1/65,536.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DropoutMask {
    /// At the first draw.
    generator: SplitMix64,
    /// A number whose bits are below is dropped.
    threshold: u32,
    /// What the others are multiplied by, so that the mean stays.
    scale: f32,
}

impl DropoutMask {
    /// Takes the state of a generator, and the probability that a number is dropped.
    pub(crate) fn new(state: u64, probability: f64) -> Self {
        Self {
            generator: SplitMix64::from_state(state),
            threshold: (probability * 65_536.0).round() as u32,
            scale: (1.0 - probability).recip() as f32,
        }
    }

    /// Returns the generator's state when `n` numbers are drawn.
    pub(crate) fn state_after(&self, n: usize) -> u64 {
        self.generator_at(n.next_multiple_of(SHARING)).state()
    }

    /// Returns the generator at the draw for the number at a place that begins one.
    fn generator_at(&self, place: usize) -> SplitMix64 {
        self.generator.skip((place / SHARING) as u64)
    }

    /// Returns what `n` numbers are multiplied by.
    pub(crate) fn factors(&self, n: usize) -> Vec<f32> {
        let mut factors = vec![0.0; n];
        self.apply(&vec![1.0; n], &mut factors);
        factors
    }

    /// Writes so many numbers without those that are dropped, the others scaled.
    fn apply(&self, numbers: &[f32], output: &mut [f32]) {
        let arch = Arch::new();
        let blocks = output.par_chunks_mut(BLOCK).zip(numbers.par_chunks(BLOCK));
        blocks.enumerate().for_each(|(block, (output, numbers))| {
            arch.dispatch(|| self.apply_from(block * BLOCK, numbers, output));
        });
    }

    /// Does so with those from a place on that begins a draw.
    #[inline(always)]
    fn apply_from(&self, place: usize, numbers: &[f32], output: &mut [f32]) {
        /// Draws that are made side by side.
        const DRAWS: usize = 8;
        let mut generator = self.generator_at(place);
        let chunks = numbers.chunks(DRAWS * SHARING);
        for (numbers, output) in chunks.zip(output.chunks_mut(DRAWS * SHARING)) {
            let mut factors = [0.0; DRAWS * SHARING];
            for (draw, factors) in factors.as_chunks_mut::<SHARING>().0.iter_mut().enumerate() {
                let bits = generator.nth(draw as u64);
                for (number, factor) in factors.iter_mut().enumerate() {
                    let is_dropped = ((bits >> (16 * number)) as u32 & 0xffff) < self.threshold;
                    *factor = if is_dropped { 0.0 } else { self.scale };
                }
            }
            generator = generator.skip(DRAWS as u64);
            for (output, (number, factor)) in output.iter_mut().zip(numbers.iter().zip(factors)) {
                *output = number * factor;
            }
        }
    }
}

/// Drops numbers of a tensor; `None` where a mask is to be multiplied with it.
///
/// On the way back the mask is drawn once more, so that the tape keeps none.
pub(crate) fn dropout<const D: usize>(x: &Tensor<D>, mask: DropoutMask) -> Option<Tensor<D>> {
    on_tape(x, || Dropout { x: x.clone(), mask })
}

struct Dropout<const D: usize> {
    x: Tensor<D>,
    mask: DropoutMask,
}

impl<const D: usize> OnHost for Dropout<D> {
    type Output = Option<Tensor<D>>;

    fn call<B: Host>(self) -> Option<Tensor<D>>
    where
        DispatchTensor: Reach<B>,
    {
        let (x, node) = parts::<B, D>(self.x)?;
        let output = drop_numbers::<B>(&x, &self.mask);
        Some(record(Back, [node], self.mask, output))
    }
}

/// The way back, which is the way there.
#[derive(Debug)]
struct Back;

impl<B: Host> Backward<B, 1> for Back {
    type State = DropoutMask;

    fn backward(self, ops: Ops<DropoutMask, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        unary::<B, _>(ops.parents, ops.node, gradients, |of_output| {
            drop_numbers::<B>(&of_output, &ops.state)
        });
    }
}

fn drop_numbers<B: Host>(x: &FloatTensor<B>, mask: &DropoutMask) -> FloatTensor<B> {
    B::make(x.shape(), |output| mask.apply(&B::numbers(x), output))
}
