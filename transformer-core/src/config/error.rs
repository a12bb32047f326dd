//! Why a config describes no model.

use crate::text::N_SPECIAL;

/// Says why a [`TransformerConfig`](super::TransformerConfig) describes no model.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum ConfigError {
    /// A size that must be at least one is zero.
    #[error("`{field}` is 0; choose at least 1")]
    Zero {
        /// The field's name.
        field: &'static str,
    },
    /// A size is beyond every model, so that counting its parameters would overflow.
    #[error("`{field}` is {size}; choose at most {most}")]
    TooLarge {
        /// The field's name.
        field: &'static str,
        /// The size given.
        size: usize,
        /// The largest that is allowed.
        most: usize,
    },
    /// A vocabulary has no room for a token that means something.
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
    /// The heads do not divide the width, and `d_k` or `d_v` is not given.
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
    /// Sinusoids come in pairs.
    #[error("`d_model` ({d_model}) is odd; sinusoidal positions need an even one, for example {}", d_model + 1)]
    OddWidth {
        /// The width given.
        d_model: usize,
    },
    /// All three matrices cannot be one when the vocabularies differ in size.
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
    /// All three matrices cannot be one when the vocabularies have other tokens.
    #[error(
        "`tying = \"all\"` needs one vocabulary, but the token {id} is `{src}` of the source and `{tgt}` of the \
         target; use a joint vocabulary or `tying = \"decoder\"`"
    )]
    TyingOfOtherTokens {
        /// The first id that means two tokens.
        id: u32,
        /// The source's token.
        src: String,
        /// The target's token.
        tgt: String,
    },
    /// A probability or small number is outside its range.
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
