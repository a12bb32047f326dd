//! Text: tokenizers, which turn lines into token ids and back, and files of lines and JSON. Nothing here uses tensors.
//!
//! Programs use it through `transformer-core`, which exports all of it.
//!
//! - [`special`]: the four special tokens, constants of the format.
//! - [`TokenizerConfig`]: the settings for training.
//! - [`Tokenizer`]: encodes, decodes, reads and writes.
//! - [`LanguageCode`]: the language of a text.

#[doc(hidden)]
pub mod config;
#[doc(hidden)]
pub mod extend;
#[doc(hidden)]
pub mod json;
#[doc(hidden)]
pub mod lines;
#[doc(hidden)]
pub mod random;
#[doc(hidden)]
pub mod regular_file;
#[doc(hidden)]
pub mod sentencepiece;
pub mod special;
#[doc(hidden)]
pub mod tokenizer;

mod bpe;
mod cached_tokenizer;
mod error;
mod json_layout;
mod language;
#[doc(hidden)]
pub mod language_codes;
mod language_tokens;
mod line_start;
#[cfg(test)]
mod lines_for_tests;
#[cfg(test)]
mod lines_tests;
mod one_line;
mod spans;
mod train;
mod unigram;
mod unpacked;
mod user_symbols;
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
#[doc(hidden)]
pub use extend::{AddedToken, ExtendError, ExtendedTokenizer, PiecePosition};
pub use language::LanguageCode;
#[doc(hidden)]
pub use language::LanguageCodeError;
#[doc(hidden)]
pub use language_tokens::{
    Direction, DirectionError, LanguageLayout, LanguageToken, LanguageTokens,
};
#[doc(hidden)]
pub use one_line::{one_line, printable};
#[doc(hidden)]
pub use spans::Link;
pub use special::{BOS, EOS, PAD, UNK};
#[doc(hidden)]
pub use special::{N_SPECIAL, SPECIAL_TOKENS};
pub use tokenizer::Tokenizer;
#[doc(hidden)]
pub use user_symbols::added_token;
#[doc(hidden)]
pub use writing::{is_dense, is_without_spaces};
#[doc(hidden)]
pub use xml::escape_xml;
