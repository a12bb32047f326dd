//! Translates ids and lines with Transformer models: scorers, batches, the translator, attention and the scheduler.
//!
//! Programs use it through `transformer-infer`, which exports all of it.

pub mod allocator;
pub mod attention;
pub mod scheduler;

mod batch;
mod error;
mod scorer;
mod translator;
#[cfg(test)]
#[path = "../../../transformer-core/tests/it/weights.rs"]
#[expect(dead_code, reason = "only the tests of transformer-core use the rest")]
mod weights;

pub use batch::translate_ids;
#[doc(hidden)]
pub use batch::{BatchLimits, Source, batches_within, translate_packed, translate_sources};
#[doc(hidden)]
pub use error::ModelOrigin;
pub use error::TranslatorError;
#[doc(hidden)]
pub use scorer::PackedScorer;
pub use scorer::Scorer;
pub use translator::{
    Candidate, Glossary, Input, OpenOptions, PairScore, Term, Translation, Translator, Warning,
    score_ids,
};
#[doc(hidden)]
pub use translator::{TotalScore, marian_search, write_marian};
