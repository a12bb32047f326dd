//! [`AttentionError`]: the errors of recording or selecting attention.

use transformer_core::LoadError;

use super::{Head, Kind};
use transformer_core::text::{DirectionError, one_line};

/// Error of recording or selecting attention.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AttentionError {
    /// The weights cannot be loaded in the form for attention.
    #[error("{reason}")]
    Load {
        /// The error with its causes, on one line.
        reason: String,
    },
    /// A multilingual model was given no languages.
    #[error(transparent)]
    Direction(#[from] DirectionError),
    /// The source is blank.
    #[error("the text to translate is blank; give a line with at least one word")]
    BlankSource,
    /// The source has more tokens than the limits allow.
    #[error("the text to translate has {n_tokens} tokens, and the limit is {limit}; shorten it")]
    LongSource {
        /// Number of tokens, without EOS.
        n_tokens: usize,
        /// The largest number allowed.
        limit: usize,
    },
    /// The target has more tokens than the limits allow.
    #[error("the target has {n_tokens} tokens, and the limit is {limit}; shorten it")]
    LongTarget {
        /// Number of tokens, EOS included.
        n_tokens: usize,
        /// The largest number allowed.
        limit: usize,
    },
    /// The model computed weights that are NaN or infinite.
    #[error("the model computes NaN; its weights are broken: train it again, or import it again")]
    NotANumber,
    /// The model has no attention of this kind.
    #[error(
        "the model has no {kind} attention, but a recurrence in place of it; choose cross or encoder"
    )]
    NoAttention {
        /// The kind of attention.
        kind: Kind,
    },
    /// The layer does not exist.
    #[error("there is no layer {layer} in {kind} attention; choose 1 to {n_layers}")]
    NoLayer {
        /// The given layer, from 1.
        layer: usize,
        /// The kind of attention.
        kind: Kind,
        /// The number of layers.
        n_layers: usize,
    },
    /// The head does not exist.
    #[error("there is no head {head} in {kind} attention; choose 1 to {n_heads}, or mean")]
    NoHead {
        /// The given head.
        head: Head,
        /// The kind of attention.
        kind: Kind,
        /// The number of heads.
        n_heads: usize,
    },
}

impl From<LoadError> for AttentionError {
    fn from(error: LoadError) -> Self {
        let reason = one_line(&error);
        Self::Load { reason }
    }
}
