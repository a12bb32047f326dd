//! The loss where tensors lie in the computer's memory: one buffer of logits, and one pass over each row of it.
//!
//! The backends' own operations would each take a pass over all logits of a slice, and a new tensor, which
//! flex writes three times over.

use burn::tensor::{DType, Device, Tensor, TensorData};
use pulp::Arch;
use rayon::prelude::*;
use transformer_core::cpu::gemm::{Matrix, Sum, multiply};
use transformer_core::device;

use super::row::Terms;
use super::{Gradients, Inputs, LossSums, slice_len};

/// Fewest rows for which it pays to call another thread.
const ROWS_PER_THREAD: usize = 8;

/// Says whether features lie where this module can compute with them.
pub(super) fn holds(features: &Tensor<2>) -> bool {
    features.dtype() == DType::F32 && device::is_in_memory(&features.device())
}

/// Holds what the tensors held, as numbers.
struct Numbers {
    /// `[n_tokens, d_model]`.
    features: Vec<f32>,
    /// `[vocab, d_model]`.
    weight: Vec<f32>,
    /// `[vocab]`.
    bias: Option<Vec<f32>>,
    /// `[n_tokens]`.
    labels: Vec<usize>,
    d_model: usize,
    vocab_size: usize,
}

impl Numbers {
    fn new(inputs: Inputs) -> Self {
        let Inputs {
            features,
            projection,
            labels,
            ..
        } = inputs;
        let [n_tokens, d_model] = features.dims();
        let [vocab_size, width] = projection.weight.dims();
        let biases = projection.bias.as_ref().map(|bias| bias.dims()[0]);
        assert_eq!(width, d_model, "the projection is as wide as the model");
        assert_eq!(labels.dims(), [n_tokens], "every token has one label");
        assert!(
            biases.is_none_or(|biases| biases == vocab_size),
            "every token of the vocabulary has one bias"
        );
        Self {
            features: numbers(features),
            weight: numbers(projection.weight),
            bias: projection.bias.map(numbers),
            labels: labels
                .into_data()
                .iter::<i64>()
                .map(|label| usize::try_from(label).expect("a token's id is not negative"))
                .collect(),
            d_model,
            vocab_size,
        }
    }

    /// Returns the rows of the features from one token to another.
    fn features(&self, start: usize, end: usize) -> Matrix<'_> {
        let numbers = &self.features[start * self.d_model..end * self.d_model];
        Matrix::new(numbers, [end - start, self.d_model])
    }

    fn weight(&self) -> Matrix<'_> {
        Matrix::new(&self.weight, [self.vocab_size, self.d_model])
    }
}

fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    let data = tensor.into_data();
    data.try_into_vec()
        .expect("the numbers are of single precision")
}

/// Computes the sums and, for a `scale`, the gradients.
pub(super) fn loss(inputs: Inputs) -> (LossSums, Option<Gradients>) {
    let [n_tokens, _] = inputs.features.dims();
    let len = slice_len(inputs.projection.vocab_size(), n_tokens, true);
    loss_in_slices(inputs, len)
}

/// Does so with the logits of `len` tokens at once.
fn loss_in_slices(inputs: Inputs, len: usize) -> (LossSums, Option<Gradients>) {
    let device = inputs.features.device();
    let (epsilon, scale) = (inputs.epsilon, inputs.scale);
    let numbers = Numbers::new(inputs);
    let (n_tokens, d_model, vocab_size) =
        (numbers.labels.len(), numbers.d_model, numbers.vocab_size);
    let mut gradients = scale.map(|_| GradientNumbers::zeros(&numbers));
    let terms = Terms { epsilon, scale };
    let arch = Arch::new();
    let bias = numbers.bias.as_deref();
    let mut buffer = vec![0.0; len * vocab_size];
    let (mut smoothed, mut nll) = (0.0, 0.0);
    for start in (0..n_tokens).step_by(len) {
        let end = n_tokens.min(start + len);
        let logits = &mut buffer[..(end - start) * vocab_size];
        let h = numbers.features(start, end);
        multiply(h, numbers.weight().transposed(), logits, Sum::Begins);
        let losses: Vec<[f64; 2]> = logits
            .par_chunks_mut(vocab_size)
            .zip(&numbers.labels[start..end])
            .with_min_len(ROWS_PER_THREAD)
            .map(|(row, &gold)| arch.dispatch(|| terms.of_row(row, bias, gold)))
            .collect();
        for [of_gold, of_all] in losses {
            nll += of_gold;
            smoothed += (1.0 - epsilon) * of_gold + epsilon * of_all;
        }
        if let Some(gradients) = &mut gradients {
            let logits = Matrix::new(logits, [end - start, vocab_size]);
            let of_features = &mut gradients.features[start * d_model..end * d_model];
            multiply(logits, numbers.weight(), of_features, Sum::Begins);
            multiply(logits.transposed(), h, &mut gradients.weight, Sum::GoesOn);
            if let Some(of_bias) = &mut gradients.bias {
                logits.add_rows_to(of_bias);
            }
        }
    }
    let scalar =
        |sum: f64| Tensor::from_data(TensorData::from([sum as f32]), (&device, DType::F32));
    let sums = LossSums {
        smoothed: scalar(smoothed),
        nll: scalar(nll),
    };
    (sums, gradients.map(|it| it.into_tensors(d_model, &device)))
}

/// Holds the gradients before they are tensors.
struct GradientNumbers {
    features: Vec<f32>,
    weight: Vec<f32>,
    bias: Option<Vec<f32>>,
}

impl GradientNumbers {
    fn zeros(numbers: &Numbers) -> Self {
        Self {
            features: vec![0.0; numbers.features.len()],
            weight: vec![0.0; numbers.weight.len()],
            bias: numbers.bias.as_ref().map(|bias| vec![0.0; bias.len()]),
        }
    }

    fn into_tensors(self, d_model: usize, device: &Device) -> Gradients {
        let single = (device, DType::F32);
        let matrix = |numbers: Vec<f32>| {
            let shape = [numbers.len() / d_model, d_model];
            Tensor::from_data(TensorData::new(numbers, shape), single)
        };
        let vector = |numbers: Vec<f32>| Tensor::from_data(&numbers[..], single);
        Gradients {
            features: matrix(self.features),
            weight: matrix(self.weight),
            bias: self.bias.map(vector),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::loss::{Projection, loss_by_tensors};

    /// Twenty tokens of a vocabulary that fills vectors, and leaves some over.
    fn loss_of_twenty(bias: bool, epsilon: f64, len: Option<usize>) -> (LossSums, Gradients) {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let numbers = |n: usize, factor: usize| -> Vec<f32> {
            (0..n)
                .map(|place| ((place * factor) % 211) as f32 / 100.0 - 1.0)
                .collect()
        };
        let matrix = |rows: usize, factor: usize| {
            Tensor::<2>::from_data(
                TensorData::new(numbers(rows * 9, factor), [rows, 9]),
                &device,
            )
        };
        let projection = Projection {
            weight: matrix(70, 13),
            bias: bias.then(|| Tensor::from_data(TensorData::new(numbers(70, 7), [70]), &device)),
        };
        let labels: Vec<i64> = (0..20).map(|token| (token * 11) % 70).collect();
        let labels = Tensor::from_data(TensorData::new(labels, [20]), &device);
        let features = matrix(20, 5);
        let inputs = Inputs {
            features,
            projection,
            labels,
            epsilon,
            scale: Some(0.5),
        };
        let (sums, gradients) = match len {
            Some(len) => loss_in_slices(inputs, len),
            None => loss_by_tensors(inputs),
        };
        (sums, gradients.expect("a scale asks for gradients"))
    }

    #[test]
    fn slices_of_any_length_give_the_loss_and_the_gradients_of_tensors() {
        let flat = |(sums, gradients): (LossSums, Gradients)| {
            let of = |tensor: Tensor<2>| tensor.into_data().iter::<f32>().collect::<Vec<_>>();
            let bias = gradients.bias.map(|bias| of(bias.unsqueeze()));
            [
                of(sums.nll.unsqueeze()),
                of(sums.smoothed.unsqueeze()),
                of(gradients.features),
                of(gradients.weight),
                bias.unwrap_or_default(),
            ]
        };
        for (bias, epsilon) in [(true, 0.1), (false, 0.1), (true, 0.0)] {
            let expected = flat(loss_of_twenty(bias, epsilon, None));
            for len in [1, 3, 20] {
                let found = flat(loss_of_twenty(bias, epsilon, Some(len)));
                for (found, expected) in found.iter().zip(&expected) {
                    assert_eq!(found.len(), expected.len());
                    // Single precision, beside the largest number.
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
    fn a_bias_of_another_vocabulary_is_refused() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let projection = Projection {
            weight: Tensor::zeros([5, 2], &device),
            bias: Some(Tensor::zeros([4], &device)),
        };
        let inputs = Inputs {
            features: Tensor::zeros([1, 2], &device),
            projection,
            labels: Tensor::from_data([0], &device),
            epsilon: 0.1,
            scale: None,
        };
        let _ = loss(inputs);
    }
}
