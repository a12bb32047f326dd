//! Glossaries: terms with required translations, and words of a text.

mod contained;
mod glossary;
mod pieces;

pub(super) use contained::{capitalized, unmet_terms};
pub use glossary::{Glossary, Term};
pub(super) use pieces::continues_word;
