//! Inference with a Transformer: translation of text, search, scoring, attention and metrics.
//!
//! ```text
//! line ─ Tokenizer ─▶ ids ─ Scorer ─▶ log-probabilities ─ Search ─▶ ids ─ Tokenizer ─▶ line
//! ```
//!
//! # Where to begin
//!
//! - [`Translator`]: translates lines of text with the model of a directory.
//! - [`scheduler::Scheduler`]: translates the lines of many callers together; finished lines come by callback.
//! - [`scheduler::JobStream`]: each token as it is decoded, and cancellation.
//! - [`search::Search`]: greedy and beam search (§6.1 of the paper) and sampling, over any [`search::NextToken`].
//! - [`Translator::score`]: the log-probability of given translations.
//! - [`Glossary`]: terms of the source, each with the term that its translation must contain.
//! - `document::DocumentTranslator` (features `text` and `documents`): documents with markup: HTML, Markdown, subtitles, tables, catalogs and JSON.
//! - [`attention`]: the attention weights of every head, as data, alignment, HTML page and figure.
//! - [`metrics`]: BLEU, chrF and TER, equal to sacreBLEU's, with tests of statistical significance.
//! - [`allocator`]: settings of memory that make programs on the CPU faster, and loading a model smaller.
//!
//! Programs that tokenize their own text use [`translate_ids`] and [`score_ids`], and the [`Scorer`], a Transformer as
//!a `NextToken`.
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
//! let translations = translator.translate(&["one million and seven"])?;
//! println!("{}", translations[0].text());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "text")]
#[doc(hidden)]
pub mod bindings;
#[cfg(feature = "text")]
pub mod document;

#[doc(hidden)]
pub use transformer_core::text::{escape_xml, one_line};
#[doc(no_inline)]
pub use transformer_metrics as metrics;
#[doc(no_inline)]
pub use transformer_search as search;
#[cfg(feature = "serve")]
#[doc(no_inline)]
pub use transformer_serve as serve;
#[doc(hidden)]
pub use transformer_translate::{
    BatchLimits, ModelOrigin, PackedScorer, Source, TotalScore, batches_within, marian_search,
    translate_packed, translate_sources, write_marian,
};
pub use transformer_translate::{
    Candidate, Glossary, Input, OpenOptions, PairScore, Scorer, Term, Translation, Translator,
    TranslatorError, Warning, allocator, attention, scheduler, score_ids, translate_ids,
};
