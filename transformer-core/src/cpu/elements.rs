//! Access to the elements of tensors in CPU memory, and updates in place.

use burn::tensor::{DType, Tensor, TensorData};

use crate::device::{is_cpu_memory, is_libtorch_cpu, update_libtorch};

/// Returns whether the kernels support the tensor: `f32` elements in CPU memory.
pub fn supports<const D: usize>(tensor: &Tensor<D>) -> bool {
    tensor.dtype() == DType::F32 && is_cpu_memory(&tensor.device())
}

/// Updates tensors in one pass: `update` gets the elements of all tensors in row-major order.
///
/// The memory of `updated` is reused, unless it is shared with another tensor.
///
/// # Panics
///
/// Panics if the shapes differ, or a tensor is not [supported](supports).
///
/// # Example
///
/// ```
/// use burn::tensor::Tensor;
/// use transformer_core::{cpu, device};
///
/// let (_, device) = device::choose(Some("flex"))?;
/// let weights = Tensor::<1>::from_floats([1.0, 2.0], &device);
/// let gradient = Tensor::<1>::from_floats([4.0, -4.0], &device);
/// let [weights] = cpu::update_in_place([weights], gradient, |[weights], gradient| {
///     for (weight, gradient) in weights.iter_mut().zip(gradient) {
///         *weight -= 0.5 * gradient;
///     }
/// });
/// assert_eq!(weights.into_data().to_vec::<f32>().expect("elements are f32"), [-1.0, 4.0]);
/// # Ok::<(), device::DeviceError>(())
/// ```
pub fn update_in_place<const D: usize, const N: usize>(
    updated: [Tensor<D>; N],
    read: Tensor<D>,
    update: impl FnOnce([&mut [f32]; N], &[f32]),
) -> [Tensor<D>; N] {
    const IS_F32: &str = "the elements are f32";
    let shape = read.shape();
    assert!(
        updated.iter().all(|tensor| tensor.shape() == shape),
        "tensors that are updated together have one shape"
    );
    if is_libtorch_cpu(&read) {
        return update_libtorch(updated, read, update);
    }
    let device = read.device();
    let mut updated = updated.map(Tensor::into_data);
    let read = read.into_data();
    update(
        updated
            .each_mut()
            .map(|data| data.as_mut_slice().expect(IS_F32)),
        read.as_slice().expect(IS_F32),
    );
    let tensor = |data: TensorData| Tensor::from_data(data, (&device, DType::F32));
    updated.map(tensor)
}

/// Returns a contiguous copy of a tensor in CPU memory without gradients, which inference reads many times; other
/// tensors are returned unchanged.
pub(crate) fn contiguous_for_inference<const D: usize>(tensor: Tensor<D>) -> Tensor<D> {
    let device = tensor.device();
    if device.is_autodiff() || !is_cpu_memory(&device) {
        return tensor;
    }
    let shape = tensor.shape();
    // A tensor of one axis is contiguous.
    tensor.flatten::<1>(0, D - 1).reshape(shape)
}
