//! Libtorch's tensors as the numbers that they are, where those lie in the computer's memory.

#![expect(deprecated, reason = "Burn's libtorch backend is, as a whole")]

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::{Mutex, PoisonError};
use std::thread;

use burn::backend::libtorch::{LibTorchDevice, TchTensor};
use burn::backend::ops::FloatTensorOps;
use burn::backend::{LibTorch, TensorMetadata};
use burn::tensor::{DType, FloatDType, Shape, Tensor};

use super::cpu_memory::Host;

impl Host for LibTorch {
    fn numbers(tensor: &TchTensor) -> Cow<'_, [f32]> {
        assert_is_ours(tensor);
        match tensor.tensor.is_contiguous() {
            true => Cow::Borrowed(numbers_of(tensor)),
            false => Cow::Owned(numbers_of(&row_by_row(tensor.clone())).to_vec()),
        }
    }

    fn make(shape: Shape, write: impl FnOnce(&mut [f32])) -> TchTensor {
        let mut tensor = Self::float_zeros(shape, &LibTorchDevice::Cpu, FloatDType::F32);
        write(numbers(&mut tensor));
        tensor
    }
}

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

/// Has libtorch compute on this thread alone what this thread asks of it, for threads that share the cores among them.
///
/// The other backends in the computer's memory compute on the rayon pool that they are called in. Libtorch has a number of
/// threads for each thread that calls it. A second call of the same thread does nothing. Threads that call it for the first time meanwhile may get one, too.
pub fn stay_on_this_thread() {
    thread_local! {
        static IS_ALONE: Cell<bool> = const { Cell::new(false) };
    }
    if IS_ALONE.get() {
        return;
    }
    // What is asked for, set and set back is one number of the whole process.
    static NUMBER: Mutex<()> = Mutex::new(());
    let _alone = NUMBER.lock().unwrap_or_else(PoisonError::into_inner);
    // To ask gives this thread a number, which otherwise it would get later, in place of the one below.
    let n_threads = tch::get_num_threads();
    tch::set_num_threads(1);
    // What was set last is what threads to come begin with.
    let restored = thread::spawn(move || tch::set_num_threads(n_threads)).join();
    restored.expect("libtorch takes the number that it gave");
    IS_ALONE.set(true);
}

fn primitive<const D: usize>(tensor: Tensor<D>) -> TchTensor {
    let primitive = tensor.try_into_primitive::<LibTorch>();
    let primitive = primitive.expect("the tensor is libtorch's");
    assert_is_ours(&primitive);
    primitive
}

/// Checks that a pointer to the tensor's numbers can be used here.
fn assert_is_ours(tensor: &TchTensor) {
    assert_eq!(
        tensor.dtype(),
        DType::F32,
        "the numbers are of single precision"
    );
    assert!(
        matches!(tensor.device(), LibTorchDevice::Cpu),
        "the tensor lies in the computer's memory"
    );
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

/// Returns the numbers of a tensor that [`own`] returned, or that was made here.
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

/// Returns the numbers of a tensor in the computer's memory, of single precision, that lie one behind the other.
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
    fn a_thread_that_stays_alone_leaves_the_others_theirs() {
        let n_threads = || {
            thread::spawn(tch::get_num_threads)
                .join()
                .expect("libtorch says it")
        };
        let before = n_threads();
        let alone = thread::spawn(|| {
            stay_on_this_thread();
            tch::get_num_threads()
        });
        assert_eq!(alone.join().expect("libtorch takes the number"), 1);
        assert_eq!(n_threads(), before);
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
