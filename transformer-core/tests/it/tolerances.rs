//! How far a backend may be from PyTorch's numbers; `examples/bench_backend` holds it to the same.

use transformer_core::device::Backend;

/// The largest differences that count as rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tolerances {
    /// Of outputs, in units of the largest logit or output.
    pub(crate) logits: f64,
    /// Of attention weights, which are at most 1.
    pub(crate) weights: f64,
    /// In units of the largest entry of the parameter's gradient: backward goes twice as deep.
    pub(crate) gradients: f64,
    /// Of a loss after many updates, in units of the loss: Adam divides small gradients by their own size, so
    /// that rounding grows from update to update.
    pub(crate) curve: f64,
}

/// Of float32 beside float64.
const SINGLE: Tolerances = Tolerances {
    logits: 1e-5,
    weights: 1e-5,
    gradients: 1e-4,
    curve: 1e-3,
};

/// Of TF32, whose factors have 11 bits instead of 24: each is off by up to 2⁻¹¹, or 5e-4.
const TF32: Tolerances = Tolerances {
    logits: 5e-3,
    weights: 5e-3,
    gradients: 2e-2,
    curve: 1e-2,
};

impl Tolerances {
    /// Returns those of a backend.
    ///
    /// On CUDA, where the GPU can (compute capability 8.0 and above), cubek rounds the factors of a product of
    /// float32 to TF32 whenever it multiplies in tensor cores, and Burn has no switch against it:
    /// <https://github.com/tracel-ai/cubek/blob/245851cc83e95e179b91bc145c2b3a1e305bfdba/crates/cubek-matmul/src/multi_level/definition/blueprint.rs#L89-L103>.
    /// (These tolerances are derived from that; no GPU has confirmed them yet.)
    pub(crate) fn of(backend: Backend) -> Self {
        if backend == Backend::Cuda {
            TF32
        } else {
            SINGLE
        }
    }
}
