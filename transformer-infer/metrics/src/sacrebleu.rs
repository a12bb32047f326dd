//! The version of sacreBLEU that the metrics reproduce.

/// The version of sacreBLEU that the metrics reproduce, which their signatures name.
pub const SACREBLEU_VERSION: &str = "2.5.1";
