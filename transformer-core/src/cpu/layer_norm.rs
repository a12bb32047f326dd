//! Layer normalization with closed-form gradients.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use burn::backend::tensor::FloatTensor;
use burn::backend::{DispatchTensor, TensorMetadata};
use burn::tensor::{Shape, Tensor};
use pulp::NullaryFnOnce;
use rayon::prelude::*;
use transformer_kernels::{block_len, instruction_set, sum};

use super::autodiff::{primitive_and_node, record, run_with_autodiff};
use crate::device::{CpuBackend, CpuOp, DispatchTo};

/// Normalizes along the last axis: `(x − mean) / √(variance + ε) ∘ γ + β`.
///
/// Returns `None` for a tensor without autodiff, or if the caller has to fall back to Burn.
///
/// # Shapes
///
/// - `x`: `[..., width]`
/// - `gamma`, `beta`: `[width]`
/// - returns: `[..., width]`
pub(crate) fn layer_norm<const D: usize>(
    x: &Tensor<D>,
    gamma: &Tensor<1>,
    beta: &Tensor<1>,
    epsilon: f64,
) -> Option<Tensor<D>> {
    run_with_autodiff(x, || LayerNorm {
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

impl<const D: usize> CpuOp for LayerNorm<D> {
    type Output = Option<Tensor<D>>;

    fn run<B: CpuBackend>(self) -> Option<Tensor<D>>
    where
        DispatchTensor: DispatchTo<B>,
    {
        let epsilon = self.epsilon;
        let (x, x_node) = primitive_and_node::<B, D>(self.x)?;
        let (gamma, gamma_node) = primitive_and_node::<B, 1>(self.gamma)?;
        let (beta, beta_node) = primitive_and_node::<B, 1>(self.beta)?;
        let output = B::layer_norm(x.clone(), gamma.clone(), Some(beta), epsilon);
        let state = State::<B> { x, gamma, epsilon };
        let nodes = [x_node, gamma_node, beta_node];
        Some(record(LayerNormBackward, nodes, state, output))
    }
}

#[derive(Debug)]
struct LayerNormBackward;

#[derive(Clone, Debug)]
struct State<B: CpuBackend> {
    x: FloatTensor<B>,
    gamma: FloatTensor<B>,
    epsilon: f64,
}

impl<B: CpuBackend> Backward<B, 3> for LayerNormBackward {
    type State = State<B>;

    fn backward(self, ops: Ops<State<B>, 3>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let State { x, gamma, epsilon } = ops.state;
        let d_output = gradients.consume::<B>(&ops.node);
        let mut d_gamma_beta = Vec::new();
        let d_x = B::create(x.shape(), |d_x| {
            let (x, gamma) = (B::values(&x), B::values(&gamma));
            d_gamma_beta = write_gradient(&x, &B::values(&d_output), &gamma, epsilon, d_x);
        });
        let (d_gamma, d_beta) = d_gamma_beta.split_at(d_gamma_beta.len() / 2);
        let vector = |values: &[f32]| {
            B::create(Shape::from([values.len()]), |vector| {
                vector.copy_from_slice(values);
            })
        };
        let inputs = [d_x, vector(d_gamma), vector(d_beta)];
        for (parent, gradient) in ops.parents.into_iter().zip(inputs) {
            if let Some(parent) = parent {
                gradients.register::<B>(parent.id, gradient);
            }
        }
    }
}

/// Writes the gradient of `x`, and returns the gradients of `γ` and `β` in one vector.
fn write_gradient(
    x: &[f32],
    d_output: &[f32],
    gamma: &[f32],
    epsilon: f64,
    d_x: &mut [f32],
) -> Vec<f32> {
    let arch = instruction_set();
    let width = gamma.len();
    let block = block_len(width);
    let block_sums: Vec<Vec<f32>> = d_x
        .par_chunks_mut(block)
        .zip(x.par_chunks(block).zip(d_output.par_chunks(block)))
        .map(|(d_x, (x, d_output))| {
            let mut d_gamma_beta = vec![0.0; 2 * width];
            let (d_gamma, d_beta) = d_gamma_beta.split_at_mut(width);
            arch.dispatch(WriteGradient {
                x,
                d_output,
                gamma,
                epsilon,
                d_x,
                d_gamma,
                d_beta,
            });
            d_gamma_beta
        })
        .collect();
    // Blocks do not depend on the number of threads, and so neither does the order of this sum.
    let mut total = vec![0.0; 2 * width];
    for block_sum in block_sums {
        for (total, value) in total.iter_mut().zip(block_sum) {
            *total += value;
        }
    }
    total
}

struct WriteGradient<'a> {
    x: &'a [f32],
    d_output: &'a [f32],
    gamma: &'a [f32],
    epsilon: f64,
    d_x: &'a mut [f32],
    d_gamma: &'a mut [f32],
    d_beta: &'a mut [f32],
}

impl NullaryFnOnce for WriteGradient<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let width = self.gamma.len();
        let rows = self.x.chunks(width).zip(self.d_output.chunks(width));
        for (d_x, (x, d_output)) in self.d_x.chunks_mut(width).zip(rows) {
            let row = Row {
                x,
                d_output,
                gamma: self.gamma,
                epsilon: self.epsilon,
            };
            row.write_gradient(d_x, self.d_gamma, self.d_beta);
        }
    }
}

/// One row of the input, and the gradient of its output.
struct Row<'a> {
    x: &'a [f32],
    d_output: &'a [f32],
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
    fn write_gradient(&self, d_x: &mut [f32], d_gamma: &mut [f32], d_beta: &mut [f32]) {
        let Row {
            x,
            d_output,
            gamma,
            epsilon,
        } = *self;
        let share = (x.len() as f32).recip();
        let mean = sum([x], |[x]| x) * share;
        let variance = sum([x], |[x]| (x - mean) * (x - mean)) * share;
        let factor = (f64::from(variance) + epsilon).sqrt().recip() as f32;
        let normalized = d_x;
        for (normalized, x) in normalized.iter_mut().zip(x) {
            *normalized = (x - mean) * factor;
        }
        let mean_g = sum([d_output, gamma], |[d_y, gamma]| d_y * gamma) * share;
        let mean_gn = sum([d_output, gamma, normalized], |[d_y, gamma, n]| {
            d_y * gamma * n
        }) * share;
        let d_vectors = d_gamma.iter_mut().zip(d_beta);
        let features = normalized.iter_mut().zip(d_output.iter().zip(gamma));
        for ((d_gamma, d_beta), (normalized, (d_y, gamma))) in d_vectors.zip(features) {
            let n = *normalized;
            *d_gamma += d_y * n;
            *d_beta += d_y;
            *normalized = (d_y * gamma - mean_g - n * mean_gn) * factor;
        }
    }
}
