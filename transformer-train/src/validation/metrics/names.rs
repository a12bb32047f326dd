//! Names of the metrics in the dashboard, `metrics.csv` and the log.

pub(crate) const LOSS: &str = "Loss";
pub(crate) const PERPLEXITY: &str = "Perplexity";
pub(crate) const SPEED: &str = "Target tokens/s";
pub(crate) const PADDING: &str = "Padding";
pub(crate) const WAITING: &str = "Waiting for data";
pub(crate) const GRADIENT_NORM: &str = "Gradient norm";
pub(crate) const EXACT_MATCH: &str = "Exact match";
pub(crate) const BLEU: &str = "BLEU";
pub(crate) const CHRF: &str = "chrF2";
pub(crate) const LEARNING_RATE: &str = "Learning Rate";
pub(crate) const COMMAND: &str = "Command score";
