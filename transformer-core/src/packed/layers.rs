//! The weights of the layers.

use super::attention::Heads;
use super::feed_forward::PackedFeedForward;
use super::linear::PackedLinear;
use super::norm::{PackedNorm, PackedResidual};

/// Self-attention: queries, keys and values as one product.
#[derive(Debug)]
pub(super) struct PackedSelfAttention {
    pub(super) queries_keys_values: PackedLinear,
    pub(super) output: PackedLinear,
    pub(super) residual: PackedResidual,
}

/// The recurrence in place of the decoder's self-attention: candidates and forget gates as one product.
#[derive(Debug)]
pub(super) struct PackedRecurrence {
    pub(super) candidates_forgets: PackedLinear,
    pub(super) residual: PackedResidual,
}

/// The sub-layer by which a decoder layer sees previous tokens.
#[derive(Debug)]
pub(super) enum PackedMixing {
    SelfAttention(PackedSelfAttention),
    Recurrence(PackedRecurrence),
}

/// Attention to the memory. Its keys and values are projected once, as one product.
#[derive(Debug)]
pub(super) struct PackedCrossAttention {
    pub(super) queries: PackedLinear,
    pub(super) keys_values: PackedLinear,
    pub(super) output: PackedLinear,
    pub(super) residual: PackedResidual,
}

#[derive(Debug)]
pub(super) struct PackedEncoderLayer {
    pub(super) self_attention: PackedSelfAttention,
    pub(super) feed_forward: PackedFeedForward,
}

#[derive(Debug)]
pub(super) struct PackedDecoderLayer {
    pub(super) mixing: PackedMixing,
    pub(super) cross_attention: PackedCrossAttention,
    pub(super) feed_forward: PackedFeedForward,
}

/// A stack of layers.
#[derive(Debug)]
pub(super) struct Stack<L> {
    pub(super) layers: Vec<L>,
    pub(super) final_norm: Option<PackedNorm>,
    pub(super) heads: Heads,
    /// The number of tokens on either side, or before a token, that it attends to.
    pub(super) window: Option<usize>,
}
