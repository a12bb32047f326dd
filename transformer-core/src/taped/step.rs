//! How a step comes onto the tape.

use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::ops::{Backward, NodeGuard, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, DispatchKindConversion, DispatchTensor};
use burn::tensor::{DType, Tensor};

use crate::device::{self, Host, OnHost};

/// Puts a step of ours onto the tape of a tensor; `None` where Burn's is to be taken.
pub(super) fn on_tape<const D: usize, S, O>(x: &Tensor<D>, step: impl FnOnce() -> S) -> Option<O>
where
    S: OnHost<Output = Option<O>>,
{
    let device = x.device();
    let is_for_us = device.is_autodiff() && x.dtype() == DType::F32 && x.shape().num_elements() > 0;
    if !is_for_us {
        return None;
    }
    device::on_host(&device, step()).flatten()
}

/// Returns what a tensor is on `B` and its node of the tape; `None` if it is of another backend, or if its tape is one
/// that computes again what it did not keep.
pub(super) fn parts<B: Host, const D: usize>(
    tensor: Tensor<D>,
) -> Option<(FloatTensor<B>, NodeGuard)>
where
    DispatchTensor: DispatchKindConversion<Autodiff<B>>,
{
    let tensor = tensor.try_into_primitive::<Autodiff<B>>().ok()?;
    Some(tensor.into_parts())
}

/// Records that a step made `output` of the nodes' tensors; the way back gets `state`.
pub(super) fn record<B: Host, S, const N: usize, const D: usize>(
    step: S,
    nodes: [NodeGuard; N],
    state: S::State,
    output: FloatTensor<B>,
) -> Tensor<D>
where
    S: Backward<B, N>,
    DispatchTensor: DispatchKindConversion<Autodiff<B>>,
{
    let step = step.prepare::<NoCheckpointing>(nodes).compute_bound();
    let output = match step.stateful() {
        OpsKind::Tracked(step) => step.finish(state, output),
        OpsKind::UnTracked(step) => step.finish(output),
    };
    Tensor::from_primitive::<Autodiff<B>>(output)
}
