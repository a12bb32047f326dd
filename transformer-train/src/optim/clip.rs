//! Gradient clipping by global norm (Pascanu et al. 2013, <https://arxiv.org/abs/1211.5063>).

use std::mem;

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use transformer_core::device::is_cpu_memory;

/// Returns the Euclidean norm of all gradients together, or `None` without gradients.
///
/// The result stays on the device; nothing is synchronized.
///
/// # Shapes
///
/// - returns: `[1]`
pub fn global_norm<M: Module>(module: &M, gradients: &GradientsParams) -> Option<Tensor<1>> {
    norm_in_parts(module, gradients, |device| {
        if is_cpu_memory(device) { 0 } else { MAX_JOINED }
    })
}

/// Maximum number of elements that are joined on a GPU: 128 MiB in single precision.
const MAX_JOINED: usize = 32 << 20;

/// Returns the norm; on each device, up to `max_joined` elements of several gradients are joined and summed at once.
fn norm_in_parts<M: Module>(
    module: &M,
    gradients: &GradientsParams,
    max_joined: fn(&Device) -> usize,
) -> Option<Tensor<1>> {
    let mut squares = SumOfSquares {
        gradients,
        max_joined,
        pending: Vec::new(),
        n_pending: 0,
        sum: None,
    };
    module.visit(&mut squares);
    squares.sum_pending();
    squares.sum.map(Tensor::sqrt)
}

/// Scales all gradients by `min(1, max_norm / norm)`, so that their global norm is at most
/// `max_norm`: `torch.nn.utils.clip_grad_norm_`.
///
/// Burn clips each parameter separately, which changes the direction of the update. Nothing is read
/// back from the device.
///
/// # Shapes
///
/// - `norm`: `[1]`, from [`global_norm`]
pub fn clip_by_global_norm<M: Module>(
    module: &M,
    gradients: GradientsParams,
    norm: Tensor<1>,
    max_norm: f64,
) -> GradientsParams {
    // PyTorch adds the same 1e-6 to avoid division by zero.
    let factor = ((norm + 1e-6).recip() * max_norm).clamp_max(1.0);
    let mut scale = Scale { gradients, factor };
    module.visit(&mut scale);
    scale.gradients
}

struct SumOfSquares<'a> {
    gradients: &'a GradientsParams,
    max_joined: fn(&Device) -> usize,
    /// Gradients to join: on a GPU, several launches for each of them cost more than a copy.
    pending: Vec<Tensor<1>>,
    n_pending: usize,
    sum: Option<Tensor<1>>,
}

impl SumOfSquares<'_> {
    fn add<const D: usize>(&mut self, gradient: Tensor<D>) {
        let square = (gradient.clone() * gradient).sum();
        self.sum = Some(match self.sum.take() {
            Some(sum) => sum + square,
            None => square,
        });
    }

    fn sum_pending(&mut self) {
        if !self.pending.is_empty() {
            self.n_pending = 0;
            let pending = mem::take(&mut self.pending);
            self.add(Tensor::cat(pending, 0));
        }
    }
}

impl ModuleVisitor for SumOfSquares<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some(gradient) = self.gradients.get::<D>(param.id) else {
            return;
        };
        let len = gradient.shape().num_elements();
        let max_joined = (self.max_joined)(&gradient.device());
        if len > max_joined {
            return self.add(gradient);
        }
        if self.n_pending + len > max_joined {
            self.sum_pending();
        }
        self.pending.push(gradient.reshape([len]));
        self.n_pending += len;
    }
}

struct Scale {
    gradients: GradientsParams,
    factor: Tensor<1>,
}

impl ModuleVisitor for Scale {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.remove::<D>(param.id) {
            let factor = self.factor.clone().reshape([1; D]);
            self.gradients.register(param.id, gradient * factor);
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::nn::{Linear, LinearConfig};
    use transformer_core::device;

    use super::*;

    /// Returns a layer and gradients of norm 13: 12 in the matrix, 5 in the bias.
    fn layer_and_gradients() -> (Linear, GradientsParams) {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let layer = LinearConfig::new(2, 1).init(&device);
        let mut gradients = GradientsParams::new();
        let matrix = Tensor::<2>::from_data([[0.0], [12.0]], &device);
        gradients.register(layer.weight.id, matrix);
        let bias = layer.bias.as_ref().expect("the layer has a bias");
        gradients.register(bias.id, Tensor::<1>::from_data([5.0], &device));
        (layer, gradients)
    }

    fn largest_elements(layer: &Linear, gradients: &GradientsParams) -> [f32; 2] {
        let bias = layer.bias.as_ref().expect("the layer has a bias");
        let matrix = gradients.get::<2>(layer.weight.id).expect("registered");
        let bias = gradients.get::<1>(bias.id).expect("registered");
        [matrix.max().into_scalar(), bias.max().into_scalar()]
    }

    fn clip(layer: &Linear, gradients: GradientsParams, max_norm: f64) -> GradientsParams {
        let norm = global_norm(layer, &gradients).expect("there are gradients");
        clip_by_global_norm(layer, gradients, norm, max_norm)
    }

    #[test]
    fn the_norm_covers_all_parameters() {
        let (layer, gradients) = layer_and_gradients();
        let norm = global_norm(&layer, &gradients).expect("there are gradients");
        assert_eq!(norm.into_scalar::<f32>(), 13.0);
    }

    #[test]
    fn the_norm_is_the_same_in_any_parts() {
        let (layer, gradients) = layer_and_gradients();
        // Everything at once, each gradient for itself, and only the bias, which is shorter, as one to be joined.
        let limits: [fn(&Device) -> usize; 3] = [|_| 100, |_| 0, |_| 1];
        for limit in limits {
            let norm = norm_in_parts(&layer, &gradients, limit).expect("there are gradients");
            assert_eq!(norm.into_scalar::<f32>(), 13.0);
        }
    }

    #[test]
    fn all_parameters_are_scaled_by_the_same_factor() {
        let (layer, gradients) = layer_and_gradients();
        let clipped = clip(&layer, gradients, 6.5);
        let [matrix, bias] = largest_elements(&layer, &clipped);
        assert!(
            (matrix - 6.0).abs() < 1e-5 && (bias - 2.5).abs() < 1e-5,
            "{matrix} {bias}"
        );
    }

    #[test]
    fn gradients_within_the_norm_are_unchanged() {
        let (layer, gradients) = layer_and_gradients();
        let clipped = clip(&layer, gradients, 14.0);
        assert_eq!(largest_elements(&layer, &clipped), [12.0, 5.0]);
    }
}
