//! Backends with tensors in CPU memory, and the way in which [kernels](crate::cpu) run on them.

use std::borrow::Cow;

use burn::backend::tensor::FloatTensor;
use burn::backend::{self, Autodiff, DispatchKindConversion, DispatchTensor};
use burn::tensor::{Device, Shape, TensorData};

use super::Backend;
use super::backend::is_backend;

/// Returns whether the device is one of the CPU backends written in Rust, flex and ndarray.
///
/// They compute on the calling thread and its rayon pool, and give the same bits in every run.
pub fn is_rust_cpu(device: &Device) -> bool {
    let backends = [Backend::Flex, Backend::NdArray];
    backends
        .into_iter()
        .any(|backend| is_backend(device, backend))
}

/// Returns whether the device's tensors are in CPU memory: on flex, ndarray and libtorch.
pub fn is_cpu_memory(device: &Device) -> bool {
    is_rust_cpu(device) || is_backend(device, Backend::Tch)
}

/// A backend with tensors in CPU memory.
pub(crate) trait CpuBackend: backend::Backend {
    /// Returns the elements of an `f32` tensor in row-major order: borrowed if the tensor is contiguous, otherwise
    /// copied.
    ///
    /// # Panics
    ///
    /// Panics if the tensor has another element type, or is not in CPU memory.
    fn values(tensor: &FloatTensor<Self>) -> Cow<'_, [f32]>;

    /// Creates a contiguous `f32` tensor. `write` gets its elements in row-major order, all zero.
    fn create(shape: Shape, write: impl FnOnce(&mut [f32])) -> FloatTensor<Self> {
        let mut values = vec![0.0; shape.num_elements()];
        write(&mut values);
        Self::float_from_data(TensorData::new(values, shape), &Self::Device::default())
    }
}

/// An operation that runs on any [`CpuBackend`].
pub(crate) trait CpuOp {
    type Output;

    #[cfg_attr(
        not(any(feature = "flex", feature = "ndarray", feature = "tch")),
        expect(dead_code, reason = "only these backends have tensors in CPU memory")
    )]
    fn run<B: CpuBackend>(self) -> Self::Output
    where
        DispatchTensor: DispatchTo<B>;
}

/// Runs an operation on the backend of a device in CPU memory; `None` on other devices.
#[cfg_attr(
    any(feature = "ndarray", feature = "tch"),
    expect(
        deprecated,
        reason = "Burn 0.22 is the last release with these two backends"
    )
)]
pub(crate) fn run_on_cpu<O: CpuOp>(device: &Device, operation: O) -> Option<O::Output> {
    #[cfg(feature = "flex")]
    if is_backend(device, Backend::Flex) {
        return Some(operation.run::<burn::backend::Flex>());
    }
    #[cfg(feature = "ndarray")]
    if is_backend(device, Backend::NdArray) {
        return Some(operation.run::<burn::backend::NdArray>());
    }
    #[cfg(feature = "tch")]
    if is_backend(device, Backend::Tch) {
        return Some(operation.run::<burn::backend::LibTorch>());
    }
    let _ = (device, operation);
    None
}

/// States that Burn's dispatched tensors convert to the tensors of `B`, with and without autodiff.
pub(crate) trait DispatchTo<B: backend::Backend>:
    DispatchKindConversion<B> + DispatchKindConversion<Autodiff<B>>
{
}

impl<B: backend::Backend, T> DispatchTo<B> for T where
    T: DispatchKindConversion<B> + DispatchKindConversion<Autodiff<B>>
{
}
