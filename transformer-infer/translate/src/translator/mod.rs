//! [`Translator`]: translates lines of text with a model and its tokenizers.

mod loaded_model;
mod marian;
mod pair_score;
mod term_tokenizer;
mod terms;
mod translate;
mod translation;

pub(crate) use loaded_model::ARE_PACKED;
pub use loaded_model::OpenOptions;
pub use marian::{marian_search, write_marian};
pub use pair_score::{PairScore, TotalScore, score_ids};
pub use terms::{Glossary, Term};
pub use translate::Translator;
pub(crate) use translation::PreparedLine;
pub use translation::{Candidate, Input, Translation, Warning};
