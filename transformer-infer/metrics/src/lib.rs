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

pub use bleu::{Bleu, BleuScore, BleuStatistics, Orders, Smoothing};
pub use case::Case;
pub use chrf::{Chrf, ChrfScore, ChrfStatistics};
pub use metric::{CorpusCounts, Metric};
pub use sacrebleu::SACREBLEU_VERSION;
pub use significance::{Compared, PairedTest, PairedTestKind};
pub use ter::{Ter, TerScore, TerStatistics};
pub use ter_words::{Normalization, Punctuation, Scripts};
pub use tokenization::Tokenization;
