//! Inputs and results of the loss, and the number of tokens whose logits are computed at once.

use std::ops::{Add, Range};

use burn::tensor::{Int, Tensor};
use transformer_core::Transformer;
use transformer_core::model::FactoredMatrix;

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
    /// The pre-softmax matrix without its adapter, `[vocab, d_model]`.
    pub(super) weight: Tensor<2>,
    /// The bias of the logits, `[vocab]`, if the model has one.
    pub(super) bias: Option<Tensor<1>>,
    pub(super) adapter: Option<Adapter>,
}

/// What is added to a pre-softmax matrix that is not trained itself: `a·b`.
#[derive(Clone, Debug)]
pub(super) struct Adapter {
    /// `[vocab, rank]`.
    pub(super) a: Tensor<2>,
    /// `[rank, d_model]`.
    pub(super) b: Tensor<2>,
}

impl Projection {
    /// Creates a projection from its matrix, `[vocab, d_model]`, and the bias of the logits, `[vocab]`, if there is one.
    pub fn new(weight: Tensor<2>, bias: Option<Tensor<1>>) -> Self {
        Self {
            weight,
            bias,
            adapter: None,
        }
    }

    /// Returns the projection of a model. What has no gradient, because it is frozen, is without autodiff.
    pub fn of(model: &Transformer) -> Self {
        let bias = model.output_bias().map(if_trained);
        let Some(FactoredMatrix { base, a, b }) = model.output_factors() else {
            return Self::new(if_trained(model.output_weight()), bias);
        };
        Self {
            weight: base.without_autodiff(),
            bias,
            adapter: Some(Adapter { a, b }),
        }
    }
}

/// Returns a parameter without autodiff if it is frozen, so that no gradient is computed for it.
fn if_trained<const D: usize>(parameter: Tensor<D>) -> Tensor<D> {
    match parameter.is_tracked() {
        true => parameter,
        false => parameter.without_autodiff(),
    }
}

/// Features and the matrix with which they give the logits.
///
/// An adapter becomes columns of both: `h·(W + a·b)ᵀ = [h, h·bᵀ]·[W, a]ᵀ`. Of these, `a` alone has a gradient, and that
/// of `b` follows from the gradient of `h·bᵀ`. The gradient of the sum, as large as `W`, is never computed.
pub(super) struct Factors {
    /// `[n_tokens, width]`, where `width` is `d_model`, or `d_model + rank`.
    pub(super) features: Tensor<2>,
    /// `[vocab, width]`, without autodiff.
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
    /// What is trained of `weight`, if anything is: the columns, and where their gradient goes.
    pub(super) trained: Option<(Range<usize>, Tensor<2>)>,
}

impl Factors {
    pub(super) fn new(features: Tensor<2>, projection: Projection) -> Self {
        let Projection {
            weight,
            bias,
            adapter,
        } = projection;
        let ([_, d_model], [_, width]) = (features.dims(), weight.dims());
        assert_eq!(width, d_model, "the projection is as wide as the model");
        let Some(Adapter { a, b }) = adapter else {
            let trained = weight.is_autodiff().then(|| (0..d_model, weight.clone()));
            return Self {
                features,
                weight: weight.without_autodiff(),
                bias,
                trained,
            };
        };
        let down = features.clone().matmul(b.transpose()); // [n_tokens, rank]
        let rank = a.dims()[1];
        Self {
            features: Tensor::cat(vec![features, down], 1),
            weight: Tensor::cat(vec![weight, a.clone().without_autodiff()], 1),
            bias,
            trained: a.is_autodiff().then_some((d_model..d_model + rank, a)),
        }
    }
}

/// The inputs of the loss, outside the autodiff graph.
pub(super) struct LossInputs {
    /// `[n_tokens, width]`.
    pub(super) features: Tensor<2>,
    /// `[vocab, width]`.
    pub(super) weight: Tensor<2>,
    /// `[vocab]`.
    pub(super) bias: Option<Tensor<1>>,
    /// `[n_tokens]`.
    pub(super) labels: Tensor<1, Int>,
    /// The `ε` of [`SmoothingForm::AllTokens`](crate::config::SmoothingForm::AllTokens).
    pub(super) epsilon: f64,
    /// Factor of the gradients; `None` if only the loss is needed.
    pub(super) scale: Option<f64>,
    /// The columns of the matrix whose gradient is needed; empty if it is not trained.
    pub(super) trained: Range<usize>,
}

impl LossInputs {
    pub(super) fn new(
        factors: &Factors,
        labels: Tensor<1, Int>,
        smoothing: &LabelSmoothing,
        scale: Option<f64>,
    ) -> Self {
        let trained = factors.trained.as_ref();
        Self {
            epsilon: smoothing.all_tokens_epsilon(factors.weight.dims()[0]),
            features: factors.features.clone().without_autodiff(),
            weight: factors.weight.clone(),
            bias: factors.bias.clone().map(Tensor::without_autodiff),
            labels,
            scale,
            trained: trained.map_or(0..0, |(columns, _)| columns.clone()),
        }
    }
}

/// The gradients of the loss.
pub(super) struct LossGradients {
    /// `[n_tokens, width]`.
    pub(super) features: Tensor<2>,
    /// Those of the trained columns, `[vocab, n_columns]`; `None` if there are none.
    pub(super) weight: Option<Tensor<2>>,
    /// `[vocab]`.
    pub(super) bias: Option<Tensor<1>>,
}
