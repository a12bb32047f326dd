//! Text and token ids: what turns a line into numbers, and numbers into a line.
//!
//! Nothing here knows of tensors.
//!
//! - [`special`]: the four special tokens, constants of the format.
//! - [`config`]: which tokenizer to train, [`TokenizerConfig`].
//! - [`tokenizer`]: [`Tokenizer`], which encodes, decodes, reads and writes.
//! - [`sentencepiece`]: models of SentencePiece, as a second kind of tokenizer.

pub mod config;
pub mod sentencepiece;
pub mod special;
pub mod tokenizer;

mod bpe;
mod layout;
mod spans;
mod train;
mod unigram;
mod words;

#[cfg(test)]
mod tests;

pub use config::{Case, TokenizerConfig, TokenizerKind};
pub use special::{BOS, EOS, N_SPECIAL, PAD, SPECIAL_TOKENS, UNK};
pub use tokenizer::{Tokenizer, TokenizerError};
