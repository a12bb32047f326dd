//! What stands in for `libtorch.rs` where libtorch is not compiled in.

use burn::tensor::Tensor;

/// Says whether [`change_in_place`] can reach the numbers of a tensor: never, without libtorch.
pub fn is_changeable<const D: usize>(_: &Tensor<D>) -> bool {
    false
}

/// Has libtorch compute on this thread alone: nothing, without it.
pub fn stay_on_this_thread() {}

/// Changes tensors of libtorch where they lie.
///
/// # Panics
///
/// Panics, for there are no such tensors.
pub fn change_in_place<const D: usize, const N: usize>(
    _: [Tensor<D>; N],
    _: Tensor<D>,
    _: impl FnOnce([&mut [f32]; N], &[f32]),
) -> [Tensor<D>; N] {
    panic!("libtorch is not compiled in");
}
