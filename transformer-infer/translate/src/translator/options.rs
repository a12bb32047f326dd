//! [`OpenOptions`]: the options for opening models.

use std::num::NonZeroUsize;

use transformer_core::ComputePrecision;

/// The options for opening models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// The number format of matrix products on CPUs. Default: integers for a model that is stored in them, otherwise
    /// floats.
    pub precision: Option<ComputePrecision>,
    /// If true, all target tokens are candidates, even if the model has a shortlist.
    pub without_shortlist: bool,
    /// If true, loads modules, for scores and attention; they are packed only at the first translation.
    pub as_module: bool,
    /// Maximum number of threads that translate at the same time, on CPUs. Default: one per core.
    pub n_threads: Option<NonZeroUsize>,
}
