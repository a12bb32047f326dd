//! [`CpuBackend`] for flex.

use std::borrow::Cow;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;

use super::CpuBackend;

impl CpuBackend for Flex {
    fn values(tensor: &FlexTensor) -> Cow<'_, [f32]> {
        if let Some(values) = tensor.as_slice() {
            return Cow::Borrowed(values);
        }
        let tensor = tensor.to_contiguous();
        let values = tensor.as_slice().expect("the elements are f32");
        Cow::Owned(values.to_vec())
    }
}
