//! Label-smoothed cross-entropy (§5.4), fused with the projection onto the vocabulary (§3.4).
//!
//! The tensor of logits, tokens × vocabulary, is by far the largest of a training step. Here it is
//! made a slice of tokens at a time and forgotten again, outside of Burn's tape: the gradient of the
//! loss is known in closed form. With `z = W·h`, `p = softmax(z)` and gold token `y`,
//!
//! ```text
//! loss  = (1−ε)·(lse(z) − z_y) + ε·(lse(z) − mean(z))
//! ∂loss/∂z = p − (1−ε)·onehot(y) − ε/V
//! ```
//!
//! which is the row of logits itself, changed in place, where the numbers lie in the computer's memory (`host.rs`).
//! Elsewhere only `p` takes a pass over the vocabulary; the other two terms are rows of `W` and sums. A
//! bias of the output is one more column of `W`, of which every `h` holds a one.

mod host;
mod row;

use std::ops::Add;

use burn::tensor::{IndexingUpdateOp, Int, Tensor};
use serde::{Deserialize, Serialize};
use transformer_core::Transformer;
use transformer_core::device::is_in_memory;

/// Largest slice of logits that is held at once in the computer's memory, in elements (32 MiB in single precision).
const MAX_LOGITS: usize = 8 << 20;

/// The same on a device of its own, which wants larger products, and fewer of them (256 MiB).
const MAX_LOGITS_APART: usize = 64 << 20;

/// Moves some probability of the training target from the gold token to the others (§5.4).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelSmoothing {
    /// Probability taken from the gold token, `ε_ls` in the paper (there 0.1); 0 turns smoothing off.
    pub epsilon: f64,
    /// Who gets it.
    pub form: SmoothingForm,
}

/// Names the two forms of label smoothing in use; they differ by a factor `V/(V−1)` in `ε`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SmoothingForm {
    /// Every token of the vocabulary gets `ε/V`, the gold one too: `torch.nn.CrossEntropyLoss`.
    AllTokens,
    /// Every token but the gold one gets `ε/(V−1)`: Tensor2Tensor and fairseq.
    OtherTokens,
}

impl LabelSmoothing {
    /// Returns the `ε` of the [`SmoothingForm::AllTokens`] form that is the same loss.
    fn spread(&self, vocab_size: usize) -> f64 {
        match self.form {
            SmoothingForm::AllTokens => self.epsilon,
            SmoothingForm::OtherTokens => {
                let vocab_size = vocab_size as f64;
                self.epsilon * vocab_size / (vocab_size - 1.0).max(1.0)
            }
        }
    }
}

/// Holds the loss of a batch, summed over its tokens, in nats.
#[derive(Clone, Debug)]
pub struct LossSums {
    /// Smoothed cross-entropy: what training minimizes. `[1]`.
    pub smoothed: Tensor<1>,
    /// Negative log-likelihood of the gold tokens: what perplexity is made of. `[1]`.
    pub nll: Tensor<1>,
}

/// Holds what turns features into logits (§3.4).
#[derive(Clone, Debug)]
pub struct Projection {
    /// The pre-softmax matrix, `[vocab, d_model]`.
    pub weight: Tensor<2>,
    /// What is added to every token's logit, `[vocab]`, if anything.
    pub bias: Option<Tensor<1>>,
}

impl Projection {
    /// Returns the projection of a model.
    pub fn of(model: &Transformer) -> Self {
        Self {
            weight: model.output_weight(),
            bias: model.output_bias(),
        }
    }

    /// Takes it off Burn's tape.
    fn plain(self) -> Self {
        Self {
            weight: plain(self.weight),
            bias: self.bias.map(plain),
        }
    }

    fn vocab_size(&self) -> usize {
        self.weight.dims()[0]
    }
}

/// Computes the loss of tokens from the features that the decoder gives them, without gradients.
///
/// # Shapes
///
/// - `features`: `[n_tokens, d_model]`
/// - `labels`: `[n_tokens]`, the gold token of each
///
/// # Panics
///
/// Panics if the shapes do not fit together or there is no token.
pub fn projected_loss(
    features: Tensor<2>,
    projection: Projection,
    labels: Tensor<1, Int>,
    smoothing: &LabelSmoothing,
) -> LossSums {
    loss(Inputs::new(features, projection, labels, smoothing, None)).0
}

/// Computes the loss of tokens and a scalar that carries its gradient.
///
/// Calling `backward()` on the second tensor gives features and projection the gradient of
/// `scale · smoothed`. Its value means nothing: it is the scalar product of the inputs with their
/// gradients, through which Burn's tape takes them further back.
///
/// # Shapes
///
/// - `features`: `[n_tokens, d_model]`, on a device with autodiff, as the projection is
/// - `labels`: `[n_tokens]`, the gold token of each
/// - returns: the sums, and `[1]`
///
/// # Panics
///
/// Panics if the shapes do not fit together or there is no token.
pub fn projected_loss_with_gradient(
    features: Tensor<2>,
    projection: Projection,
    labels: Tensor<1, Int>,
    smoothing: &LabelSmoothing,
    scale: f64,
) -> (LossSums, Tensor<1>) {
    let inputs = Inputs::new(
        features.clone(),
        projection.clone(),
        labels,
        smoothing,
        Some(scale),
    );
    let (sums, gradients) = loss(inputs);
    let gradients = gradients.expect("a scale asks for gradients");
    let mut surrogate = (features * Tensor::from_inner(gradients.features)).sum()
        + (projection.weight * Tensor::from_inner(gradients.weight)).sum();
    if let (Some(bias), Some(gradient)) = (projection.bias, gradients.bias) {
        surrogate = surrogate + (bias * Tensor::from_inner(gradient)).sum();
    }
    (sums, surrogate)
}

/// Holds what a loss is computed of, off Burn's tape.
struct Inputs {
    /// `[n_tokens, d_model]`.
    features: Tensor<2>,
    projection: Projection,
    /// `[n_tokens]`.
    labels: Tensor<1, Int>,
    /// The `ε` of the [`SmoothingForm::AllTokens`] form.
    epsilon: f64,
    /// What the gradients are multiplied by, where they are wanted.
    scale: Option<f64>,
}

impl Inputs {
    fn new(
        features: Tensor<2>,
        projection: Projection,
        labels: Tensor<1, Int>,
        smoothing: &LabelSmoothing,
        scale: Option<f64>,
    ) -> Self {
        Self {
            epsilon: smoothing.spread(projection.vocab_size()),
            features: plain(features),
            projection: projection.plain(),
            labels,
            scale,
        }
    }
}

/// Holds the gradients of what the loss is made of.
struct Gradients {
    /// `[n_tokens, d_model]`.
    features: Tensor<2>,
    /// `[vocab, d_model]`.
    weight: Tensor<2>,
    /// `[vocab]`.
    bias: Option<Tensor<1>>,
}

/// Computes the sums and, for a `scale`, the gradients of `scale · smoothed`.
fn loss(inputs: Inputs) -> (LossSums, Option<Gradients>) {
    if host::holds(&inputs.features) {
        host::loss(inputs)
    } else {
        loss_by_tensors(inputs)
    }
}

/// Computes them by operations on tensors, wherever those lie.
fn loss_by_tensors(inputs: Inputs) -> (LossSums, Option<Gradients>) {
    let fused = Fused::new(inputs.projection, inputs.epsilon);
    let whole = inputs.features.clone();
    let slices = fused.slices(inputs.features, inputs.labels);
    let Some(scale) = inputs.scale else {
        return (total(slices.map(|(h, y)| fused.softmax(h, y).sums)), None);
    };
    let per_token = fused.epsilon * scale / fused.vocab_size as f64;
    let spread = whole.sum_dim(0) * -per_token; // [1, d_model]
    let mut weight_gradient = spread.expand(fused.weight.dims());
    let mut bias_gradient = fused.bias.as_ref().map(Tensor::zeros_like);
    let mut feature_gradients = Vec::new();
    let mut sums = Vec::new();
    for (h, y) in slices {
        let softmax = fused.softmax(h.clone(), y.clone());
        sums.push(softmax.sums.clone());
        bias_gradient =
            bias_gradient.map(|gradient| fused.bias_gradient(&softmax, y.clone(), gradient, scale));
        let (d_features, d_weight) = fused.gradient(softmax, h, y, weight_gradient, scale);
        feature_gradients.push(d_features);
        weight_gradient = d_weight;
    }
    let gradients = Gradients {
        features: Tensor::cat(feature_gradients, 0),
        weight: weight_gradient,
        bias: bias_gradient,
    };
    (total(sums.into_iter()), Some(gradients))
}

/// Returns how many of these tokens have their logits at once, in the computer's memory or on a device of its own.
pub(crate) fn slice_len(vocab_size: usize, n_tokens: usize, in_memory: bool) -> usize {
    let most = match in_memory {
        true => MAX_LOGITS,
        false => MAX_LOGITS_APART,
    };
    (most / vocab_size).clamp(1, n_tokens)
}

/// Holds what all slices of one projection share.
struct Fused {
    /// `[vocab, d_model]`.
    weight: Tensor<2>,
    /// Mean of the weight's rows, `[1, d_model]`.
    mean_row: Tensor<2>,
    /// `[vocab]`.
    bias: Option<Tensor<1>>,
    epsilon: f64,
    vocab_size: usize,
}

/// Holds the softmax over one slice of tokens, not yet divided by its sum.
struct Softmax {
    /// `exp(z − max z)`: `[n, vocab]`.
    exponentials: Tensor<2>,
    /// Sum of the exponentials: `[n, 1]`.
    normalizer: Tensor<2>,
    /// The weight's rows of the gold tokens: `[n, d_model]`.
    gold_rows: Tensor<2>,
    sums: LossSums,
}

impl Fused {
    fn new(projection: Projection, epsilon: f64) -> Self {
        let vocab_size = projection.vocab_size();
        let Projection { weight, bias } = projection;
        Self {
            bias,
            mean_row: weight.clone().mean_dim(0),
            epsilon,
            weight,
            vocab_size,
        }
    }

    /// Cuts the tokens so that no slice of logits is too large for where they lie.
    fn slices(
        &self,
        features: Tensor<2>,
        labels: Tensor<1, Int>,
    ) -> impl Iterator<Item = (Tensor<2>, Tensor<1, Int>)> + use<> {
        let [n_tokens, _] = features.dims();
        let n = slice_len(self.vocab_size, n_tokens, is_in_memory(&features.device()));
        (0..n_tokens).step_by(n).map(move |start| {
            let len = n.min(n_tokens - start);
            (
                features.clone().narrow(0, start, len),
                labels.clone().narrow(0, start, len),
            )
        })
    }

    fn softmax(&self, h: Tensor<2>, y: Tensor<1, Int>) -> Softmax {
        let mut logits = h.clone().matmul(self.weight.clone().transpose()); // [n, vocab]
        if let Some(bias) = &self.bias {
            logits = logits + bias.clone().unsqueeze();
        }
        let max = logits.clone().max_dim(1); // [n, 1]
        let exponentials = (logits - max.clone()).exp();
        let normalizer = exponentials.clone().sum_dim(1); // [n, 1]
        let log_normalizer = normalizer.clone().log() + max;
        let gold_rows = self.weight.clone().select(0, y.clone()); // [n, d_model]
        let mut gold = (h.clone() * gold_rows.clone()).sum_dim(1); // [n, 1]
        let mut mean = (h * self.mean_row.clone()).sum_dim(1); // [n, 1]
        if let Some(bias) = &self.bias {
            gold = gold + bias.clone().select(0, y).unsqueeze_dim(1);
            mean = mean + bias.clone().mean().unsqueeze();
        }
        let nll = (log_normalizer.clone() - gold).sum();
        let uniform = (log_normalizer - mean).sum();
        let smoothed = nll.clone() * (1.0 - self.epsilon) + uniform * self.epsilon;
        Softmax {
            exponentials,
            normalizer,
            gold_rows,
            sums: LossSums { smoothed, nll },
        }
    }

    /// Returns the gradient for the slice's features and adds the weight's to what it already is, but for the part
    /// that all rows of the weight share.
    fn gradient(
        &self,
        softmax: Softmax,
        h: Tensor<2>,
        y: Tensor<1, Int>,
        weight_gradient: Tensor<2>,
        scale: f64,
    ) -> (Tensor<2>, Tensor<2>) {
        let Softmax {
            exponentials,
            normalizer,
            gold_rows,
            ..
        } = softmax;
        let on_gold = (1.0 - self.epsilon) * scale;
        let weighting = normalizer.recip() * scale; // [n, 1]

        let d_features = exponentials.clone().matmul(self.weight.clone()) * weighting.clone()
            - gold_rows * on_gold
            - self.mean_row.clone() * (self.epsilon * scale);
        let d_weight = weight_gradient + exponentials.transpose().matmul(h.clone() * weighting);
        let d_weight = d_weight.select_assign(0, y, h * -on_gold, IndexingUpdateOp::Add);
        (d_features, d_weight)
    }

    /// Adds the slice's gradient of the bias to what it already is.
    fn bias_gradient(
        &self,
        softmax: &Softmax,
        y: Tensor<1, Int>,
        gradient: Tensor<1>,
        scale: f64,
    ) -> Tensor<1> {
        let [n_tokens, vocab_size] = softmax.exponentials.dims();
        let weighting = softmax.normalizer.clone().recip() * scale; // [n, 1]
        let expected = weighting.transpose().matmul(softmax.exponentials.clone()); // [1, vocab]
        let spread = self.epsilon * scale * n_tokens as f64 / vocab_size as f64;
        let on_gold = (1.0 - self.epsilon) * scale;
        let gold = Tensor::full([n_tokens], -on_gold, &gradient.device());
        (gradient + expected.squeeze_dim(0) - spread).select_assign(
            0,
            y,
            gold,
            IndexingUpdateOp::Add,
        )
    }
}

/// Takes a tensor off Burn's tape, if it is on it.
fn plain<const D: usize>(tensor: Tensor<D>) -> Tensor<D> {
    if tensor.device().is_autodiff() {
        tensor.inner()
    } else {
        tensor
    }
}

fn total(sums: impl Iterator<Item = LossSums>) -> LossSums {
    sums.reduce(Add::add)
        .expect("a batch has at least one token")
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

#[cfg(test)]
mod tests;
