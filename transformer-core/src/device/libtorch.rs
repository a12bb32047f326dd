//! Libtorch's tensors as the numbers that they are, where those lie in the computer's memory.

#![expect(deprecated, reason = "Burn's libtorch backend is, as a whole")]

use burn::backend::libtorch::{LibTorchDevice, TchTensor};
use burn::backend::{LibTorch, TensorMetadata};
use burn::tensor::{DType, Tensor};

/// Says whether [`change_in_place`] can reach the numbers of a tensor: single precision, on libtorch's CPU.
///
/// The other backends give their numbers by `into_data`, without a copy where they lie in the computer's memory.
pub fn is_changeable<const D: usize>(tensor: &Tensor<D>) -> bool {
    if tensor.dtype() != DType::F32 {
        return false;
    }
    let primitive = tensor.clone().try_into_primitive::<LibTorch>();
    primitive.is_ok_and(|it| matches!(it.device(), LibTorchDevice::Cpu))
}

/// Changes tensors where they lie: `change` gets the numbers of `changed` and those of `read`, row by row.
///
/// What somebody else holds, too, is copied before.
///
/// # Panics
///
/// Panics if a tensor is not [changeable](is_changeable).
pub fn change_in_place<const D: usize, const N: usize>(
    changed: [Tensor<D>; N],
    read: Tensor<D>,
    change: impl FnOnce([&mut [f32]; N], &[f32]),
) -> [Tensor<D>; N] {
    let mut changed = changed.map(|tensor| own(primitive(tensor)));
    let read = row_by_row(primitive(read));
    change(changed.each_mut().map(numbers), numbers_of(&read));
    changed.map(Tensor::from_primitive::<LibTorch>)
}

fn primitive<const D: usize>(tensor: Tensor<D>) -> TchTensor {
    assert_eq!(
        tensor.dtype(),
        DType::F32,
        "the numbers are of single precision"
    );
    let primitive = tensor.try_into_primitive::<LibTorch>();
    let primitive = primitive.expect("the tensor is libtorch's");
    assert!(
        matches!(primitive.device(), LibTorchDevice::Cpu),
        "the tensor lies in the computer's memory"
    );
    primitive
}

/// Returns the tensor with its numbers one behind the other.
fn row_by_row(tensor: TchTensor) -> TchTensor {
    match tensor.tensor.is_contiguous() {
        true => tensor,
        false => TchTensor::new(tensor.tensor.contiguous()),
    }
}

/// Returns a tensor that may be written to: this one, or a copy if somebody else holds its memory.
fn own(tensor: TchTensor) -> TchTensor {
    if !tensor.tensor.is_contiguous() {
        return row_by_row(tensor);
    }
    match tensor.can_mut() {
        true => tensor,
        false => TchTensor::new(tensor.tensor.copy()),
    }
}

/// Returns the numbers of a tensor that [`own`] returned.
#[expect(unsafe_code, reason = "libtorch gives a pointer, and no slice")]
fn numbers(tensor: &mut TchTensor) -> &mut [f32] {
    let tensor = &mut tensor.tensor;
    if tensor.numel() == 0 {
        // Its pointer is null.
        return &mut [];
    }
    // SAFETY: so many numbers of this type lie there one behind the other, and nobody else holds them.
    unsafe { std::slice::from_raw_parts_mut(tensor.data_ptr().cast(), tensor.numel()) }
}

/// Returns the numbers of a tensor that [`row_by_row`] returned.
#[expect(unsafe_code, reason = "libtorch gives a pointer, and no slice")]
fn numbers_of(tensor: &TchTensor) -> &[f32] {
    let tensor = &tensor.tensor;
    if tensor.numel() == 0 {
        return &[];
    }
    // SAFETY: so many numbers of this type lie there one behind the other, and nobody writes to them meanwhile.
    unsafe { std::slice::from_raw_parts(tensor.data_ptr().cast(), tensor.numel()) }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    fn numbers(tensor: &Tensor<2>) -> Vec<f32> {
        tensor.clone().into_data().iter::<f32>().collect()
    }

    #[test]
    fn tensors_are_changed_and_what_others_hold_is_not() {
        let device = Device::libtorch();
        let tensor = |rows: [[f32; 3]; 2]| Tensor::<2>::from_floats(rows, &device);
        let mine = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        let shared = tensor([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]]);
        let keeper = shared.clone();
        // Its numbers lie by columns.
        let read =
            Tensor::<2>::from_floats([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]], &device).transpose();
        assert!(is_changeable(&mine) && is_changeable(&read));
        let [mine, shared] = change_in_place([mine, shared], read, |[mine, shared], read| {
            for ((mine, shared), read) in mine.iter_mut().zip(shared).zip(read) {
                *mine -= read;
                *shared += read;
            }
        });
        assert_eq!(numbers(&mine), [0.0; 6]);
        assert_eq!(numbers(&shared), [11.0, 22.0, 33.0, 44.0, 55.0, 66.0]);
        assert_eq!(numbers(&keeper), [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
    }

    #[test]
    fn tensors_without_numbers_are_empty_slices() {
        let empty = Tensor::<2>::zeros([0, 3], &Device::libtorch());
        let [changed] = change_in_place([empty.clone()], empty, |[changed], read| {
            assert!(changed.is_empty() && read.is_empty());
        });
        assert_eq!(changed.dims(), [0, 3]);
    }
}
