//! Inference with a Transformer: translation of text, search, scoring, attention and metrics.
//!
//! ```text
//! line ─ Tokenizer ─▶ ids ─ Scorer ─▶ log-probabilities ─ Search ─▶ ids ─ Tokenizer ─▶ line
//! ```
//!
//! - [`Translator`]: translates lines of text with the model of a directory.
//! - [`translate_ids`]: the same on token ids, for validation during training.
//! - [`Translator::score`] and [`score_ids`]: the log-probability of given translations.
//! - [`Glossary`]: terms of the source, each with the term that its translation must contain.
//! - [`search`]: greedy and beam search (§6.1 of the paper) and sampling, over any [`search::NextToken`].
//! - [`Scorer`]: the Transformer as a `NextToken`.
//! - [`scheduler`]: the lines of many callers, translated together.
//! - [`document`]: documents with markup: HTML, Markdown, subtitles, tables, catalogs and JSON.
//! - [`attention`]: the attention weights of every head, as data, alignment, HTML page and figure.
//! - [`metrics`]: BLEU, chrF and TER, equal to sacreBLEU's, with tests of statistical significance.
//! - [`program::allocator::keep_freed_memory`]: speeds up programs that compute on the CPU.
//! - [`program`]: arguments and standard output of the programs.
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
