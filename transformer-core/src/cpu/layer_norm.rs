//! Layer normalization (Ba et al. 2016, <https://arxiv.org/abs/1607.06450>).

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use burn::backend::tensor::FloatTensor;
use burn::backend::{DispatchTensor, TensorMetadata};
use burn::tensor::{Shape, Tensor, module};
use pulp::Arch;
use rayon::prelude::*;

use super::autodiff::{on_tape, parts, record};
use super::vector::{block_of_rows, sum};
use crate::device::{Host, OnHost, Reach};

/// Normalizes the rows along the last axis: `(x − mean) / √(variance + ε) ∘ γ + β`.
///
/// # Shapes
///
/// - `x`: `[..., width]`
/// - `gamma`, `beta`: `[width]`
/// - returns: `[..., width]`
///
/// # Panics
///
/// Panics if the shapes do not fit together.
pub(crate) fn layer_norm<const D: usize>(
    x: Tensor<D>,
    gamma: Tensor<1>,
    beta: Tensor<1>,
    epsilon: f64,
) -> Tensor<D> {
    assert_eq!(
        gamma.dims(),
        [x.dims()[D - 1]],
        "a normalization is as wide as what it normalizes"
    );
    layer_norm_on_tape(&x, &gamma, &beta, epsilon)
        .unwrap_or_else(|| module::layer_norm(x, gamma, Some(beta), epsilon))
}

/// Does so by one step of the tape; `None` where Burn's own is to be taken.
pub(super) fn layer_norm_on_tape<const D: usize>(
    x: &Tensor<D>,
    gamma: &Tensor<1>,
    beta: &Tensor<1>,
    epsilon: f64,
) -> Option<Tensor<D>> {
    on_tape(x, || LayerNorm {
        x: x.clone(),
        gamma: gamma.clone(),
        beta: beta.clone(),
        epsilon,
    })
}

struct LayerNorm<const D: usize> {
    x: Tensor<D>,
    gamma: Tensor<1>,
    beta: Tensor<1>,
    epsilon: f64,
}

impl<const D: usize> OnHost for LayerNorm<D> {
    type Output = Option<Tensor<D>>;

    fn call<B: Host>(self) -> Option<Tensor<D>>
    where
        DispatchTensor: Reach<B>,
    {
        let epsilon = self.epsilon;
        let (x, of_x) = parts::<B, D>(self.x)?;
        let (gamma, of_gamma) = parts::<B, 1>(self.gamma)?;
        let (beta, of_beta) = parts::<B, 1>(self.beta)?;
        let output = B::layer_norm(x.clone(), gamma.clone(), Some(beta), epsilon);
        let state = State::<B> { x, gamma, epsilon };
        Some(record(Back, [of_x, of_gamma, of_beta], state, output))
    }
}

/// The way back.
#[derive(Debug)]
struct Back;

/// Holds what it needs.
#[derive(Clone, Debug)]
struct State<B: Host> {
    x: FloatTensor<B>,
    gamma: FloatTensor<B>,
    epsilon: f64,
}

impl<B: Host> Backward<B, 3> for Back {
    type State = State<B>;

    fn backward(self, ops: Ops<State<B>, 3>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let State { x, gamma, epsilon } = ops.state;
        let of_output = gradients.consume::<B>(&ops.node);
        let mut of_vectors = Vec::new();
        let of_x = B::make(x.shape(), |of_x| {
            let (x, gamma) = (B::numbers(&x), B::numbers(&gamma));
            of_vectors = gradient(&x, &B::numbers(&of_output), &gamma, epsilon, of_x);
        });
        let (of_gamma, of_beta) = of_vectors.split_at(of_vectors.len() / 2);
        let vector = |numbers: &[f32]| {
            B::make(Shape::from([numbers.len()]), |vector| {
                vector.copy_from_slice(numbers);
            })
        };
        let all = [of_x, vector(of_gamma), vector(of_beta)];
        for (parent, gradient) in ops.parents.into_iter().zip(all) {
            if let Some(parent) = parent {
                gradients.register::<B>(parent.id, gradient);
            }
        }
    }
}

/// Writes the gradient of the rows, and returns that of `γ` and, behind it, of `β`.
fn gradient(
    x: &[f32],
    of_output: &[f32],
    gamma: &[f32],
    epsilon: f64,
    of_x: &mut [f32],
) -> Vec<f32> {
    let arch = Arch::new();
    let width = gamma.len();
    let block = block_of_rows(width);
    let of_blocks: Vec<Vec<f32>> = of_x
        .par_chunks_mut(block)
        .zip(x.par_chunks(block).zip(of_output.par_chunks(block)))
        .map(|(of_x, (x, of_output))| {
            let mut of_vectors = vec![0.0; 2 * width];
            let (of_gamma, of_beta) = of_vectors.split_at_mut(width);
            arch.dispatch(|| {
                let rows = x.chunks(width).zip(of_output.chunks(width));
                for (of_x, (x, of_output)) in of_x.chunks_mut(width).zip(rows) {
                    let row = Row {
                        x,
                        of_output,
                        gamma,
                        epsilon,
                    };
                    row.differentiate(of_x, of_gamma, of_beta);
                }
            });
            of_vectors
        })
        .collect();
    // Blocks are the same whoever computed them, and so are their sums.
    let mut total = vec![0.0; 2 * width];
    for of_vectors in of_blocks {
        for (total, of_block) in total.iter_mut().zip(of_vectors) {
            *total += of_block;
        }
    }
    total
}

/// One row, and the gradient of what became of it.
struct Row<'a> {
    x: &'a [f32],
    of_output: &'a [f32],
    gamma: &'a [f32],
    epsilon: f64,
}

impl Row<'_> {
    /// Writes `∂x`, and adds to `∂γ` and `∂β`; with the normalized row `n` and `g = ∂y ∘ γ`,
    ///
    /// ```text
    /// ∂γ = Σ ∂y ∘ n      ∂β = Σ ∂y      ∂x = (g − mean(g) − n · mean(g ∘ n)) / √(variance + ε)
    /// ```
    #[inline(always)]
    fn differentiate(&self, of_x: &mut [f32], of_gamma: &mut [f32], of_beta: &mut [f32]) {
        let Row {
            x,
            of_output,
            gamma,
            epsilon,
        } = *self;
        let share = (x.len() as f32).recip();
        let mean = sum([x], |[x]| x) * share;
        let variance = sum([x], |[x]| (x - mean) * (x - mean)) * share;
        let factor = (f64::from(variance) + epsilon).sqrt().recip() as f32;
        let normalized = of_x;
        for (normalized, x) in normalized.iter_mut().zip(x) {
            *normalized = (x - mean) * factor;
        }
        let mean_g = sum([of_output, gamma], |[of_y, gamma]| of_y * gamma) * share;
        let mean_gn = sum([of_output, gamma, normalized], |[of_y, gamma, n]| {
            of_y * gamma * n
        }) * share;
        let of_vectors = of_gamma.iter_mut().zip(of_beta);
        let rows = normalized.iter_mut().zip(of_output.iter().zip(gamma));
        for ((of_gamma, of_beta), (normalized, (of_y, gamma))) in of_vectors.zip(rows) {
            let n = *normalized;
            *of_gamma += of_y * n;
            *of_beta += of_y;
            *normalized = (of_y * gamma - mean_g - n * mean_gn) * factor;
        }
    }
}
