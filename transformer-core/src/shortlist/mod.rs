//! The target tokens that can translate each source token, so that few rows of the output matrix are needed.
//!
//! - `lists`: [`Shortlist`], which models have.
//! - `lexicon`: [`Lexicon`], from which one is made.

mod lexicon;
mod lists;

pub use lexicon::{Lexicon, TokenPair};
pub use lists::{Shortlist, ShortlistError};
