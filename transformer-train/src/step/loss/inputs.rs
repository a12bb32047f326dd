//! Inputs and results of the loss, and the number of tokens with logits that are computed at once.

use std::ops::{Add, Range};

use burn::tensor::{DType, Device, Int, Tensor};
use transformer_core::Transformer;
use transformer_core::cpu::gemm::Multiply;
use transformer_core::model::{MatmulPrecision, MatrixParts};

use super::label_smoothing::LabelSmoothing;

/// Maximum number of logits computed at once in CPU memory (32 MiB in single precision).
pub(super) const MAX_LOGITS_CPU: usize = 8 << 20;

/// Maximum number of logits computed at once on other devices, which need fewer and larger matrix products (256 MiB).
const MAX_LOGITS_DEVICE: usize = 64 << 20;

/// Returns the length of a chunk: the number of tokens with logits that are computed at once.
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

impl LossSums {
    /// Returns the sums `[smoothed, nll]` on a device.
    pub(crate) fn on(device: &Device, sums: [f64; 2]) -> Self {
        let scalar = |sum| Tensor::from_data([sum as f32], (device, DType::F32));
        let [smoothed, nll] = sums.map(scalar);
        Self { smoothed, nll }
    }

    /// Reads `[smoothed, nll]` from the device.
    pub(crate) fn values(self) -> [f64; 2] {
        [self.smoothed, self.nll].map(|sum| sum.into_scalar::<f64>())
    }
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
/// A tensor without autodiff gets no gradient, and the gradient of a constant matrix is not computed.
#[derive(Clone, Debug)]
pub struct Projection {
    pub(super) weight: Weight,
    /// The bias of the logits, `[vocab]`, if the model has one.
    pub(super) bias: Option<Tensor<1>>,
    matmul: MatmulPrecision,
}

/// The pre-softmax matrix of a projection.
#[derive(Clone, Debug)]
pub(super) enum Weight {
    /// A matrix `[vocab, d_model]` that is trained as a whole, or not at all.
    Whole(Box<Tensor<2>>),
    Parts(Box<MatrixParts>),
}

impl Projection {
    /// Creates a projection in single precision from its matrix, `[vocab, d_model]`, and the bias of the logits,
    /// `[vocab]`, if there is one.
    pub fn new(weight: Tensor<2>, bias: Option<Tensor<1>>) -> Self {
        let weight = Weight::Whole(Box::new(weight));
        Self {
            weight,
            bias,
            matmul: MatmulPrecision::F32,
        }
    }

    /// Returns the projection of a model. Frozen parameters, which have no gradient, are without autodiff.
    pub fn of(model: &Transformer) -> Self {
        Self {
            weight: match model.output_parts() {
                Some(parts) => Weight::Parts(Box::new(parts)),
                None => Weight::Whole(Box::new(if_trained(model.output_weight()))),
            },
            bias: model.output_bias().map(if_trained),
            matmul: model.matmul_precision(),
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

/// The part of a matrix `[vocab, width]` with a gradient.
#[derive(Clone, Debug)]
pub(super) enum TrainedPart {
    Columns(Range<usize>),
    /// The rows with these numbers, `[n]`, without autodiff.
    Rows(Box<Tensor<1, Int>>),
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
    /// The part of the matrix with a gradient; `None` if it is not trained.
    pub(super) trained: Option<TrainedPart>,
    pub(super) multiply: Multiply,
}

impl LossInputs {
    /// Returns the inputs, and the tensors that the gradients of the features and of the trained part belong to.
    ///
    /// A low-rank adapter becomes columns of features and matrix: `h·(W + a·b)ᵀ = [h, h·bᵀ]·[W, a]ᵀ`. In this matrix
    /// the columns of `a` are trained, and the gradient of `b` follows from that of `h·bᵀ`. The gradient of the sum, as
    /// large as `W`, is never computed.
    pub(super) fn new(
        features: Tensor<2>,
        projection: Projection,
        labels: Tensor<1, Int>,
        smoothing: &LabelSmoothing,
        scale: Option<f64>,
    ) -> (Self, Tensor<2>, Option<Tensor<2>>) {
        let [_, d_model] = features.dims();
        let multiply = projection.matmul.on_cpu(&features);
        let (features, weight, part, owner) = match projection.weight {
            Weight::Whole(weight) => {
                let columns = TrainedPart::Columns(0..d_model);
                (features, (*weight).clone(), columns, *weight)
            }
            Weight::Parts(parts) => match *parts {
                MatrixParts::LowRank { base, a, b } => {
                    let down = features.clone().matmul(b.transpose()); // [n_tokens, rank]
                    let features = Tensor::cat(vec![features, down], 1);
                    let weight = vec![base.without_autodiff(), a.clone().without_autodiff()];
                    let columns = TrainedPart::Columns(d_model..d_model + a.dims()[1]);
                    (features, Tensor::cat(weight, 1), columns, a)
                }
                MatrixParts::Rows {
                    matrix,
                    change,
                    ids,
                } => {
                    let rows = TrainedPart::Rows(Box::new(ids.without_autodiff()));
                    (features, matrix, rows, change)
                }
            },
        };
        let (width, expected) = (weight.dims()[1], features.dims()[1]);
        assert_eq!(width, expected, "the projection is as wide as the model");
        let is_trained = owner.is_autodiff();
        let inputs = Self {
            epsilon: smoothing.all_tokens_epsilon(weight.dims()[0]),
            features: features.clone().without_autodiff(),
            // Moved, so that it is not copied into a buffer.
            weight: weight.without_autodiff(),
            bias: projection.bias.map(Tensor::without_autodiff),
            labels,
            scale,
            trained: is_trained.then_some(part),
            multiply,
        };
        (inputs, features, is_trained.then_some(owner))
    }
}

pub(super) struct LossGradients {
    /// `[n_tokens, width]`.
    pub(super) features: Tensor<2>,
    /// The gradient of the trained part, `[vocab, n_columns]` or `[n_rows, width]`; `None` if nothing is trained.
    pub(super) weight: Option<Tensor<2>>,
    /// `[vocab]`.
    pub(super) bias: Option<Tensor<1>>,
}
