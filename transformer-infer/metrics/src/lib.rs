//! Scores of translations: BLEU, chrF and TER, equal to sacreBLEU's to the last printed digit.
//!
//! Scores of different programs are comparable only if tokenization, smoothing and all other settings are the same
//! (Post 2018, <https://aclanthology.org/W18-6319/>). These metrics follow sacreBLEU 2, including its signatures and
//! its tests of statistical significance.

mod bleu;
mod chrf;
mod edit_rate;
mod metric;
mod significance;
mod ter;
mod tokenization;

#[doc(hidden)]
pub use bleu::Orders;
pub use bleu::{Bleu, BleuScore, Smoothing};
pub use chrf::Chrf;
pub use metric::Metric;
#[doc(hidden)]
pub use metric::{Case, CorpusCounts, SACREBLEU_VERSION, add_counts};
pub use significance::PairedTest;
#[doc(hidden)]
pub use significance::{Compared, PairedTestKind};
pub use ter::Ter;
#[doc(hidden)]
pub use ter::{Normalization, Punctuation, Scripts};
pub use tokenization::Tokenization;
#[doc(hidden)]
pub use tokenization::is_python_space;
