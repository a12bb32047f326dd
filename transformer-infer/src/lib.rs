//! How a Transformer speaks: search for likely outputs, and translation of text.
//!
//! ```text
//! line ─ Tokenizer ─▶ ids ─ Scorer ─▶ log-probabilities ─ Search ─▶ ids ─ Tokenizer ─▶ line
//! ```
//!
//! - [`Translator`]: lines in, lines out, from a model directory.
//! - [`translate_ids`]: the same on token ids, for validation during training.
//! - [`Translator::score`] and [`score_ids`]: how likely a given translation is.
//! - [`search`]: greedy and beam search (§6.1 of the paper) and sampling, over any [`search::NextToken`].
//! - [`Scorer`]: the Transformer as a `NextToken`.
//! - [`attention`]: what every head looks at, as data, alignment, page and figure.
//! - [`metrics`]: BLEU, chrF and TER, equal to sacreBLEU's, and whether they differ by more than chance.
//! - [`allocator::keep_freed_memory`]: a call for programs that compute on the CPU.
//!
//! What is promised: a sentence is translated the same alone, in a batch, in any order and with any
//! padding, up to the rounding of the backend's matrix products.
//!
//! # Example
//!
//! ```no_run
//! use transformer_core::device;
//! use transformer_infer::Translator;
//!
//! let (_, device) = device::choose(None)?;
//! let translator = Translator::open("runs/numbers", &device)?;
//! let translations = translator.translate(&["one million and seven"], translator.search())?;
//! println!("{}", translations[0].text());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod allocator;
pub mod attention;
pub mod metrics;
pub mod search;

mod batch;
mod failure;
mod marian;
mod pair_score;
mod scorer;
mod translator;
mod xml;

pub use batch::{BatchLimits, Source, batches_within, translate_ids, translate_sources};
pub use failure::one_line;
pub use marian::marian_search;
pub use pair_score::{PairScore, TotalScore, score_ids};
pub use scorer::Scorer;
pub use translator::{Candidate, Input, Translation, Translator, TranslatorError, Warning};
pub use xml::escape_xml;
