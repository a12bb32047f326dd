//! Vocabularies with more pieces, for a domain with words that a trained tokenizer splits into many parts.
//!
//! SentencePiece tokenizers are extended in [`sentencepiece`](super::sentencepiece).

mod extended;
mod hugging_face;
mod merges;

#[cfg(test)]
mod tests;

pub use extended::{AddedToken, ExtendError, ExtendedTokenizer, PiecePosition};
