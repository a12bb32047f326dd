//! The target tokens that can translate each source token, so that few rows of the output matrix are needed.

mod lexicon;
mod lists;

pub use lexicon::{Lexicon, TokenPair};
pub use lists::{Shortlist, ShortlistError};
