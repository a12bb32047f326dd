//! The loss in CPU memory: one buffer of logits per chunk of tokens, and one pass over each row.
//!
//! Tensor operations would each take a pass over all logits, and allocate a new tensor.

use std::ops::Range;

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use pulp::NullaryFnOnce;
use rayon::prelude::*;
use transformer_core::cpu::gemm::{Matrix, Multiply, Output};
use transformer_core::cpu::{instruction_set, max_and_sum, replace_by_exponentials};

use super::inputs::{LossGradients, LossInputs, LossSums, TrainedPart, chunk_len};

/// Minimum number of rows per thread.
const ROWS_PER_THREAD: usize = 8;

/// Returns whether [`loss`] supports these features: single precision, in CPU memory.
pub(super) fn supports(features: &Tensor<2>) -> bool {
    transformer_core::cpu::supports(features)
}

/// Computes the summed losses and, given a scale, the gradients.
pub(super) fn loss(inputs: LossInputs) -> (LossSums, Option<LossGradients>) {
    let [n_tokens, _] = inputs.features.dims();
    let len = chunk_len(inputs.weight.dims()[0], n_tokens, true);
    loss_in_chunks(inputs, len)
}

/// Computes the loss with the logits of `len` tokens at a time.
fn loss_in_chunks(inputs: LossInputs, len: usize) -> (LossSums, Option<LossGradients>) {
    let device = inputs.features.device();
    let (epsilon, scale) = (inputs.epsilon, inputs.scale);
    let multiply = inputs.multiply;
    let inputs = Buffers::new(inputs);
    let (n_tokens, width, vocab_size) = (inputs.labels.len(), inputs.width, inputs.vocab_size);
    let mut gradients = scale.map(|_| GradientBuffers::zeros(&inputs));
    let arch = instruction_set();
    let bias = inputs.bias.as_deref();
    let mut buffer = vec![0.0; len * vocab_size];
    let (mut smoothed, mut nll) = (0.0, 0.0);
    for start in (0..n_tokens).step_by(len) {
        let end = n_tokens.min(start + len);
        let logits = &mut buffer[..(end - start) * vocab_size];
        let h = inputs.features(start, end);
        multiply(h, inputs.weight().transposed(), logits, Output::Overwrite);
        let losses: Vec<TokenLoss> = logits
            .par_chunks_mut(vocab_size)
            .zip(&inputs.labels[start..end])
            .with_min_len(ROWS_PER_THREAD)
            .map(|(row, &gold)| {
                arch.dispatch(RowLoss {
                    row,
                    bias,
                    gold,
                    epsilon,
                    scale,
                })
            })
            .collect();
        for loss in losses {
            nll += loss.nll;
            smoothed += (1.0 - epsilon) * loss.nll + epsilon * loss.uniform;
        }
        if let Some(gradients) = &mut gradients {
            // `logits` now has the gradients of the logits.
            let d_logits = Matrix::new(logits, [end - start, vocab_size]);
            let d_h = &mut gradients.features[start * width..end * width];
            multiply(d_logits, inputs.weight(), d_h, Output::Overwrite);
            if let (Some(d_weight), Some(part)) = (&mut gradients.weight, &inputs.trained) {
                part.add_gradient(d_logits, h, d_weight, multiply);
            }
            if let Some(d_bias) = &mut gradients.bias {
                d_logits.add_rows_to(d_bias);
            }
        }
    }
    let sums = LossSums::on(&device, [smoothed, nll]);
    (
        sums,
        gradients.map(|gradients| gradients.into_tensors(&inputs, &device)),
    )
}

/// The loss of one token, in nats.
struct TokenLoss {
    /// `−ln p` of the gold token.
    nll: f64,
    /// Mean of `−ln p` over the vocabulary.
    uniform: f64,
}

struct RowLoss<'a> {
    row: &'a mut [f32],
    bias: Option<&'a [f32]>,
    gold: usize,
    epsilon: f64,
    /// Factor of the gradient; `None` if only the loss is needed.
    scale: Option<f64>,
}

impl NullaryFnOnce for RowLoss<'_> {
    type Output = TokenLoss;

    /// Adds the bias to a row of logits and returns the loss of its token. Given a scale, replaces the row by its
    /// gradient, `scale · (p − (1 − ε)·onehot(gold) − ε/V)`.
    #[inline(always)]
    fn call(self) -> TokenLoss {
        let Self {
            row,
            bias,
            gold,
            epsilon,
            scale,
        } = self;
        if let Some(bias) = bias {
            for (logit, bias) in row.iter_mut().zip(bias) {
                *logit += bias;
            }
        }
        let gold_logit = f64::from(row[gold]);
        let (max, sum) = max_and_sum(row);
        let normalizer = replace_by_exponentials(row, max);
        let log_normalizer = f64::from(normalizer).ln() + f64::from(max);
        if let Some(scale) = scale {
            let factor = (scale / f64::from(normalizer)) as f32;
            let smoothing_term = (epsilon * scale / row.len() as f64) as f32;
            for value in row.iter_mut() {
                *value = *value * factor - smoothing_term;
            }
            row[gold] -= ((1.0 - epsilon) * scale) as f32;
        }
        let mean = f64::from(sum) / row.len() as f64;
        TokenLoss {
            nll: log_normalizer - gold_logit,
            uniform: log_normalizer - mean,
        }
    }
}

struct Buffers {
    /// `[n_tokens, width]`.
    features: Vec<f32>,
    /// `[vocab, width]`.
    weight: Vec<f32>,
    /// `[vocab]`.
    bias: Option<Vec<f32>>,
    /// `[n_tokens]`.
    labels: Vec<usize>,
    width: usize,
    vocab_size: usize,
    trained: Option<Part>,
}

enum Part {
    Columns(Range<usize>),
    Rows(Vec<usize>),
}

impl Part {
    fn shape(&self, [n_rows, n_columns]: [usize; 2]) -> [usize; 2] {
        match self {
            Self::Columns(columns) => [n_rows, columns.len()],
            Self::Rows(rows) => [rows.len(), n_columns],
        }
    }

    /// Adds the gradient of the part, for tokens with features `h`.
    fn add_gradient(
        &self,
        d_logits: Matrix<'_>,
        h: Matrix<'_>,
        d_weight: &mut [f32],
        multiply: Multiply,
    ) {
        match self {
            Self::Columns(columns) => {
                let h = h.columns(columns.clone());
                multiply(d_logits.transposed(), h, d_weight, Output::Accumulate);
            }
            Self::Rows(rows) => {
                let gathered = d_logits.gathered_columns(rows);
                let d_logits = Matrix::new(&gathered, [d_logits.n_rows(), rows.len()]);
                multiply(d_logits.transposed(), h, d_weight, Output::Accumulate);
            }
        }
    }
}

impl Buffers {
    fn new(inputs: LossInputs) -> Self {
        let LossInputs {
            features,
            weight,
            bias,
            labels,
            trained,
            ..
        } = inputs;
        let [n_tokens, _] = features.dims();
        let [vocab_size, width] = weight.dims();
        let n_biases = bias.as_ref().map(|bias| bias.dims()[0]);
        assert_eq!(labels.dims(), [n_tokens], "every token has one label");
        assert!(
            n_biases.is_none_or(|n_biases| n_biases == vocab_size),
            "every token of the vocabulary has one bias"
        );
        Self {
            features: into_vec(features),
            weight: into_vec(weight),
            bias: bias.map(into_vec),
            labels: numbers(labels),
            width,
            vocab_size,
            trained: trained.map(|part| match part {
                TrainedPart::Columns(columns) => Part::Columns(columns),
                TrainedPart::Rows(ids) => Part::Rows(numbers(*ids)),
            }),
        }
    }

    fn features(&self, start: usize, end: usize) -> Matrix<'_> {
        let features = &self.features[start * self.width..end * self.width];
        Matrix::new(features, [end - start, self.width])
    }

    fn weight(&self) -> Matrix<'_> {
        Matrix::new(&self.weight, [self.vocab_size, self.width])
    }
}

fn numbers(ids: Tensor<1, Int>) -> Vec<usize> {
    let ids = ids.into_data();
    let number = |id| usize::try_from(id).expect("token ids are not negative");
    ids.iter::<i64>().map(number).collect()
}

fn into_vec<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    let data = tensor.into_data();
    data.try_into_vec()
        .expect("projection and features are in single precision")
}

struct GradientBuffers {
    features: Vec<f32>,
    weight: Option<Vec<f32>>,
    bias: Option<Vec<f32>>,
}

impl GradientBuffers {
    fn zeros(inputs: &Buffers) -> Self {
        let part = inputs.trained.as_ref();
        let shape = part.map(|part| part.shape([inputs.vocab_size, inputs.width]));
        Self {
            features: vec![0.0; inputs.features.len()],
            weight: shape.map(|[n_rows, n_columns]| vec![0.0; n_rows * n_columns]),
            bias: inputs.bias.as_ref().map(|bias| vec![0.0; bias.len()]),
        }
    }

    fn into_tensors(self, inputs: &Buffers, device: &Device) -> LossGradients {
        let options = (device, DType::F32);
        let matrix = |values: Vec<f32>, shape: [usize; 2]| {
            Tensor::from_data(TensorData::new(values, shape), options)
        };
        let shape = [inputs.labels.len(), inputs.width];
        let part = inputs.trained.as_ref();
        let part = part.map(|part| part.shape([inputs.vocab_size, inputs.width]));
        let vector = |values: Vec<f32>| Tensor::from_data(&values[..], options);
        LossGradients {
            features: matrix(self.features, shape),
            weight: self
                .weight
                .zip(part)
                .map(|(values, shape)| matrix(values, shape)),
            bias: self.bias.map(vector),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tensors;
    use transformer_core::cpu::with_each_instruction_set;
    use transformer_core::device;

    use super::*;

    /// Computes the loss of 20 tokens; the vocabulary of 70 is not a multiple of the vector width.
    fn loss_of_twenty(
        bias: bool,
        epsilon: f64,
        trained: TrainedPart,
        loss: impl Fn(LossInputs) -> (LossSums, Option<LossGradients>),
    ) -> (LossSums, LossGradients) {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let values = |n: usize, factor: usize| -> Vec<f32> {
            (0..n)
                .map(|index| ((index * factor) % 211) as f32 / 100.0 - 1.0)
                .collect()
        };
        let matrix = |rows: usize, factor: usize| {
            let data = TensorData::new(values(rows * 9, factor), [rows, 9]);
            Tensor::<2>::from_data(data, &device)
        };
        let labels: Vec<i64> = (0..20).map(|token| (token * 11) % 70).collect();
        let labels = Tensor::from_data(TensorData::new(labels, [20]), &device);
        let (sums, gradients) = loss(LossInputs {
            features: matrix(20, 5),
            weight: matrix(70, 13),
            bias: bias.then(|| Tensor::from_data(TensorData::new(values(70, 7), [70]), &device)),
            labels,
            epsilon,
            scale: Some(0.5),
            trained: Some(trained),
            multiply: transformer_core::cpu::gemm::multiply,
        });
        (sums, gradients.expect("there is a scale"))
    }

    #[test]
    fn loss_and_gradients_equal_those_of_tensor_operations_for_any_chunk_length() {
        let flat = |(sums, gradients): (LossSums, LossGradients)| {
            let of = |tensor: Tensor<2>| tensor.into_data().iter::<f32>().collect::<Vec<_>>();
            let bias = gradients.bias.map(|bias| of(bias.unsqueeze()));
            [
                of(sums.nll.unsqueeze()),
                of(sums.smoothed.unsqueeze()),
                of(gradients.features),
                of(gradients.weight.expect("the weight is trained")),
                bias.unwrap_or_default(),
            ]
        };
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        // The last token and the first, and one that is gold: 22.
        let rows = Tensor::<1, Int>::from_data([69, 22, 0, 5], &device);
        let cases = [
            (true, 0.1, TrainedPart::Columns(0..9)),
            (false, 0.1, TrainedPart::Columns(0..9)),
            (true, 0.0, TrainedPart::Columns(0..9)),
            (true, 0.1, TrainedPart::Columns(7..9)),
            (true, 0.1, TrainedPart::Rows(Box::new(rows))),
        ];
        for (bias, epsilon, trained) in cases {
            let expected = flat(loss_of_twenty(
                bias,
                epsilon,
                trained.clone(),
                tensors::loss,
            ));
            for len in [1, 3, 20] {
                let found = loss_of_twenty(bias, epsilon, trained.clone(), |inputs| {
                    loss_in_chunks(inputs, len)
                });
                for (found, expected) in flat(found).iter().zip(&expected) {
                    assert_eq!(found.len(), expected.len());
                    // Single precision, relative to the largest value.
                    let largest = expected.iter().fold(0.0_f32, |max, it| max.max(it.abs()));
                    let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 3e-6 * largest;
                    assert!(
                        found.iter().zip(expected).all(close),
                        "{found:?} {expected:?}"
                    );
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "every token of the vocabulary has one bias")]
    fn a_bias_of_the_wrong_length_panics() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let inputs = LossInputs {
            features: Tensor::zeros([1, 2], &device),
            weight: Tensor::zeros([5, 2], &device),
            bias: Some(Tensor::zeros([4], &device)),
            labels: Tensor::from_data([0], &device),
            epsilon: 0.1,
            scale: None,
            trained: None,
            multiply: transformer_core::cpu::gemm::multiply,
        };
        let _ = loss(inputs);
    }

    #[test]
    fn a_nan_or_infinite_logit_makes_the_loss_nan() {
        for bad in [f32::NAN, f32::INFINITY] {
            let mut row = vec![0.5; 64];
            row[1] = bad;
            let loss = RowLoss {
                row: &mut row,
                bias: None,
                gold: 0,
                epsilon: 0.1,
                scale: None,
            };
            let TokenLoss { nll, uniform } = loss.call();
            assert!(nll.is_nan() && uniform.is_nan());
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let compute = || {
            let value = |index: usize| ((index * 37) % 1009) as f32 / 31.0 - 9.0;
            let mut row: Vec<f32> = (0..1003).map(value).collect();
            let bias: Vec<f32> = (0..1003).map(|index| value(index + 5) / 9.0).collect();
            let TokenLoss { nll, uniform } = instruction_set().dispatch(RowLoss {
                row: &mut row,
                bias: Some(&bias),
                gold: 17,
                epsilon: 0.1,
                scale: Some(0.7),
            });
            let row: Vec<u32> = row.into_iter().map(f32::to_bits).collect();
            (nll.to_bits(), uniform.to_bits(), row)
        };
        let (scalar, vectors) = with_each_instruction_set(compute);
        for (arch, found) in vectors {
            assert_eq!(found, scalar, "{arch:?}");
        }
    }
}
