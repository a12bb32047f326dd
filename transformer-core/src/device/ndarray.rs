//! The ndarray crate's tensors as the numbers that they are.

#![expect(deprecated, reason = "Burn's ndarray backend is, as a whole")]

use std::borrow::Cow;

use burn::backend::NdArray;
use burn::backend::ndarray::NdArrayTensor;

use super::cpu_memory::Host;

impl Host for NdArray {
    fn numbers(tensor: &NdArrayTensor) -> Cow<'_, [f32]> {
        let NdArrayTensor::F32(storage) = tensor else {
            panic!("the numbers are of single precision");
        };
        let numbers = storage.view();
        match numbers.to_slice() {
            Some(numbers) => Cow::Borrowed(numbers),
            None => numbers.iter().copied().collect(),
        }
    }
}
