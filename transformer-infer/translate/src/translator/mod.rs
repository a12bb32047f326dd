//! [`Translator`]: translates lines of text with a model and its tokenizers.

mod loaded_model;
mod marian;
mod options;
mod pair_score;
mod prepare;
mod prepared_line;
mod term_tokenizer;
mod terms;
mod translate;
mod translation;

pub use marian::{marian_search, write_marian};
pub use options::OpenOptions;
pub use pair_score::{PairScore, TotalScore, score_ids};
pub(crate) use prepared_line::PreparedLine;
pub use terms::{Glossary, Term};
pub use translate::Translator;
pub use translation::{Candidate, Input, Translation, Warning};
