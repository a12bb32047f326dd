//! Vocabularies with more pieces, for a domain with words that a trained tokenizer splits into many parts.
//!
//! - `error`: [`ExtendError`].
//! - `extended`: [`ExtendedTokenizer`], and the checks for every kind of tokenizer.
//! - `piece`: [`AddedToken`], and its position in a word.
//! - `merges`: the merges of BPE that lead to a piece.
//! - `hugging_face`: the tokenizers that training makes.
//!
//! SentencePiece tokenizers are extended in [`sentencepiece`](super::sentencepiece).

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
