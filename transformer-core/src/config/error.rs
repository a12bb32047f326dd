//! [`ConfigError`]: the error for an invalid config.

use crate::text::N_SPECIAL;

/// Error for an invalid [`TransformerConfig`](super::TransformerConfig).
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum ConfigError {
    /// A size that must be at least one is zero.
    #[error("`{field}` is 0; choose at least 1")]
    Zero {
        /// The field's name.
        field: &'static str,
    },
    /// A size is so large that counting parameters could overflow.
    #[error("`{field}` is {size}; choose at most {max}")]
    TooLarge {
        /// The field's name.
        field: &'static str,
        /// The size given.
        size: usize,
        /// The largest valid size.
        max: usize,
    },
    /// A vocabulary has only special tokens.
    #[error(
        "`{field}` is {size}; choose at least {}: the {N_SPECIAL} special tokens and one more",
        N_SPECIAL + 1
    )]
    VocabularyTooSmall {
        /// The field's name.
        field: &'static str,
        /// The size given.
        size: usize,
    },
    /// The number of heads does not divide the width, and `d_k` or `d_v` is not given.
    #[error(
        "`n_heads` ({n_heads}) does not divide `d_model` ({d_model}); choose a divisor, for example \
         {divisor}, or give `d_k` and `d_v`"
    )]
    HeadsDoNotDivide {
        /// The number of heads given.
        n_heads: usize,
        /// The width given.
        d_model: usize,
        /// The divisor of `d_model` that is nearest to `n_heads`.
        divisor: usize,
    },
    /// The width is odd, but sinusoidal positions are pairs of sine and cosine.
    #[error("`d_model` ({d_model}) is odd; sinusoidal positions need an even one, for example {}", d_model + 1)]
    OddWidth {
        /// The width given.
        d_model: usize,
    },
    /// Three matrices are tied, but the vocabularies have different sizes.
    #[error(
        "`tying = \"all\"` needs one vocabulary, but `src_vocab_size` is {src} and `tgt_vocab_size` \
         is {tgt}; use a joint vocabulary or `tying = \"decoder\"`"
    )]
    TyingAcrossVocabularies {
        /// Size of the source vocabulary.
        src: usize,
        /// Size of the target vocabulary.
        tgt: usize,
    },
    /// Three matrices are tied, but the vocabularies have different tokens.
    #[error(
        "`tying = \"all\"` needs one vocabulary, but the token {id} is `{src}` of the source and `{tgt}` of the \
         target; use a joint vocabulary or `tying = \"decoder\"`"
    )]
    TyingOfOtherTokens {
        /// The first id with two different tokens.
        id: u32,
        /// The source's token.
        src: String,
        /// The target's token.
        tgt: String,
    },
    /// A value is outside its range.
    #[error("`{field}` is {value}; choose {allowed}")]
    OutOfRange {
        /// The field's name.
        field: &'static str,
        /// The value given.
        value: f64,
        /// The allowed range, in words.
        allowed: &'static str,
    },
}
