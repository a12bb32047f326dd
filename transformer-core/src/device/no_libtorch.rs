//! The functions of `libtorch.rs` in a program without libtorch.

use burn::tensor::Tensor;

/// Returns whether the tensor is on libtorch's CPU: never, without libtorch.
pub(crate) fn is_libtorch_cpu<const D: usize>(_: &Tensor<D>) -> bool {
    false
}

/// Limits libtorch to the calling thread: does nothing, without libtorch.
pub fn limit_libtorch_to_one_thread() {}

/// Updates libtorch tensors in place.
///
/// # Panics
///
/// Panics: no tensor passes [`is_libtorch_cpu`].
pub(crate) fn update_libtorch<const D: usize, const N: usize>(
    _: [Tensor<D>; N],
    _: Tensor<D>,
    _: impl FnOnce([&mut [f32]; N], &[f32]),
) -> [Tensor<D>; N] {
    panic!("libtorch is not compiled in");
}
