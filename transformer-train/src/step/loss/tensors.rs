//! The loss by tensor operations, on any device: the logits of one chunk of tokens at a time.

use std::ops::Add;

use burn::tensor::{Int, Tensor};
use transformer_core::device::{is_cpu_memory, reduce_rows, sum_of_rows};

use super::inputs::{LossGradients, LossInputs, LossSums, TrainedPart, chunk_len};

pub(super) fn loss(inputs: LossInputs) -> (LossSums, Option<LossGradients>) {
    let loss = ChunkedLoss::new(inputs.weight, inputs.bias, inputs.epsilon);
    let chunks = loss.chunks(inputs.features, inputs.labels);
    let Some(scale) = inputs.scale else {
        return (total(chunks.map(|(h, y)| loss.softmax(h, y).sums)), None);
    };
    let mut d_weight: Option<Tensor<2>> = None;
    let mut d_bias: Option<Tensor<1>> = None;
    let mut d_features = Vec::new();
    let mut sums = Vec::new();
    for (h, y) in chunks {
        let softmax = loss.softmax(h.clone(), y.clone());
        sums.push(softmax.sums.clone());
        let d_logits = loss.logits_gradient(softmax, y, scale); // [n, vocab]
        if loss.bias.is_some() {
            d_bias = add(d_bias, sum_of_rows(d_logits.clone()));
        }
        d_weight = match &inputs.trained {
            None => None,
            Some(TrainedPart::Columns(range)) => {
                let h = h.narrow(1, range.start, range.len());
                add(d_weight, d_logits.clone().transpose().matmul(h))
            }
            Some(TrainedPart::Rows(ids)) => {
                let d_logits = d_logits.clone().select(1, (**ids).clone()); // [n, n_rows]
                add(d_weight, d_logits.transpose().matmul(h))
            }
        };
        d_features.push(d_logits.matmul(loss.weight.clone()));
    }
    let gradients = LossGradients {
        features: Tensor::cat(d_features, 0),
        weight: d_weight,
        bias: d_bias,
    };
    (total(sums.into_iter()), Some(gradients))
}

pub(super) struct ChunkedLoss {
    /// `[vocab, width]`.
    weight: Tensor<2>,
    /// Mean of the rows of `weight`, which gives the mean logit: `[1, width]`.
    mean_row: Tensor<2>,
    /// `[vocab]`.
    bias: Option<Tensor<1>>,
    epsilon: f64,
    vocab_size: usize,
}

/// The softmax over the vocabulary for one chunk of tokens, not yet normalized.
struct Softmax {
    /// `exp(z − max z)`: `[n, vocab]`.
    exponentials: Tensor<2>,
    /// Sum of the exponentials: `[n, 1]`.
    normalizer: Tensor<2>,
    sums: LossSums,
}

impl ChunkedLoss {
    pub(super) fn new(weight: Tensor<2>, bias: Option<Tensor<1>>, epsilon: f64) -> Self {
        let [vocab_size, _] = weight.dims();
        let sum = sum_of_rows(weight.clone()).unsqueeze();
        Self {
            bias,
            mean_row: sum / vocab_size as f64,
            epsilon,
            weight,
            vocab_size,
        }
    }

    /// Splits features and labels into chunks with logits that fit the limit of their device.
    pub(super) fn chunks(
        &self,
        features: Tensor<2>,
        labels: Tensor<1, Int>,
    ) -> impl Iterator<Item = (Tensor<2>, Tensor<1, Int>)> + use<> {
        let [n_tokens, _] = features.dims();
        let n = chunk_len(self.vocab_size, n_tokens, is_cpu_memory(&features.device()));
        (0..n_tokens).step_by(n).map(move |start| {
            let len = n.min(n_tokens - start);
            (
                features.clone().narrow(0, start, len),
                labels.clone().narrow(0, start, len),
            )
        })
    }

    /// Computes softmax and summed losses of a chunk with features `h` and gold tokens `y`.
    fn softmax(&self, h: Tensor<2>, y: Tensor<1, Int>) -> Softmax {
        let mut logits = h.clone().matmul(self.weight.clone().transpose()); // [n, vocab]
        let mut mean = (h * self.mean_row.clone()).sum_dim(1); // [n, 1]
        if let Some(bias) = &self.bias {
            logits = logits + bias.clone().unsqueeze();
            mean = mean + bias.clone().mean().unsqueeze();
        }
        let gold = logits.clone().gather(1, y.unsqueeze_dim(1)); // [n, 1]
        let max = reduce_rows(logits.clone(), Tensor::max_dim); // [n, 1]
        let exponentials = (logits - max.clone()).exp();
        let normalizer = reduce_rows(exponentials.clone(), Tensor::sum_dim); // [n, 1]
        let log_normalizer = normalizer.clone().log() + max;
        let nll = (log_normalizer.clone() - gold).sum();
        let uniform = (log_normalizer - mean).sum();
        let smoothed = nll.clone() * (1.0 - self.epsilon) + uniform * self.epsilon;
        Softmax {
            exponentials,
            normalizer,
            sums: LossSums { smoothed, nll },
        }
    }

    /// Returns `∂loss/∂z` of a chunk, times `scale`: the softmax minus the smoothed labels.
    ///
    /// # Shapes
    ///
    /// - `y`: `[n]`
    /// - returns: `[n, vocab]`
    fn logits_gradient(&self, softmax: Softmax, y: Tensor<1, Int>, scale: f64) -> Tensor<2> {
        let weighting = softmax.normalizer.recip() * scale;
        let ids = Tensor::arange(0..self.vocab_size as i64, &y.device()).cast(y.dtype());
        let is_gold = y.unsqueeze_dim::<2>(1).equal(ids.unsqueeze()); // [n, vocab]
        let uniform = self.epsilon * scale / self.vocab_size as f64;
        let on_gold = (1.0 - self.epsilon) * scale;
        softmax.exponentials * weighting - uniform - is_gold.float() * on_gold
    }
}

fn add<const D: usize>(sum: Option<Tensor<D>>, part: Tensor<D>) -> Option<Tensor<D>> {
    Some(match sum {
        Some(sum) => sum + part,
        None => part,
    })
}

fn total(sums: impl Iterator<Item = LossSums>) -> LossSums {
    sums.reduce(Add::add)
        .expect("a batch has at least one token")
}
