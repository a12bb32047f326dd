//! SentencePiece models (Kudo and Richardson 2018, <https://arxiv.org/abs/1808.06226>), with results identical to
//! SentencePiece's.
//!
//! The `tokenizers` crate has unigram models too, but it normalizes by grapheme, adds scores in double precision and
//! has no user-defined symbols, so some lines get other pieces. A translation model needs the pieces that it was
//! trained on, so this module follows SentencePiece 0.2.1 step by step.

mod error;
mod extend;
mod from_unigram;
mod model;
mod normalizer;
mod proto;
mod segmenter;
mod trie;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use error::SentencePieceError;
pub use model::{PieceSpan, SentencePiece};
pub(super) use trie::Trie;
pub use vocabulary::{PieceVocabulary, SpecialIds};
