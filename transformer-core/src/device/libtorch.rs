//! [`CpuBackend`] for libtorch, updates of its tensors in place, and its threads.

#![expect(
    deprecated,
    reason = "Burn 0.22 is the last release with the libtorch backend"
)]

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::{Mutex, PoisonError};
use std::thread;

use burn::backend::libtorch::{LibTorchDevice, TchTensor};
use burn::backend::ops::FloatTensorOps;
use burn::backend::{LibTorch, TensorMetadata};
use burn::tensor::{DType, FloatDType, Shape, Tensor};

use super::CpuBackend;

impl CpuBackend for LibTorch {
    fn values(tensor: &TchTensor) -> Cow<'_, [f32]> {
        assert_f32_on_cpu(tensor);
        match tensor.tensor.is_contiguous() {
            true => Cow::Borrowed(as_slice(tensor)),
            false => Cow::Owned(as_slice(&contiguous(tensor.clone())).to_vec()),
        }
    }

    fn create(shape: Shape, write: impl FnOnce(&mut [f32])) -> TchTensor {
        let mut tensor = Self::float_zeros(shape, &LibTorchDevice::Cpu, FloatDType::F32);
        write(as_mut_slice(&mut tensor));
        tensor
    }
}

/// Returns whether [`update_libtorch`] can update the tensor: `f32` on libtorch's CPU device.
pub(crate) fn is_libtorch_cpu<const D: usize>(tensor: &Tensor<D>) -> bool {
    if tensor.dtype() != DType::F32 {
        return false;
    }
    let primitive = tensor.clone().try_into_primitive::<LibTorch>();
    primitive.is_ok_and(|it| matches!(it.device(), LibTorchDevice::Cpu))
}

/// Updates tensors in place: `update` gets the elements of all tensors in row-major order.
///
/// A tensor that shares its memory with another is copied first.
///
/// # Panics
///
/// Panics if a tensor is not [on libtorch's CPU](is_libtorch_cpu).
pub(crate) fn update_libtorch<const D: usize, const N: usize>(
    updated: [Tensor<D>; N],
    read: Tensor<D>,
    update: impl FnOnce([&mut [f32]; N], &[f32]),
) -> [Tensor<D>; N] {
    let mut updated = updated.map(|tensor| into_unique(primitive(tensor)));
    let read = contiguous(primitive(read));
    update(updated.each_mut().map(as_mut_slice), as_slice(&read));
    updated.map(Tensor::from_primitive::<LibTorch>)
}

/// Limits the libtorch operations of this thread to this thread, so that several threads can share the cores.
///
/// Flex and ndarray compute on the rayon pool of the calling thread. Libtorch instead has a number of threads for each
/// calling thread, which this function sets to one. A second call on the same thread does nothing. Threads that first
/// use libtorch while this function runs may be limited too.
pub fn limit_libtorch_to_one_thread() {
    thread_local! {
        static IS_LIMITED: Cell<bool> = const { Cell::new(false) };
    }
    if IS_LIMITED.get() {
        return;
    }
    // The default that is read, set and restored below is process-wide.
    static DEFAULT: Mutex<()> = Mutex::new(());
    let _guard = DEFAULT.lock().unwrap_or_else(PoisonError::into_inner);
    // Reading initializes the number of this thread; otherwise libtorch would do so later, and overwrite the one below.
    let n_threads = tch::get_num_threads();
    tch::set_num_threads(1);
    // The last number that any thread sets is the default of new threads.
    let restored = thread::spawn(move || tch::set_num_threads(n_threads)).join();
    restored.expect("libtorch accepts the number that it returned");
    IS_LIMITED.set(true);
}

fn primitive<const D: usize>(tensor: Tensor<D>) -> TchTensor {
    let primitive = tensor.try_into_primitive::<LibTorch>();
    let primitive = primitive.expect("the tensor is on libtorch");
    assert_f32_on_cpu(&primitive);
    primitive
}

/// Checks that the tensor's pointer can be read as `f32` in CPU memory.
fn assert_f32_on_cpu(tensor: &TchTensor) {
    assert_eq!(tensor.dtype(), DType::F32, "the elements are f32");
    assert!(
        matches!(tensor.device(), LibTorchDevice::Cpu),
        "the tensor is in CPU memory"
    );
}

/// Returns the tensor with its elements contiguous in row-major order.
fn contiguous(tensor: TchTensor) -> TchTensor {
    match tensor.tensor.is_contiguous() {
        true => tensor,
        false => TchTensor::new(tensor.tensor.contiguous()),
    }
}

/// Returns a contiguous tensor that shares its memory with no other: this one, or a copy.
fn into_unique(tensor: TchTensor) -> TchTensor {
    if !tensor.tensor.is_contiguous() {
        return contiguous(tensor);
    }
    match tensor.can_mut() {
        true => tensor,
        false => TchTensor::new(tensor.tensor.copy()),
    }
}

/// Borrows the elements of a tensor that [`into_unique`] returned, or that was just created.
#[expect(unsafe_code, reason = "libtorch gives a pointer, and no slice")]
fn as_mut_slice(tensor: &mut TchTensor) -> &mut [f32] {
    let tensor = &mut tensor.tensor;
    if tensor.numel() == 0 {
        // Its pointer is null.
        return &mut [];
    }
    // SAFETY: the tensor is contiguous, has `numel` elements of `f32`, and shares its memory with no other tensor.
    unsafe { std::slice::from_raw_parts_mut(tensor.data_ptr().cast(), tensor.numel()) }
}

/// Borrows the elements of a contiguous `f32` tensor in CPU memory.
#[expect(unsafe_code, reason = "libtorch gives a pointer, and no slice")]
fn as_slice(tensor: &TchTensor) -> &[f32] {
    let tensor = &tensor.tensor;
    if tensor.numel() == 0 {
        return &[];
    }
    // SAFETY: the tensor is contiguous, has `numel` elements of `f32`, and is not written to during the borrow.
    unsafe { std::slice::from_raw_parts(tensor.data_ptr().cast(), tensor.numel()) }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    fn values(tensor: &Tensor<2>) -> Vec<f32> {
        tensor.clone().into_data().iter::<f32>().collect()
    }

    #[test]
    fn an_update_changes_its_tensors_and_not_those_that_share_their_memory() {
        let device = Device::libtorch();
        let tensor = |rows: [[f32; 3]; 2]| Tensor::<2>::from_floats(rows, &device);
        let unique = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        let shared = tensor([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]]);
        let alias = shared.clone();
        // Not contiguous.
        let read =
            Tensor::<2>::from_floats([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]], &device).transpose();
        assert!(is_libtorch_cpu(&unique) && is_libtorch_cpu(&read));
        let [unique, shared] = update_libtorch([unique, shared], read, |[unique, shared], read| {
            for ((unique, shared), read) in unique.iter_mut().zip(shared).zip(read) {
                *unique -= read;
                *shared += read;
            }
        });
        assert_eq!(values(&unique), [0.0; 6]);
        assert_eq!(values(&shared), [11.0, 22.0, 33.0, 44.0, 55.0, 66.0]);
        assert_eq!(values(&alias), [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
    }

    #[test]
    fn limiting_one_thread_does_not_limit_the_others() {
        let n_threads = || {
            thread::spawn(tch::get_num_threads)
                .join()
                .expect("libtorch returns its number of threads")
        };
        let before = n_threads();
        let limited = thread::spawn(|| {
            limit_libtorch_to_one_thread();
            tch::get_num_threads()
        });
        assert_eq!(limited.join().expect("libtorch accepts the number"), 1);
        assert_eq!(n_threads(), before);
    }

    #[test]
    fn an_empty_tensor_is_an_empty_slice() {
        let empty = Tensor::<2>::zeros([0, 3], &Device::libtorch());
        let [updated] = update_libtorch([empty.clone()], empty, |[updated], read| {
            assert!(updated.is_empty() && read.is_empty());
        });
        assert_eq!(updated.dims(), [0, 3]);
    }
}
