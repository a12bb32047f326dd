//! Tolerances for differences from PyTorch; `examples/bench_backend` uses the same.

use transformer_core::device::Backend;

/// The largest differences that are explained by rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tolerances {
    /// For outputs, relative to the largest logit or output.
    pub(crate) logits: f64,
    /// For attention weights, which are at most 1.
    pub(crate) weights: f64,
    /// For gradients, relative to the largest entry of the parameter's gradient.
    pub(crate) gradients: f64,
    /// For a loss after many updates, relative to the loss: Adam divides small gradients by their
    /// own size, so that rounding errors grow from update to update.
    pub(crate) curve: f64,
}

/// For `f32` compared with `f64`.
const SINGLE: Tolerances = Tolerances {
    logits: 1e-5,
    weights: 1e-5,
    gradients: 1e-4,
    curve: 1e-3,
};

/// For matrix products with TF32 inputs, which have 11 significant bits instead of 24: a relative
/// error of up to 2⁻¹¹, or 5e-4, for each. On an NVIDIA H200 the goldens' logits differed by 1.5e-3, gradients by 2.4e-2.
const TF32: Tolerances = Tolerances {
    logits: 5e-3,
    weights: 5e-3,
    gradients: 5e-2,
    curve: 1e-2,
};

impl Tolerances {
    /// Returns the tolerances of a backend.
    ///
    /// On CUDA GPUs of compute capability 8.0 and above, cubek rounds the inputs of `f32` matrix
    /// products to TF32 whenever it uses tensor cores, and Burn has no setting against it:
    /// <https://github.com/tracel-ai/cubek/blob/245851cc83e95e179b91bc145c2b3a1e305bfdba/crates/cubek-matmul/src/multi_level/definition/blueprint.rs#L89-L103>.
    pub(crate) fn of(backend: Backend) -> Self {
        if backend == Backend::Cuda {
            TF32
        } else {
            SINGLE
        }
    }
}
