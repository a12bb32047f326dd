//! [`ConfigError`]: the error for an invalid config.

use crate::text::N_SPECIAL;

/// Error for an invalid [`TransformerConfig`](super::TransformerConfig).
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "a field's name says what it holds")]
pub enum ConfigError {
    /// A size that must be at least one is zero.
    #[error("`{field}` is 0; choose at least 1")]
    Zero { field: &'static str },
    /// A size is so large that counting parameters could overflow.
    #[error("`{field}` is {size}; choose at most {max}")]
    TooLarge {
        field: &'static str,
        size: usize,
        max: usize,
    },
    /// A vocabulary has only special tokens.
    #[error("`{field}` is {size}; choose at least {}: the {N_SPECIAL} special tokens and one more", N_SPECIAL + 1)]
    VocabularyTooSmall { field: &'static str, size: usize },
    /// The number of heads does not divide the width, and `d_k` or `d_v` is not given.
    #[error(
        "`n_heads` ({n_heads}) does not divide `d_model` ({d_model}); choose a divisor, for example {divisor}, or give \
         `d_k` and `d_v`"
    )]
    HeadsDoNotDivide {
        n_heads: usize,
        d_model: usize,
        /// The divisor of `d_model` that is nearest to `n_heads`.
        divisor: usize,
    },
    /// The width is odd, but sinusoidal positions are pairs of sine and cosine.
    #[error("`d_model` ({d_model}) is odd; sinusoidal positions need an even one, for example {}", d_model + 1)]
    OddWidth { d_model: usize },
    /// Three matrices are tied, but the vocabularies have different sizes.
    #[error(
        "`tying = \"all\"` needs one vocabulary, but `src_vocab_size` is {src} and `tgt_vocab_size` is {tgt}; use a \
         joint vocabulary or `tying = \"decoder\"`"
    )]
    TyingAcrossVocabularies { src: usize, tgt: usize },
    /// Three matrices are tied, but the vocabularies have different tokens.
    #[error(
        "`tying = \"all\"` needs one vocabulary, but the token {id} is `{src}` of the source and `{tgt}` of the \
         target; use a joint vocabulary or `tying = \"decoder\"`"
    )]
    TyingOfOtherTokens {
        /// The first id with two different tokens.
        id: u32,
        src: String,
        tgt: String,
    },
    /// A value is outside its range.
    #[error("`{field}` is {value}; choose {allowed}")]
    OutOfRange {
        field: &'static str,
        value: f64,
        allowed: &'static str,
    },
}
