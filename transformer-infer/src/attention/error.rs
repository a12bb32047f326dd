//! Why there is no attention to show.

use super::{Head, Kind};

/// Says why there is no attention to show.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AttentionError {
    /// The source has no token.
    #[error("the text to translate is blank; give a line with at least one word")]
    BlankSource,
    /// The source has more tokens than the model may read.
    #[error("the text to translate has {n_tokens} tokens, and {limit} are the most; shorten it")]
    LongSource {
        /// Number of tokens, without EOS.
        n_tokens: usize,
        /// The most there may be.
        limit: usize,
    },
    /// The target has more tokens than the model has places for.
    #[error("the target has {n_tokens} tokens, and the model has places for {limit}; shorten it")]
    LongTarget {
        /// Number of tokens, EOS included.
        n_tokens: usize,
        /// The most there may be.
        limit: usize,
    },
    /// The model computed NaN where weights belong.
    #[error(
        "the model computes NaN; its weights are of no use: train again, with a lower learning rate if \
         it happens again"
    )]
    NotANumber,
    /// There is no such layer.
    #[error("there is no layer {layer} in {kind} attention; choose 1 to {n_layers}")]
    NoLayer {
        /// The layer that was asked for, counted from 1.
        layer: usize,
        /// The kind of attention.
        kind: Kind,
        /// How many layers there are.
        n_layers: usize,
    },
    /// There is no such head.
    #[error("there is no head {head} in {kind} attention; choose 1 to {n_heads}, or mean")]
    NoHead {
        /// The head that was asked for.
        head: Head,
        /// The kind of attention.
        kind: Kind,
        /// How many heads there are.
        n_heads: usize,
    },
}
