//! [`Workspace`]: what one thread computes with.

use std::fmt;

use transformer_kernels::{Kernels, attention};

/// The buffers and kernels that one thread computes with. They grow to the largest batch.
#[derive(Default)]
pub struct Workspace {
    pub(super) kernels: Kernels,
    pub(super) x: Vec<f32>,
    pub(super) normalized: Vec<f32>,
    pub(super) projected: Vec<f32>,
    pub(super) attended: Vec<f32>,
    pub(super) inner: Vec<f32>,
    pub(super) output: Vec<f32>,
    pub(super) attention: attention::Buffers,
    pub(super) logits: Vec<f32>,
}

impl Workspace {
    /// Creates empty buffers.
    pub fn new() -> Self {
        Self::default()
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace").finish_non_exhaustive()
    }
}
