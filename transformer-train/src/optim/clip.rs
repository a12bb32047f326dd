//! Gradient clipping by global norm (Pascanu et al. 2013, <https://arxiv.org/abs/1211.5063>).

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;

/// Returns the Euclidean norm of all gradients together, or `None` without gradients.
///
/// The result stays on the device; nothing is synchronized.
///
/// # Shapes
///
/// - returns: `[1]`
pub fn global_norm<M: Module>(module: &M, gradients: &GradientsParams) -> Option<Tensor<1>> {
    let mut squares = SumOfSquares {
        gradients,
        sum: None,
    };
    module.visit(&mut squares);
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
    sum: Option<Tensor<1>>,
}

impl ModuleVisitor for SumOfSquares<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(param.id) {
            let square = (gradient.clone() * gradient).sum();
            self.sum = Some(match self.sum.take() {
                Some(sum) => sum + square,
                None => square,
            });
        }
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
