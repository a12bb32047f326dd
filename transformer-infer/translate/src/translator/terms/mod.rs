//! Glossaries: terms with required translations, and words of a text.

mod contained;
mod glossary;

pub(super) use contained::{capitalized, continues_word, unmet_terms};
pub use glossary::{Glossary, Term};
