//! [`ConfigError`]: the error for an invalid config.

use crate::text::N_SPECIAL;

/// Error for an invalid [`TransformerConfig`](super::TransformerConfig).
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum ConfigError {
    #[error("`{field}` is 0; choose at least 1")]
    Zero { field: &'static str },
    /// A size is so large that counting parameters could overflow.
    #[error("`{field}` is {size}; choose at most {max}")]
    TooLarge {
        field: &'static str,
        size: usize,
        max: usize,
    },
    #[error("`{field}` is {size}; choose at least {}: the {N_SPECIAL} special tokens and one more", N_SPECIAL + 1)]
    VocabularyTooSmall { field: &'static str, size: usize },
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
    #[error("`d_model` ({d_model}) is odd; sinusoidal positions need an even one, for example {}", d_model + 1)]
    OddWidth { d_model: usize },
    #[error(
        "`tying = \"all\"` needs one vocabulary, but `src_vocab_size` is {src} and `tgt_vocab_size` is {tgt}; use a \
         joint vocabulary or `tying = \"decoder\"`"
    )]
    TyingAcrossVocabularies { src: usize, tgt: usize },
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
    #[error("`{field}` is {value}; choose {allowed}")]
    OutOfRange {
        field: &'static str,
        value: f64,
        allowed: &'static str,
    },
}
