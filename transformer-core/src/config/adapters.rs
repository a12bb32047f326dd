//! [`AdapterConfig`]: low-rank adapters for training a trained model further.

use serde::{Deserialize, Serialize};

use super::{Linear, Part, Place, TransformerConfig};

/// Low-rank adapters of a model that is trained further (Hu et al. 2021, <https://arxiv.org/abs/2106.09685>).
///
/// An adapted matrix `W` acts as `W + (alpha/rank)·A·B`. `A` and `B` are trained, `W` is not. Of the other weights of
/// the model, only the biases and the gains and offsets of layer normalizations can be trained.
///
/// # Example
///
/// ```
/// use transformer_core::TransformerConfig;
/// use transformer_core::config::{AdapterConfig, AdapterTarget};
///
/// let adapters = AdapterConfig {
///     rank: 4,
///     targets: vec![AdapterTarget::AttentionQuery, AdapterTarget::AttentionValue],
///     train_biases: false,
///     train_norms: false,
///     ..AdapterConfig::default()
/// };
/// // 18 attentions, with two matrices each of 512 × 512.
/// let base = TransformerConfig::default();
/// assert_eq!(adapters.parameter_count(&base), 18 * 2 * 4 * (512 + 512));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct AdapterConfig {
    /// Number of columns of `A` and rows of `B`: the rank of what is added to a matrix, for example
    /// 8. The matrices of the model are then not trained themselves. 0: no adapters, all weights are
    /// trained. Default 0.
    pub rank: usize,
    /// The product `A·B` is multiplied by `alpha / rank`, so that another rank needs no other
    /// learning rate. Default 16.
    pub alpha: f64,
    /// Probability of dropping a feature of the input of an adapter during training, at least 0 and
    /// less than 1; those of embeddings have none. Default 0.
    pub dropout: f64,
    /// The matrices that have adapters: `attention` and `feed_forward`, or some of theirs, as in
    /// `["attention.query", "attention.value"]`, in all layers; `embeddings`. Default: all.
    pub targets: Vec<AdapterTarget>,
    /// Number of tokens of each vocabulary whose embeddings are trained themselves: the most frequent tokens of the
    /// training text, for example 400. Embeddings then have no low-rank adapters, whatever `targets` says, and those of
    /// other tokens are not trained. 0, the default: no tokens.
    pub trained_tokens: usize,
    /// True if the biases are trained too. Default: true.
    pub train_biases: bool,
    /// True if the gains and offsets of layer normalizations are trained too. Default: true.
    pub train_norms: bool,
}

/// Matrices of a model that have adapters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum AdapterTarget {
    /// All four projections of self-attention and of attention to the source, and both matrices of a recurrence in
    /// place of self-attention.
    #[serde(rename = "attention")]
    Attention,
    /// The projection to queries, `W^Q`.
    #[serde(rename = "attention.query")]
    AttentionQuery,
    /// The projection to keys, `W^K`.
    #[serde(rename = "attention.key")]
    AttentionKey,
    /// The projection to values, `W^V`.
    #[serde(rename = "attention.value")]
    AttentionValue,
    /// The projection of the heads, `W^O`.
    #[serde(rename = "attention.output")]
    AttentionOutput,
    /// All matrices of the feed-forward networks.
    #[serde(rename = "feed_forward")]
    FeedForward,
    /// The first matrix of the feed-forward networks, `W₁`.
    #[serde(rename = "feed_forward.inner")]
    FeedForwardInner,
    /// The second matrix of the feed-forward networks, `W₂`.
    #[serde(rename = "feed_forward.outer")]
    FeedForwardOuter,
    /// The embeddings of both languages and the pre-softmax matrix: as many matrices as the model has, one if all are
    /// tied.
    #[serde(rename = "embeddings")]
    Embeddings,
}

impl Default for AdapterConfig {
    fn default() -> Self {
        Self {
            rank: 0,
            alpha: 16.0,
            dropout: 0.0,
            targets: vec![
                AdapterTarget::Attention,
                AdapterTarget::FeedForward,
                AdapterTarget::Embeddings,
            ],
            trained_tokens: 0,
            train_biases: true,
            train_norms: true,
        }
    }
}

impl AdapterConfig {
    /// Returns whether there are adapters.
    pub fn is_on(&self) -> bool {
        self.rank > 0
    }

    /// Returns the number of parameters that are trained in place of the model's own: those of the adapters, of trained
    /// tokens, and of the biases and normalizations if they are trained too. 0 without adapters, when the model's own
    /// parameters are trained.
    pub fn parameter_count(&self, config: &TransformerConfig) -> usize {
        if !self.is_on() {
            return 0;
        }
        let trained = |(parameter, shape): (Place, Vec<usize>)| match parameter {
            _ if self.adapts(parameter) => self.rank * shape.iter().sum::<usize>(),
            _ if self.trains(parameter) => shape.iter().product(),
            _ if parameter.is_vocabulary() => self.trained_tokens * config.d_model,
            _ => 0,
        };
        config.parameters().map(trained).sum()
    }

    /// Returns whether the matrix at this place has an adapter.
    pub(crate) fn adapts(&self, parameter: Place) -> bool {
        let has_trained_rows = parameter.is_vocabulary() && self.trained_tokens > 0;
        let is_target = self.targets.iter().any(|target| target.covers(parameter));
        self.is_on() && is_target && !has_trained_rows
    }

    /// Returns whether the vector at this place is trained in addition to the adapters.
    pub(crate) fn trains(&self, parameter: Place) -> bool {
        match parameter {
            Place::Bias(..) | Place::OutputBias => self.train_biases,
            Place::EmbeddingNorm(..) | Place::Norm(..) | Place::FinalNorm(..) => self.train_norms,
            _ => false,
        }
    }
}

impl AdapterTarget {
    fn covers(self, parameter: Place) -> bool {
        use Linear::{Candidate, Forget, Inner, Key, Outer, Output, Query, Value};
        let Place::Matrix(at, linear) = parameter else {
            return self == Self::Embeddings && parameter.is_vocabulary();
        };
        match self {
            Self::Attention => {
                matches!(linear, Query | Key | Value | Output | Candidate | Forget)
            }
            Self::AttentionQuery => linear == Query,
            Self::AttentionKey => linear == Key,
            Self::AttentionValue => linear == Value,
            Self::AttentionOutput => linear == Output,
            Self::FeedForward => at.part == Part::FeedForward,
            Self::FeedForwardInner => linear == Inner,
            Self::FeedForwardOuter => linear == Outer,
            Self::Embeddings => false,
        }
    }
}
