//! Text: tokenizers, which turn lines into token ids and back, and files of lines and JSON. Nothing here uses tensors.
//!
//! Programs use it through `transformer-core`, which exports all of it.
//!
//! - [`special`]: the four special tokens, constants of the format.
//! - [`config`]: [`TokenizerConfig`], the settings for training.
//! - [`tokenizer`]: [`Tokenizer`], which encodes, decodes, reads and writes.
//! - [`extend`]: more pieces for a vocabulary.
//! - [`LanguageCode`]: the language of a text.
//! - [`sentencepiece`]: SentencePiece models, the tokenizers of imported models.
//! - [`one_line`], [`escape_xml`]: text for a terminal and for markup.

pub mod config;
pub mod extend;
#[doc(hidden)]
pub mod json;
#[doc(hidden)]
pub mod lines;
#[doc(hidden)]
pub mod random;
#[doc(hidden)]
pub mod regular_file;
pub mod sentencepiece;
pub mod special;
pub mod tokenizer;

mod bpe;
mod cached_tokenizer;
mod error;
mod gzip;
mod json_layout;
mod language;
mod line_start;
#[cfg(test)]
mod lines_tests;
mod link;
mod one_line;
mod spans;
mod train;
mod unigram;
mod unpacked;
mod user_symbols;
mod word_cache;
mod writing;
mod xml;

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
pub use link::Link;
pub use one_line::{one_line, printable};
pub use special::{BOS, EOS, N_SPECIAL, PAD, SPECIAL_TOKENS, UNK};
pub use tokenizer::Tokenizer;
pub use writing::is_without_spaces;
pub use xml::escape_xml;
