//! Functions shared by the tests of adapters and of trained tokens.

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Int, Tensor, TensorData};

use super::Transformer;
use crate::packed::Workspace;
use crate::{ComputePrecision, PackedTransformer, Padded, device};

pub(super) fn test_device() -> Device {
    let requested = std::env::var("BURN_DEVICE").ok();
    let chosen = device::choose(requested.as_deref());
    chosen.expect("tests are built with a backend").1
}

/// Returns the model with new values, `value(index, old)`, of the trained parameters with these names.
pub(super) fn with_values(
    model: Transformer,
    names: &[&str],
    value: impl Fn(usize, f32) -> f32,
) -> Transformer {
    let name = String::new();
    model.map(&mut Values { names, name, value })
}

struct Values<'a, F> {
    names: &'a [&'a str],
    /// The name of the visited parameter.
    name: String,
    value: F,
}

impl<F: Fn(usize, f32) -> f32> ModuleMapper for Values<'_, F> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        name.clone_into(&mut self.name);
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if !self.names.contains(&self.name.as_str()) {
            return param;
        }
        let moved = param.map(|old| {
            let (shape, device) = (old.shape(), old.device());
            let old = old.into_data();
            let values = old.iter::<f32>().enumerate();
            let values: Vec<f32> = values.map(|(i, old)| (self.value)(i, old)).collect();
            Tensor::from_data(TensorData::new(values, shape), &device)
        });
        moved.set_require_grad(true)
    }
}

pub(super) fn logits(model: &Transformer) -> Vec<f32> {
    let device = model.device();
    let src = Padded::new(&[vec![4, 5, 6, 12], vec![7]], &device);
    let tgt = Tensor::<2, Int>::from_data([[2, 8, 9], [2, 9, 4]], &device);
    let logits = model.forward(&src, tgt).into_data();
    logits.iter::<f32>().collect()
}

/// Returns logits of the model after packing it for translation.
pub(super) fn packed_logits(model: &Transformer) -> Vec<f32> {
    let packed = PackedTransformer::of(model, ComputePrecision::F32);
    let mut workspace = Workspace::new();
    let mut state = packed.begin(&[[4, 5, 6]], &mut workspace);
    packed.step(&mut state, &[2], &mut workspace).to_vec()
}
