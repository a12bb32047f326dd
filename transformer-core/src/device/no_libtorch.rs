//! The functions of `libtorch.rs` in a program without libtorch.

use burn::tensor::Tensor;

/// Returns `false`: without libtorch no tensor is on its CPU.
pub(crate) fn is_libtorch_cpu<const D: usize>(_: &Tensor<D>) -> bool {
    false
}

/// Does nothing; in a program with libtorch, it limits operations of the calling thread to that thread.
pub fn limit_libtorch_to_one_thread() {}

/// Never called, because [`is_libtorch_cpu`] returns `false`.
///
/// # Panics
///
/// Always panics.
pub(crate) fn update_libtorch<const D: usize, const N: usize>(
    _: [Tensor<D>; N],
    _: Tensor<D>,
    _: impl FnOnce([&mut [f32]; N], &[f32]),
) -> [Tensor<D>; N] {
    panic!("libtorch is not compiled in");
}
