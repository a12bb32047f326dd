//! Scores of translations: BLEU and chrF, equal to sacreBLEU's to the last printed digit.
//!
//! Scores of different programs can be compared only if tokenization, smoothing and the rest are the same
//! (Post 2018, <https://aclanthology.org/W18-6319/>). These follow sacreBLEU 2, signature included.

mod bleu;
mod case;
mod chrf;
mod ngrams;
mod python;
mod tokenization;

pub use bleu::{Bleu, BleuScore, BleuStatistics, Orders, Smoothing};
pub use case::Case;
pub use chrf::{Chrf, ChrfScore, ChrfStatistics};
pub use tokenization::Tokenization;

/// The version of sacreBLEU whose numbers these are.
pub const SACREBLEU_VERSION: &str = "2.5.1";
