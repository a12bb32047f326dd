//! Scores of translations: BLEU, chrF and TER, equal to sacreBLEU's to the last printed digit.
//!
//! Scores of different programs are comparable only if tokenization, smoothing and all other settings are the same
//! (Post 2018, <https://aclanthology.org/W18-6319/>). These metrics follow sacreBLEU 2, including its signatures and
//! its tests of statistical significance.

mod bleu;
mod case;
mod chrf;
mod edit_rate;
mod metric;
mod ngrams;
mod numpy_random;
mod python;
mod sacrebleu;
mod significance;
mod ter;
mod ter_words;
mod tokenization;

pub use bleu::{Bleu, BleuScore, Smoothing};
#[doc(hidden)]
pub use bleu::{BleuStatistics, Orders};
#[doc(hidden)]
pub use case::Case;
#[doc(hidden)]
pub use chrf::ChrfStatistics;
pub use chrf::{Chrf, ChrfScore};
#[doc(hidden)]
pub use metric::CorpusCounts;
pub use metric::Metric;
#[doc(hidden)]
pub use sacrebleu::SACREBLEU_VERSION;
pub use significance::PairedTest;
#[doc(hidden)]
pub use significance::{Compared, PairedTestKind};
#[doc(hidden)]
pub use ter::TerStatistics;
pub use ter::{Ter, TerScore};
#[doc(hidden)]
pub use ter_words::{Normalization, Punctuation, Scripts};
pub use tokenization::Tokenization;
