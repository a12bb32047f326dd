//! [`CpuBackend`] for ndarray.

#![expect(
    deprecated,
    reason = "Burn 0.22 is the last release with the ndarray backend"
)]

use std::borrow::Cow;

use burn::backend::NdArray;
use burn::backend::ndarray::NdArrayTensor;

use super::CpuBackend;

impl CpuBackend for NdArray {
    fn values(tensor: &NdArrayTensor) -> Cow<'_, [f32]> {
        let NdArrayTensor::F32(storage) = tensor else {
            panic!("the elements are f32");
        };
        let view = storage.view();
        match view.to_slice() {
            Some(values) => Cow::Borrowed(values),
            None => view.iter().copied().collect(),
        }
    }
}
