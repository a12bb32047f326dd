//! Exponential moving average (EMA) of the weights, which can be validated and published instead of the weights.
//!
//! Polyak and Juditsky 1992, <https://doi.org/10.1137/0330046>. The paper averages its last checkpoints instead (§6.1).

use std::collections::VecDeque;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::Tensor;

/// Copies a module, with new parameter ids and without gradients.
pub(crate) fn copy<M: Module>(module: &M) -> M {
    module.clone().map(&mut Copy)
}

/// Updates the average of a module's weights: `average + (1 − decay)·(weights − average)`.
///
/// # Panics
///
/// Panics if `average` and `module` have different parameters.
pub(crate) fn update<M: Module>(average: M, module: &M, decay: f64) -> M {
    let rate = 1.0 - decay;
    combine(average, module, |average, weights| {
        average.clone() + (weights - average) * rate
    })
}

/// Replaces each parameter of a module by a function of it and of the same parameter of another module, as flat tensors
/// outside the autodiff graph.
pub(crate) fn combine<M: Module>(
    module: M,
    other: &M,
    function: impl Fn(Tensor<1>, Tensor<1>) -> Tensor<1>,
) -> M {
    let mut others = Weights(VecDeque::new());
    other.visit(&mut others);
    module.map(&mut Combine {
        others: others.0,
        function,
    })
}

/// Returns the decay of update `n`, counted from 1: `min(decay, (1 + n)/(10 + n))`, as in TensorFlow's
/// `ExponentialMovingAverage`. The smaller decay at first lets the average forget the initial weights.
pub(crate) fn decay_at(update: u64, decay: f64) -> f64 {
    let n = update as f64;
    decay.min((1.0 + n) / (10.0 + n))
}

struct Copy;

impl ModuleMapper for Copy {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (_, tensor, mapper) = param.consume();
        let copied = Param::from_mapped_value(ParamId::new(), tensor.detach(), mapper);
        copied.set_require_grad(false)
    }
}

/// Collects the weights of a module as flat tensors outside the autodiff graph.
struct Weights(VecDeque<Tensor<1>>);

impl ModuleVisitor for Weights {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let weights = param.val().without_autodiff();
        let n_elements = weights.shape().num_elements();
        self.0.push_back(weights.reshape([n_elements]));
    }
}

struct Combine<F> {
    others: VecDeque<Tensor<1>>,
    function: F,
}

impl<F: Fn(Tensor<1>, Tensor<1>) -> Tensor<1>> ModuleMapper for Combine<F> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let other = self.others.pop_front();
        let other = other.expect("both modules have the same parameters");
        param.map(|tensor| {
            let (is_autodiff, shape) = (tensor.is_autodiff(), tensor.shape());
            let tensor = tensor.without_autodiff().reshape(other.shape());
            let combined = (self.function)(tensor, other).reshape(shape);
            match is_autodiff {
                true => Tensor::from_inner(combined),
                false => combined,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use burn::nn::{Linear, LinearConfig};
    use burn::tensor::Device;
    use transformer_core::device;

    use super::*;

    fn layer(value: f32, device: &Device) -> Linear {
        let layer = LinearConfig::new(2, 3).init(device);
        layer.map(&mut Set(value))
    }

    struct Set(f32);

    impl ModuleMapper for Set {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            param.map(|tensor| tensor.full_like(self.0))
        }
    }

    fn values(layer: &Linear) -> Vec<f32> {
        let weights = layer.weight.val().into_data();
        weights.iter::<f32>().collect()
    }

    #[test]
    fn the_average_moves_by_one_minus_decay() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let average = copy(&layer(1.0, &device));
        let average = update(average, &layer(3.0, &device), 0.75);
        assert_eq!(values(&average), [1.5; 6]);
    }

    #[test]
    fn the_average_has_parameters_of_its_own_without_gradients() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let layer = layer(1.0, &device.autodiff());
        let average = copy(&layer);
        assert_ne!(average.weight.id, layer.weight.id);
        assert!(!average.weight.val().is_require_grad());
    }

    #[test]
    fn the_average_of_constant_weights_is_bit_identical() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let layer = layer(0.1, &device);
        let average = update(copy(&layer), &layer, 0.999);
        assert_eq!(values(&average), values(&layer));
    }

    #[test]
    fn the_decay_is_smaller_at_first() {
        assert!((decay_at(1, 0.999) - 2.0 / 11.0).abs() < 1e-15);
        assert_eq!(decay_at(100_000, 0.999), 0.999);
    }
}
