//! The non-linearities of [`Activation`].

use burn::tensor::{Tensor, activation};

use crate::config::Activation;

impl Activation {
    /// Applies the function to every element.
    pub(super) fn forward(self, x: Tensor<3>) -> Tensor<3> {
        match self {
            Self::Relu => activation::relu(x),
            Self::Gelu => gelu(x),
            Self::Silu => activation::silu(x),
        }
    }
}

/// `x·Φ(x)`, written out. On ndarray and all GPUs, the gradient of Burn's `gelu` is that of the tanh approximation:
/// <https://github.com/tracel-ai/burn/blob/907ab111a02c2dea47bc41633754f095c6b2220e/crates/burn-backend/src/backend/ops/activation.rs#L98>.
/// `burns_gelu_has_its_own_derivative_only_on_flex_and_libtorch` fails when that is fixed.
fn gelu(x: Tensor<3>) -> Tensor<3> {
    let doubled = (x.clone() * std::f64::consts::FRAC_1_SQRT_2).erf() + 1.0; // 2·Φ(x)
    x * doubled * 0.5
}
