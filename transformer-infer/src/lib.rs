//! Inference with a Transformer: translation of text, search, scoring, attention and metrics.
//!
//! ```text
//! line ─ Tokenizer ─▶ ids ─ Scorer ─▶ log-probabilities ─ Search ─▶ ids ─ Tokenizer ─▶ line
//! ```
//!
//! # Where to begin
//!
//! - [`Translator`]: translates lines of text with the model of a directory.
//! - [`scheduler::Scheduler`]: the lines of many callers, translated together; finished lines by callback.
//! - [`scheduler::JobStream`]: each token as it is decoded, and cancelling.
//! - [`search::Search`]: greedy and beam search (§6.1 of the paper) and sampling, over any [`search::NextToken`].
//! - [`Translator::score`]: the log-probability of given translations.
//! - [`Glossary`]: terms of the source, each with the term that its translation must contain.
//! - `document::DocumentTranslator` (feature `documents`): documents with markup: HTML, Markdown, subtitles, tables, catalogs and JSON.
//! - [`attention`]: the attention weights of every head, as data, alignment, HTML page and figure.
//! - [`metrics`]: BLEU, chrF and TER, equal to sacreBLEU's, with tests of statistical significance.
//! - [`program::allocator::keep_freed_memory`]: speeds up programs that compute on the CPU.
//!
//! Programs that tokenize themselves use [`translate_ids`] and [`score_ids`], and the [`Scorer`], which is the
//! Transformer as a `NextToken`. [`program`] is what the programs of this repository share.
//!
//! The translation of a sentence does not depend on its batch, on the order of the input or on padding, except for the
//! rounding of the backend's matrix products.
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

pub mod attention;
#[cfg(feature = "documents")]
pub mod document;
pub mod metrics;
pub mod program;
pub mod scheduler;
pub mod search;
#[cfg(feature = "serve")]
pub mod serve;

mod batch;
mod scorer;
mod translator;
#[cfg(test)]
#[path = "../../transformer-core/tests/it/weights.rs"]
#[expect(dead_code, reason = "only the tests of transformer-core use the rest")]
mod weights;
mod xml;

pub use batch::{
    BatchLimits, Source, batches_within, translate_ids, translate_packed, translate_sources,
};
pub use program::one_line;
pub use scorer::{PackedScorer, Scorer};
pub use translator::{
    Candidate, Glossary, GlossaryError, Input, ModelOrigin, OpenOptions, PairScore, Term,
    TotalScore, Translation, Translator, TranslatorError, Warning, marian_search, score_ids,
};
pub use xml::escape_xml;
