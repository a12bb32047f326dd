//! How an operation gets at numbers, and comes onto the tape as one step.

use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::ops::{Backward, NodeGuard, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, DispatchTensor};
use burn::tensor::{DType, Tensor};

use crate::device::{self, Host, OnHost, Reach};

/// Puts a step of ours onto the tape of a tensor; `None` where Burn's is to be taken.
pub(super) fn on_tape<const D: usize, S, O>(x: &Tensor<D>, step: impl FnOnce() -> S) -> Option<O>
where
    S: OnHost<Output = Option<O>>,
{
    x.device().is_autodiff().then(|| at_once(x, step)).flatten()
}

/// Computes something of a tensor whose numbers lie in the computer's memory, in single precision; `None` where they do
/// not, and Burn's is to be taken.
pub(super) fn at_once<const D: usize, S, O>(
    x: &Tensor<D>,
    operation: impl FnOnce() -> S,
) -> Option<O>
where
    S: OnHost<Output = Option<O>>,
{
    let device = x.device();
    // Asked first: what an operation is told may have to be read, and is not to be read from a GPU.
    let is_for_us =
        device::is_in_memory(&device) && x.dtype() == DType::F32 && x.shape().num_elements() > 0;
    if !is_for_us {
        return None;
    }
    device::on_host(&device, operation()).flatten()
}

/// Returns what a tensor without a tape is on `B`; `None` if it is of another backend, or has a tape.
pub(super) fn plain<B: Host, const D: usize>(tensor: Tensor<D>) -> Option<FloatTensor<B>>
where
    DispatchTensor: Reach<B>,
{
    tensor.try_into_primitive::<B>().ok()
}

/// Returns what a tensor is on `B` and its node of the tape; `None` if it is of another backend, or if its tape is one
/// that computes again what it did not keep.
pub(super) fn parts<B: Host, const D: usize>(
    tensor: Tensor<D>,
) -> Option<(FloatTensor<B>, NodeGuard)>
where
    DispatchTensor: Reach<B>,
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
    DispatchTensor: Reach<B>,
{
    let step = step.prepare::<NoCheckpointing>(nodes).compute_bound();
    let output = match step.stateful() {
        OpsKind::Tracked(step) => step.finish(state, output),
        OpsKind::UnTracked(step) => step.finish(output),
    };
    Tensor::from_primitive::<Autodiff<B>>(output)
}
