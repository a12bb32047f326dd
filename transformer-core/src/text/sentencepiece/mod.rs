//! SentencePiece models (Kudo and Richardson 2018, <https://arxiv.org/abs/1808.06226>), read and run as
//! they are.
//!
//! The `tokenizers` crate has unigram models too, but normalizes grapheme by grapheme, adds scores in double
//! precision and knows no user-defined symbols, so that some lines get other pieces. A model that was trained
//! on pieces has to be given the same ones, so everything here follows SentencePiece 0.2.1 step by step.
//!
//! - `proto`: the protobuf file.
//! - `normalizer`: text as the model's character map writes it.
//! - `trie`: which pieces a text begins with.
//! - `segmenter`: the pieces of a normalized text.
//! - `model`: [`SentencePiece`], all of it together.
//! - `vocabulary`: [`PieceVocabulary`], pieces with the ids of a model that was trained on them.

mod base64;
mod model;
mod normalizer;
mod proto;
mod segmenter;
mod trie;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use model::{PieceSpan, SentencePiece, SentencePieceError};
pub use vocabulary::{PieceVocabulary, PieceVocabularyError, SpecialIds};
