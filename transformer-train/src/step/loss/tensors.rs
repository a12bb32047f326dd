//! The loss by tensor operations, on any device: the logits of one chunk of tokens at a time.

use std::ops::{Add, Range};

use burn::tensor::{IndexingUpdateOp, Int, IntDType, Tensor};
use transformer_core::device::is_cpu_memory;

use super::inputs::{LossGradients, LossInputs, LossSums, TrainedPart, chunk_len};

/// Computes the summed losses and, given a scale, the gradients.
pub(super) fn loss(inputs: LossInputs) -> (LossSums, Option<LossGradients>) {
    let loss = ChunkedLoss::new(inputs.weight, inputs.bias, inputs.epsilon);
    let trained = inputs.trained;
    let all_features = inputs.features.clone();
    let chunks = loss.chunks(inputs.features, inputs.labels);
    let Some(scale) = inputs.scale else {
        return (total(chunks.map(|(h, y)| loss.softmax(h, y).sums)), None);
    };
    // The term −ε/V of ∂loss/∂z is the same for all tokens, and so for all rows of the weight.
    let per_token = loss.epsilon * scale / loss.vocab_size as f64;
    let mut d_weight = trained.as_ref().map(|part| {
        let (n_rows, features) = match part {
            TrainedPart::Columns(range) => (loss.vocab_size, columns(all_features, range)),
            TrainedPart::Rows(ids) => (ids.dims()[0], all_features),
        };
        let smoothing_term = features.sum_dim(0) * -per_token; // [1, n_columns]
        let [_, n_columns] = smoothing_term.dims();
        smoothing_term.expand([n_rows, n_columns])
    });
    let mut d_bias = loss.bias.as_ref().map(Tensor::zeros_like);
    let mut d_features = Vec::new();
    let mut sums = Vec::new();
    for (h, y) in chunks {
        let softmax = loss.softmax(h.clone(), y.clone());
        sums.push(softmax.sums.clone());
        d_bias = d_bias.map(|d_bias| loss.add_bias_gradient(d_bias, &softmax, y.clone(), scale));
        d_weight = d_weight
            .zip(trained.as_ref())
            .map(|(d_weight, part)| match part {
                TrainedPart::Columns(range) => {
                    loss.add_columns_gradient(d_weight, &softmax, columns(h, range), y, scale)
                }
                TrainedPart::Rows(ids) => {
                    loss.add_rows_gradient(d_weight, &softmax, h, y, ids, scale)
                }
            });
        d_features.push(loss.features_gradient(softmax, scale));
    }
    let gradients = LossGradients {
        features: Tensor::cat(d_features, 0),
        weight: d_weight,
        bias: d_bias,
    };
    (total(sums.into_iter()), Some(gradients))
}

/// The values that all chunks share.
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
    /// Rows of the weight of the gold tokens: `[n, width]`.
    gold_rows: Tensor<2>,
    sums: LossSums,
}

impl ChunkedLoss {
    pub(super) fn new(weight: Tensor<2>, bias: Option<Tensor<1>>, epsilon: f64) -> Self {
        let [vocab_size, _] = weight.dims();
        Self {
            bias,
            mean_row: weight.clone().mean_dim(0),
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
        if let Some(bias) = &self.bias {
            logits = logits + bias.clone().unsqueeze();
        }
        let max = logits.clone().max_dim(1); // [n, 1]
        let exponentials = (logits - max.clone()).exp();
        let normalizer = exponentials.clone().sum_dim(1); // [n, 1]
        let log_normalizer = normalizer.clone().log() + max;
        let gold_rows = self.weight.clone().select(0, y.clone()); // [n, width]
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

    /// Returns the gradient of the chunk's features.
    fn features_gradient(&self, softmax: Softmax, scale: f64) -> Tensor<2> {
        let on_gold = (1.0 - self.epsilon) * scale;
        let weighting = softmax.normalizer.recip() * scale; // [n, 1]
        softmax.exponentials.matmul(self.weight.clone()) * weighting
            - softmax.gold_rows * on_gold
            - self.mean_row.clone() * (self.epsilon * scale)
    }

    /// Returns `d_weight` plus the chunk's gradient of the weight without its `−ε/V` term, for the columns of `h`.
    fn add_columns_gradient(
        &self,
        d_weight: Tensor<2>,
        softmax: &Softmax,
        h: Tensor<2>,
        y: Tensor<1, Int>,
        scale: f64,
    ) -> Tensor<2> {
        let on_gold = (1.0 - self.epsilon) * scale;
        let weighting = softmax.normalizer.clone().recip() * scale; // [n, 1]
        let transposed = softmax.exponentials.clone().transpose(); // [vocab, n]
        let d_weight = d_weight + transposed.matmul(h.clone() * weighting);
        d_weight.select_assign(0, y, h * -on_gold, IndexingUpdateOp::Add)
    }

    /// Like [`add_columns_gradient`](Self::add_columns_gradient), for the rows with these numbers.
    fn add_rows_gradient(
        &self,
        d_weight: Tensor<2>,
        softmax: &Softmax,
        h: Tensor<2>,
        y: Tensor<1, Int>,
        ids: &Tensor<1, Int>,
        scale: f64,
    ) -> Tensor<2> {
        let on_gold = (1.0 - self.epsilon) * scale;
        let weighting = softmax.normalizer.clone().recip() * scale; // [n, 1]
        let exponentials = softmax.exponentials.clone().select(1, ids.clone()); // [n, n_rows]
        // A checkpoint of another backend can have integers of another width.
        let ids_of_width = ids.clone().cast(IntDType::from(y.dtype()));
        let is_gold = y.unsqueeze_dim::<2>(1).equal(ids_of_width.unsqueeze()); // [n, n_rows]
        let d_logits = exponentials * weighting - is_gold.float() * on_gold;
        d_weight + d_logits.transpose().matmul(h)
    }

    /// Returns `d_bias` plus the chunk's gradient of the bias.
    fn add_bias_gradient(
        &self,
        d_bias: Tensor<1>,
        softmax: &Softmax,
        y: Tensor<1, Int>,
        scale: f64,
    ) -> Tensor<1> {
        let [n_tokens, vocab_size] = softmax.exponentials.dims();
        let weighting = softmax.normalizer.clone().recip() * scale; // [n, 1]
        let expected = weighting.transpose().matmul(softmax.exponentials.clone()); // [1, vocab]
        let smoothing_term = self.epsilon * scale * n_tokens as f64 / vocab_size as f64;
        let on_gold = (1.0 - self.epsilon) * scale;
        let gold = Tensor::full([n_tokens], -on_gold, &d_bias.device());
        (d_bias + expected.squeeze_dim(0) - smoothing_term).select_assign(
            0,
            y,
            gold,
            IndexingUpdateOp::Add,
        )
    }
}

/// Returns some columns of features.
fn columns(features: Tensor<2>, columns: &Range<usize>) -> Tensor<2> {
    features.narrow(1, columns.start, columns.len())
}

fn total(sums: impl Iterator<Item = LossSums>) -> LossSums {
    sums.reduce(Add::add)
        .expect("a batch has at least one token")
}
