//! Softmax with a closed-form gradient.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, unary};
use burn::backend::tensor::FloatTensor;
use burn::backend::{DispatchTensor, TensorMetadata};
use burn::tensor::Tensor;
use pulp::NullaryFnOnce;
use rayon::prelude::*;
use transformer_kernels::{block_len, instruction_set, sum};

use super::autodiff::{primitive_and_node, record, run_with_autodiff};
use crate::device::{CpuBackend, CpuOp, DispatchTo};

/// Computes the softmax along the last axis, for tensors with autodiff; `None`: fall back to Burn.
pub(crate) fn softmax<const D: usize>(x: &Tensor<D>) -> Option<Tensor<D>> {
    run_with_autodiff(x, || Softmax(x.clone()))
}

struct Softmax<const D: usize>(Tensor<D>);

impl<const D: usize> CpuOp for Softmax<D> {
    type Output = Option<Tensor<D>>;

    fn run<B: CpuBackend>(self) -> Option<Tensor<D>>
    where
        DispatchTensor: DispatchTo<B>,
    {
        let (x, node) = primitive_and_node::<B, D>(self.0)?;
        let output = B::softmax(x, D - 1);
        Some(record(SoftmaxBackward, [node], output.clone(), output))
    }
}

/// The backward pass: `∂x = p ∘ (∂p − ⟨∂p, p⟩)` for every row.
#[derive(Debug)]
struct SoftmaxBackward;

impl<B: CpuBackend> Backward<B, 1> for SoftmaxBackward {
    type State = FloatTensor<B>;

    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let probs = ops.state;
        unary::<B, _>(ops.parents, ops.node, gradients, |d_probs| {
            let shape = probs.shape();
            let width = shape[shape.num_dims() - 1];
            let (probs, d_probs) = (B::values(&probs), B::values(&d_probs));
            B::create(shape, |d_x| write_gradient(&probs, &d_probs, d_x, width))
        });
    }
}

fn write_gradient(probs: &[f32], d_probs: &[f32], d_x: &mut [f32], width: usize) {
    let arch = instruction_set();
    let block = block_len(width);
    d_x.par_chunks_mut(block)
        .zip(probs.par_chunks(block).zip(d_probs.par_chunks(block)))
        .for_each(|(d_x, (probs, d_probs))| {
            arch.dispatch(WriteGradient {
                probs,
                d_probs,
                d_x,
                width,
            });
        });
}

struct WriteGradient<'a> {
    probs: &'a [f32],
    d_probs: &'a [f32],
    d_x: &'a mut [f32],
    width: usize,
}

impl NullaryFnOnce for WriteGradient<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let rows = self.probs.chunks(self.width);
        let rows = rows.zip(self.d_probs.chunks(self.width));
        for (d_x, (probs, d_probs)) in self.d_x.chunks_mut(self.width).zip(rows) {
            write_row_gradient(probs, d_probs, d_x);
        }
    }
}

#[inline(always)]
fn write_row_gradient(probs: &[f32], d_probs: &[f32], d_x: &mut [f32]) {
    let dot = sum([probs, d_probs], |[p, d_p]| p * d_p);
    for (d_x, (p, d_p)) in d_x.iter_mut().zip(probs.iter().zip(d_probs)) {
        *d_x = p * (d_p - dot);
    }
}
