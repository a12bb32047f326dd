//! Tokenizers: from lines of text to token ids and back. Nothing here uses tensors.
//!
//! - [`special`]: the four special tokens, constants of the format.
//! - [`config`]: [`TokenizerConfig`], the settings for training.
//! - [`tokenizer`]: [`Tokenizer`], which encodes, decodes, reads and writes.
//! - [`extend`]: more pieces for a vocabulary.
//! - [`LanguageCode`]: which language a text is in.
//! - [`sentencepiece`]: SentencePiece models, the tokenizers of imported models.

pub mod config;
pub mod extend;
pub mod sentencepiece;
pub mod special;
pub mod tokenizer;

mod bpe;
mod cached_tokenizer;
mod error;
mod json_layout;
mod language;
mod line_start;
mod spans;
mod train;
mod unigram;
mod user_symbols;
mod word_cache;

#[cfg(test)]
mod byte_fallback_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod user_symbols_tests;

pub use config::{Case, TokenizerConfig, TokenizerKind};
pub use error::TokenizerError;
pub use extend::{AddedToken, ExtendError, ExtendedTokenizer, PiecePosition};
pub use language::{LanguageCode, LanguageCodeError};
pub use special::{BOS, EOS, N_SPECIAL, PAD, SPECIAL_TOKENS, UNK};
pub use tokenizer::Tokenizer;
