//! [`Figures`]: what this example prints and `cargo xtask bench-backends`, which has this file too, arranges.

use serde::{Deserialize, Serialize};

/// The figures of one backend, or of a program that it is compared with; `None` and empty where nothing was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Figures {
    pub(crate) backend: String,
    pub(crate) device: Option<String>,
    pub(crate) threads: Option<usize>,
    /// The difference from PyTorch's logits, in units of the largest logit.
    pub(crate) logits: Option<Difference>,
    /// The difference from PyTorch's gradients, in units of the parameter's largest value.
    pub(crate) gradients: Option<Difference>,
    /// Translations of the golden sources with PyTorch's weights, greedily and with a beam.
    pub(crate) translations: Vec<Vec<u32>>,
    pub(crate) parameters: Option<usize>,
    /// Seconds of the first update, which compiles kernels and allocates memory.
    pub(crate) first_update_s: Option<f64>,
    /// Seconds of everything that ran for the first time.
    pub(crate) warm_up_s: Option<f64>,
    pub(crate) training: Option<Training>,
    /// With the matrix products of layers in bfloat16.
    pub(crate) training_bf16: Option<Training>,
    /// With layers that the backward pass computes again.
    pub(crate) training_recomputed: Option<Training>,
    pub(crate) parts: Option<Parts>,
    pub(crate) decoding: Vec<Decoding>,
    pub(crate) peak_memory_mib: Option<f64>,
    pub(crate) gpu_memory_mib: Option<f64>,
    /// The number of updates of varying shapes that were requested.
    pub(crate) n_varied: Option<u64>,
    /// Memory after some of them.
    pub(crate) varied: Vec<MemorySample>,
    pub(crate) build_s: Option<f64>,
    pub(crate) binary_mib: Option<f64>,
    /// The reason why figures are missing.
    pub(crate) trouble: Option<String>,
}

/// The largest difference of all goldens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Difference {
    /// `None` if a value is NaN, which JSON does not have.
    pub(crate) found: Option<f64>,
    /// A smaller difference is due to rounding.
    pub(crate) tolerance: f64,
}

/// The speed of whole updates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Training {
    /// Target tokens per update.
    pub(crate) labels: f64,
    /// One value per run.
    pub(crate) tokens_per_second: Vec<f64>,
}

/// Median seconds of the parts of an update, one value per run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Parts {
    pub(crate) forward_s: Vec<f64>,
    pub(crate) backward_s: Vec<f64>,
    pub(crate) optimizer_s: Vec<f64>,
}

/// The speed of translation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Decoding {
    /// Sentences per batch.
    pub(crate) batch: usize,
    /// Hypotheses per sentence.
    pub(crate) beam: usize,
    /// Tokens of the best hypotheses per second, one value per run.
    pub(crate) tokens_per_second: Vec<f64>,
    /// Milliseconds to the first token, one value per run.
    pub(crate) first_token_ms: Vec<f64>,
}

/// Memory after some updates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct MemorySample {
    pub(crate) update: u64,
    pub(crate) memory_mib: Option<f64>,
    pub(crate) gpu_memory_mib: Option<f64>,
}
