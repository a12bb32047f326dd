//! Which sacreBLEU the metrics are equal to.

/// The version of sacreBLEU whose numbers these are.
pub const SACREBLEU_VERSION: &str = "2.5.1";
