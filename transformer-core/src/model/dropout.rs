//! Dropout (§5.4).

use burn::module::{Flag, Module, Param};
use burn::tensor::{Distribution, Tensor};

use crate::cpu;

/// Sets random elements to zero during training, and scales the others to keep the mean.
#[derive(Module, Debug)]
pub(crate) struct Dropout {
    probability: f64,
    /// False if the model is in evaluation mode (`valid`) or frozen.
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
        let is_training = self.training.is_enabled() && x.device().is_autodiff();
        if self.probability == 0.0 || !is_training {
            return x;
        }
        cpu::dropout(&x, self.probability).unwrap_or_else(|| {
            let kept = 1.0 - self.probability;
            let mask = x.random_like(Distribution::Bernoulli(kept)) * kept.recip();
            x * mask
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device;

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
