//! The version of sacreBLEU that the metrics reproduce.

/// The version of sacreBLEU that the metrics reproduce, as named in their signatures.
pub const SACREBLEU_VERSION: &str = "2.5.1";
