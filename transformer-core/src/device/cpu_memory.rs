//! Backends whose tensors are numbers in the computer's memory.

use std::borrow::Cow;

use burn::backend::tensor::FloatTensor;
use burn::backend::{self, Autodiff, DispatchKindConversion, DispatchTensor};
use burn::tensor::{Device, Shape, TensorData};

use super::Backend;
use super::backend::is_backend;

/// Says whether the device's tensors live in the computer's memory and are computed on by the threads
/// that call.
pub fn is_host(device: &Device) -> bool {
    let hosts = [Backend::Flex, Backend::NdArray];
    hosts.into_iter().any(|host| is_backend(device, host))
}

/// Says whether the device's tensors live in the computer's memory, whoever computes on them.
pub fn is_in_memory(device: &Device) -> bool {
    is_host(device) || is_backend(device, Backend::Tch)
}

/// Computes on the backend of a device whose numbers lie in the computer's memory; `None` if they lie elsewhere.
#[cfg_attr(
    any(feature = "ndarray", feature = "tch"),
    expect(
        deprecated,
        reason = "Burn 0.22 is the last release with these two backends"
    )
)]
pub(crate) fn on_host<C: OnHost>(device: &Device, computation: C) -> Option<C::Output> {
    #[cfg(feature = "flex")]
    if is_backend(device, Backend::Flex) {
        return Some(computation.call::<burn::backend::Flex>());
    }
    #[cfg(feature = "ndarray")]
    if is_backend(device, Backend::NdArray) {
        return Some(computation.call::<burn::backend::NdArray>());
    }
    #[cfg(feature = "tch")]
    if is_backend(device, Backend::Tch) {
        return Some(computation.call::<burn::backend::LibTorch>());
    }
    let _ = (device, computation);
    None
}

/// Gives the numbers of a backend's tensors where they lie.
pub(crate) trait Host: backend::Backend {
    /// Returns the numbers of a tensor of single precision, row by row: where they lie, or a copy if they lie otherwise.
    ///
    /// # Panics
    ///
    /// Panics if the tensor is of another precision, or not in the computer's memory.
    fn numbers(tensor: &FloatTensor<Self>) -> Cow<'_, [f32]>;

    /// Makes a tensor of single precision, of numbers that a function writes, row by row, over zeros.
    fn make(shape: Shape, write: impl FnOnce(&mut [f32])) -> FloatTensor<Self> {
        let mut numbers = vec![0.0; shape.num_elements()];
        write(&mut numbers);
        Self::float_from_data(TensorData::new(numbers, shape), &Self::Device::default())
    }
}

/// A computation on one of these backends.
pub(crate) trait OnHost {
    /// What it returns.
    type Output;

    /// Computes on `B`.
    fn call<B: Host>(self) -> Self::Output
    where
        DispatchTensor: Reach<B>;
}

/// Says that tensors of Burn can be one of a backend's, with a tape or without.
pub(crate) trait Reach<B: backend::Backend>:
    DispatchKindConversion<B> + DispatchKindConversion<Autodiff<B>>
{
}

impl<B: backend::Backend, T> Reach<B> for T where
    T: DispatchKindConversion<B> + DispatchKindConversion<Autodiff<B>>
{
}
