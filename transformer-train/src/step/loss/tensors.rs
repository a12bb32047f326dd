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
        let chunk = Chunk {
            weighting: softmax.normalizer.recip() * scale,
            exponentials: softmax.exponentials,
            gold_rows: softmax.gold_rows,
            h,
            y,
            on_gold: (1.0 - loss.epsilon) * scale,
        };
        let n_tokens = chunk.y.dims()[0] as f64;
        let smoothing_term = loss.epsilon * scale * n_tokens / loss.vocab_size as f64;
        d_bias = d_bias.map(|d_bias| chunk.add_bias_gradient(d_bias, smoothing_term));
        d_weight = d_weight
            .zip(trained.as_ref())
            .map(|(d_weight, part)| match part {
                TrainedPart::Columns(range) => chunk.add_columns_gradient(d_weight, range),
                TrainedPart::Rows(ids) => chunk.add_rows_gradient(d_weight, ids),
            });
        let d_mean = loss.mean_row.clone() * (loss.epsilon * scale);
        d_features.push(chunk.features_gradient(loss.weight.clone()) - d_mean);
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
}

/// A chunk of tokens with all that its gradients need.
struct Chunk {
    /// `exp(z − max z)`: `[n, vocab]`.
    exponentials: Tensor<2>,
    /// Factor that turns these into probabilities, times the scale of the gradients: `[n, 1]`.
    weighting: Tensor<2>,
    /// Rows of the weight of the gold tokens: `[n, width]`.
    gold_rows: Tensor<2>,
    /// Features: `[n, width]`.
    h: Tensor<2>,
    /// Gold tokens: `[n]`.
    y: Tensor<1, Int>,
    /// The factor of the gold token's gradient.
    on_gold: f64,
}

impl Chunk {
    /// Returns the gradient of the chunk's features, without the part of the mean logit.
    fn features_gradient(self, weight: Tensor<2>) -> Tensor<2> {
        self.exponentials.matmul(weight) * self.weighting - self.gold_rows * self.on_gold
    }

    /// Returns `d_weight` plus the chunk's gradient of the weight without its `−ε/V` term, for these columns.
    fn add_columns_gradient(&self, d_weight: Tensor<2>, range: &Range<usize>) -> Tensor<2> {
        let h = columns(self.h.clone(), range);
        let transposed = self.exponentials.clone().transpose(); // [vocab, n]
        let d_weight = d_weight + transposed.matmul(h.clone() * self.weighting.clone());
        let d_gold = h * -self.on_gold;
        d_weight.select_assign(0, self.y.clone(), d_gold, IndexingUpdateOp::Add)
    }

    /// Like [`add_columns_gradient`](Self::add_columns_gradient), for the rows with these numbers.
    fn add_rows_gradient(&self, d_weight: Tensor<2>, ids: &Tensor<1, Int>) -> Tensor<2> {
        let exponentials = self.exponentials.clone().select(1, ids.clone()); // [n, n_rows]
        // A checkpoint of another backend can have integers of another width.
        let ids = ids.clone().cast(IntDType::from(self.y.dtype()));
        let is_gold = self.y.clone().unsqueeze_dim::<2>(1).equal(ids.unsqueeze()); // [n, n_rows]
        let d_logits = exponentials * self.weighting.clone() - is_gold.float() * self.on_gold;
        d_weight + d_logits.transpose().matmul(self.h.clone())
    }

    /// Returns `d_bias` plus the chunk's gradient of the bias; `smoothing_term` is `ε/V` of all its tokens.
    fn add_bias_gradient(&self, d_bias: Tensor<1>, smoothing_term: f64) -> Tensor<1> {
        let [n_tokens, _] = self.exponentials.dims();
        let expected = self.weighting.clone().transpose();
        let expected = expected.matmul(self.exponentials.clone()); // [1, vocab]
        let gold = Tensor::full([n_tokens], -self.on_gold, &d_bias.device());
        let d_bias = d_bias + expected.squeeze_dim(0) - smoothing_term;
        d_bias.select_assign(0, self.y.clone(), gold, IndexingUpdateOp::Add)
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
