//! Backends whose tensors are numbers in the computer's memory.

use std::borrow::Cow;

use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, DispatchKindConversion, DispatchTensor};
use burn::tensor::{Shape, TensorData};

/// Gives the numbers of a backend's tensors where they lie.
pub(crate) trait Host: Backend {
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
pub(crate) trait Reach<B: Backend>:
    DispatchKindConversion<B> + DispatchKindConversion<Autodiff<B>>
{
}

impl<B: Backend, T> Reach<B> for T where
    T: DispatchKindConversion<B> + DispatchKindConversion<Autodiff<B>>
{
}
