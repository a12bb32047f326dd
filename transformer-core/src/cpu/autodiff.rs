//! Runs kernels, and records them as single steps of Burn's autodiff graph.

use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::ops::{Backward, NodeGuard, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, DispatchTensor};
use burn::tensor::Tensor;

use super::supports;
use crate::device::{CpuBackend, CpuOp, DispatchTo, run_on_cpu};

/// Runs a kernel on a [supported](supports) tensor that is not empty; `None`: fall back to Burn.
pub(super) fn run<const D: usize, O, T>(x: &Tensor<D>, operation: impl FnOnce() -> O) -> Option<T>
where
    O: CpuOp<Output = Option<T>>,
{
    // Checked before `operation` collects its inputs, because it may read tensors, but not from a GPU.
    let is_supported = supports(x) && x.shape().num_elements() > 0;
    match is_supported {
        true => run_on_cpu(&x.device(), operation()).flatten(),
        false => None,
    }
}

/// Like [`run`], for a tensor with autodiff; `None` for one without.
pub(super) fn run_with_autodiff<const D: usize, O, T>(
    x: &Tensor<D>,
    operation: impl FnOnce() -> O,
) -> Option<T>
where
    O: CpuOp<Output = Option<T>>,
{
    x.device()
        .is_autodiff()
        .then(|| run(x, operation))
        .flatten()
}

/// Returns the backend's tensor of a tensor without autodiff; `None` if it has autodiff or is on another backend.
pub(super) fn primitive<B: CpuBackend, const D: usize>(tensor: Tensor<D>) -> Option<FloatTensor<B>>
where
    DispatchTensor: DispatchTo<B>,
{
    tensor.try_into_primitive::<B>().ok()
}

/// Returns the backend's tensor of a tensor with autodiff, and its node of the graph; `None` if it
/// is on another backend or uses gradient checkpointing.
pub(super) fn primitive_and_node<B: CpuBackend, const D: usize>(
    tensor: Tensor<D>,
) -> Option<(FloatTensor<B>, NodeGuard)>
where
    DispatchTensor: DispatchTo<B>,
{
    let tensor = tensor.try_into_primitive::<Autodiff<B>>().ok()?;
    Some(tensor.into_parts())
}

/// Records a step that computed `output` from `nodes`; its backward pass gets `state`.
pub(super) fn record<B: CpuBackend, S, const N: usize, const D: usize>(
    step: S,
    nodes: [NodeGuard; N],
    state: S::State,
    output: FloatTensor<B>,
) -> Tensor<D>
where
    S: Backward<B, N>,
    DispatchTensor: DispatchTo<B>,
{
    let step = step.prepare::<NoCheckpointing>(nodes).compute_bound();
    let output = match step.stateful() {
        OpsKind::Tracked(step) => step.finish(state, output),
        OpsKind::UnTracked(step) => step.finish(output),
    };
    Tensor::from_primitive::<Autodiff<B>>(output)
}
