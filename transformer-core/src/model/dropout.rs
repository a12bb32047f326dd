//! Dropout (§5.4) whose randomness is fast on the CPU and the same whatever runs beside it.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use burn::module::{Flag, Module, Param};
use burn::tensor::{Device, Distribution, Tensor, TensorData};

use crate::cpu::{self, DropoutMask};
use crate::device;
use crate::random::SplitMix64;

thread_local! {
    /// State of the generator that draws this thread's masks on the CPU. Until it is seeded, no other thread
    /// begins where this one does.
    static STREAM: Cell<u64> =
        Cell::new(SplitMix64::new(N_STREAMS.fetch_add(1, Ordering::Relaxed)).state());
}

/// Number of threads that have drawn masks.
static N_STREAMS: AtomicU64 = AtomicU64::new(0);

/// Fixes what dropout draws from here on: on this thread where tensors live in the computer's memory,
/// and on the whole device elsewhere.
///
/// Backends on the CPU have one generator for all threads, a slow one; here every thread has its own, so
/// that threads which share an update draw the same masks in every run. A thread that is not seeded draws
/// other masks than every other thread, and not the same in every run.
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
pub fn seed_dropout(device: &Device, seed: u64) {
    if device::is_in_memory(device) {
        STREAM.set(seed);
    } else {
        device.seed(seed);
    }
}

/// Sets features to zero at random during training, and scales the others so that the mean stays.
#[derive(Module, Debug)]
pub(crate) struct Dropout {
    probability: f64,
    /// Off in a model that is not being trained (`valid`) or is frozen.
    training: Param<Flag>,
}

impl Dropout {
    pub(crate) fn new(probability: f64) -> Self {
        Self {
            probability,
            training: Param::from_bool(true),
        }
    }

    /// # Shapes
    ///
    /// - `x`: any
    /// - returns: that of `x`
    pub(crate) fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        let device = x.device();
        if self.probability == 0.0 || !self.training.is_enabled() || !device.is_autodiff() {
            return x;
        }
        if !device::is_in_memory(&device) {
            let kept = 1.0 - self.probability;
            let mask = x.random_like(Distribution::Bernoulli(kept)) * kept.recip();
            return x * mask;
        }
        let shape = x.shape();
        let mask = draw(shape.num_elements(), self.probability);
        cpu::dropout(&x, mask).unwrap_or_else(|| {
            let factors = TensorData::new(mask.factors(shape.num_elements()), shape);
            let factors = Tensor::from_data(factors, (&device, x.dtype()));
            x * factors
        })
    }
}

/// Draws a mask of `n` numbers from this thread's generator.
fn draw(n: usize, probability: f64) -> DropoutMask {
    let mask = DropoutMask::new(STREAM.get(), probability);
    STREAM.set(mask.state_after(n));
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_zeros_is_the_probability() {
        STREAM.set(1);
        let n = 200_000;
        let zeros = draw(n, 0.2)
            .factors(n)
            .iter()
            .filter(|&&value| value == 0.0)
            .count();
        // Four standard deviations of a binomial of 200,000 draws are 716.
        assert!(zeros.abs_diff(n / 5) < 716, "{zeros}");
    }

    #[test]
    fn one_seed_draws_one_mask() {
        let drawn = [5, 5, 6].map(|seed| {
            STREAM.set(seed);
            draw(31, 0.5).factors(31)
        });
        assert_eq!(drawn[0], drawn[1]);
        assert_ne!(drawn[0], drawn[2]);
    }

    #[test]
    fn threads_that_nobody_seeded_draw_different_masks() {
        let drawn = || std::thread::spawn(|| draw(64, 0.5).factors(64));
        let [one, other] = [drawn(), drawn()].map(|it| it.join().expect("drawing does not panic"));
        assert_ne!(one, other);
    }

    #[test]
    fn a_model_that_is_not_trained_drops_nothing() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let ones = Tensor::<1>::ones([64], &device);
        let same: Vec<f32> = Dropout::new(0.5)
            .forward(ones)
            .into_data()
            .iter::<f32>()
            .collect();
        assert_eq!(same, [1.0; 64]);
        let autodiff = Tensor::<1>::ones([64], &device.autodiff());
        let valid = Dropout::new(0.5).valid().forward(autodiff.clone());
        assert_eq!(valid.sum().into_scalar::<f32>(), 64.0);
        let dropped: Vec<f32> = Dropout::new(0.5)
            .forward(autodiff)
            .into_data()
            .iter::<f32>()
            .collect();
        assert!(dropped.iter().all(|&value| value == 0.0 || value == 2.0));
        assert!(dropped.contains(&0.0) && dropped.contains(&2.0));
    }
}
