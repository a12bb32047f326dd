//! Inputs and results of the loss, and the number of tokens whose logits are computed at once.

use std::ops::Add;

use burn::tensor::{Int, Tensor};
use transformer_core::Transformer;

use super::label_smoothing::LabelSmoothing;

/// Maximum number of logits computed at once in CPU memory (32 MiB in single precision).
pub(super) const MAX_LOGITS_CPU: usize = 8 << 20;

/// Maximum number of logits computed at once on other devices, which need fewer and larger matrix
/// products (256 MiB).
const MAX_LOGITS_DEVICE: usize = 64 << 20;

/// Returns the length of a chunk: the number of tokens whose logits are computed at once.
pub(crate) fn chunk_len(vocab_size: usize, n_tokens: usize, is_cpu_memory: bool) -> usize {
    let max_logits = match is_cpu_memory {
        true => MAX_LOGITS_CPU,
        false => MAX_LOGITS_DEVICE,
    };
    (max_logits / vocab_size).clamp(1, n_tokens)
}

/// The loss of a batch, summed over its tokens, in nats.
#[derive(Clone, Debug)]
pub struct LossSums {
    /// Label-smoothed cross-entropy, which training minimizes: `[1]`.
    pub smoothed: Tensor<1>,
    /// Negative log-likelihood of the gold tokens, from which perplexity is computed: `[1]`.
    pub nll: Tensor<1>,
}

impl Add for LossSums {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            smoothed: self.smoothed + other.smoothed,
            nll: self.nll + other.nll,
        }
    }
}

/// The linear layer that turns features into logits (§3.4).
///
/// What is without autodiff gets no gradient, and that of a constant matrix is not computed.
#[derive(Clone, Debug)]
pub struct Projection {
    /// The pre-softmax matrix, `[vocab, d_model]`.
    pub weight: Tensor<2>,
    /// The bias of the logits, `[vocab]`, if the model has one.
    pub bias: Option<Tensor<1>>,
}

impl Projection {
    /// Returns the projection of a model. What has no gradient, because it is frozen, is without autodiff.
    pub fn of(model: &Transformer) -> Self {
        Self {
            weight: if_trained(model.output_weight()),
            bias: model.output_bias().map(if_trained),
        }
    }

    fn without_autodiff(self) -> Self {
        Self {
            weight: self.weight.without_autodiff(),
            bias: self.bias.map(Tensor::without_autodiff),
        }
    }

    pub(super) fn vocab_size(&self) -> usize {
        self.weight.dims()[0]
    }
}

/// Returns a parameter without autodiff if no gradient is to be computed for it: if it is frozen and has no adapter.
fn if_trained<const D: usize>(parameter: Tensor<D>) -> Tensor<D> {
    match parameter.is_tracked() {
        true => parameter,
        false => parameter.without_autodiff(),
    }
}

/// The inputs of the loss, outside the autodiff graph.
pub(super) struct LossInputs {
    /// `[n_tokens, d_model]`.
    pub(super) features: Tensor<2>,
    pub(super) projection: Projection,
    /// `[n_tokens]`.
    pub(super) labels: Tensor<1, Int>,
    /// The `ε` of [`SmoothingForm::AllTokens`](crate::config::SmoothingForm::AllTokens).
    pub(super) epsilon: f64,
    /// Factor of the gradients; `None` if only the loss is needed.
    pub(super) scale: Option<f64>,
    /// Whether the gradient of the projection's matrix is needed.
    pub(super) trains_weight: bool,
}

impl LossInputs {
    pub(super) fn new(
        features: Tensor<2>,
        projection: Projection,
        labels: Tensor<1, Int>,
        smoothing: &LabelSmoothing,
        scale: Option<f64>,
    ) -> Self {
        Self {
            epsilon: smoothing.all_tokens_epsilon(projection.vocab_size()),
            trains_weight: projection.weight.is_autodiff(),
            features: features.without_autodiff(),
            projection: projection.without_autodiff(),
            labels,
            scale,
        }
    }
}

/// The gradients of the loss.
pub(super) struct LossGradients {
    /// `[n_tokens, d_model]`.
    pub(super) features: Tensor<2>,
    /// `[vocab, d_model]`; `None` if the matrix is not trained.
    pub(super) weight: Option<Tensor<2>>,
    /// `[vocab]`.
    pub(super) bias: Option<Tensor<1>>,
}
