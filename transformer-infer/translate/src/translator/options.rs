//! [`OpenOptions`]: how models are opened.

use std::num::NonZeroUsize;

use transformer_core::ComputePrecision;

/// How models are opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// The number format of matrix products on CPUs. Default: integers for a model that is stored in them, else
    /// floats.
    pub precision: Option<ComputePrecision>,
    /// Whether to load modules for scores and attention, which are packed only at the first translation.
    pub as_module: bool,
    /// Most threads that translate at the same time, on CPUs. Default: one for each core.
    pub n_threads: Option<NonZeroUsize>,
}
