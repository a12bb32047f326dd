//! Flex's tensors as the numbers that they are.

use std::borrow::Cow;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;

use super::cpu_memory::Host;

impl Host for Flex {
    fn numbers(tensor: &FlexTensor) -> Cow<'_, [f32]> {
        if let Some(numbers) = tensor.as_slice() {
            return Cow::Borrowed(numbers);
        }
        let tensor = tensor.to_contiguous();
        let numbers = tensor
            .as_slice()
            .expect("the numbers are of single precision");
        Cow::Owned(numbers.to_vec())
    }
}
