//! Vocabularies with more pieces: for a domain whose words a trained tokenizer cuts into many parts.
//!
//! - `error`: [`ExtendError`].
//! - `extended`: [`ExtendedTokenizer`], and what every kind of tokenizer refuses.
//! - `piece`: [`AddedToken`], and where in a word it is found.
//! - `merges`: the merges of BPE that lead to a piece.
//! - `hugging_face`: the tokenizers that training makes.
//!
//! Those of SentencePiece are extended in [`sentencepiece`](super::sentencepiece).

mod error;
mod extended;
mod hugging_face;
mod merges;
mod piece;

#[cfg(test)]
mod tests;

pub use error::ExtendError;
pub use extended::ExtendedTokenizer;
pub use piece::{AddedToken, PiecePosition};
