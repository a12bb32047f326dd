//! The softmax of rows.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, unary};
use burn::backend::tensor::FloatTensor;
use burn::backend::{DispatchTensor, TensorMetadata};
use burn::tensor::{Tensor, activation};
use pulp::Arch;
use rayon::prelude::*;

use super::autodiff::{on_tape, parts, record};
use super::vector::{block_of_rows, sum};
use crate::device::{Host, OnHost, Reach};

/// Turns the rows along the last axis into probabilities: `exp(x) / Σ exp(x)`.
pub(crate) fn softmax<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    softmax_on_tape(&x).unwrap_or_else(|| activation::softmax(x, D - 1))
}

/// Does so by one step of the tape; `None` where Burn's own is to be taken.
pub(super) fn softmax_on_tape<const D: usize>(x: &Tensor<D>) -> Option<Tensor<D>> {
    on_tape(x, || Softmax(x.clone()))
}

struct Softmax<const D: usize>(Tensor<D>);

impl<const D: usize> OnHost for Softmax<D> {
    type Output = Option<Tensor<D>>;

    fn call<B: Host>(self) -> Option<Tensor<D>>
    where
        DispatchTensor: Reach<B>,
    {
        let (x, node) = parts::<B, D>(self.0)?;
        let output = B::softmax(x, D - 1);
        Some(record(Back, [node], output.clone(), output))
    }
}

/// The way back: `∂x = p ∘ (∂p − ⟨∂p, p⟩)` for every row.
#[derive(Debug)]
struct Back;

impl<B: Host> Backward<B, 1> for Back {
    /// The probabilities.
    type State = FloatTensor<B>;

    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let output = ops.state;
        unary::<B, _>(ops.parents, ops.node, gradients, |of_output| {
            let shape = output.shape();
            let width = shape[shape.num_dims() - 1];
            let (output, of_output) = (B::numbers(&output), B::numbers(&of_output));
            B::make(shape, |of_x| gradient(&output, &of_output, of_x, width))
        });
    }
}

/// Writes the gradient of what rows of so many probabilities are made of.
fn gradient(output: &[f32], of_output: &[f32], of_x: &mut [f32], width: usize) {
    let arch = Arch::new();
    let block = block_of_rows(width);
    of_x.par_chunks_mut(block)
        .zip(output.par_chunks(block).zip(of_output.par_chunks(block)))
        .for_each(|(of_x, (output, of_output))| {
            arch.dispatch(|| {
                let rows = output.chunks(width).zip(of_output.chunks(width));
                for (of_x, (output, of_output)) in of_x.chunks_mut(width).zip(rows) {
                    gradient_of_row(output, of_output, of_x);
                }
            });
        });
}

#[inline(always)]
fn gradient_of_row(output: &[f32], of_output: &[f32], of_x: &mut [f32]) {
    let product = sum([output, of_output], |[p, of_p]| p * of_p);
    for (of_x, (p, of_p)) in of_x.iter_mut().zip(output.iter().zip(of_output)) {
        *of_x = p * (of_p - product);
    }
}
