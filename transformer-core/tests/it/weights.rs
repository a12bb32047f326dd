//! Parameters by name: written, read, and their gradients.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};
use transformer_core::Transformer;

/// A parameter's shape and its numbers in row order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) shape: Vec<usize>,
    pub(crate) numbers: Vec<f32>,
}

/// Replaces every parameter by what the function makes of its name and present value.
///
/// The model must not be in training; [`Module::train`] takes the result there.
pub(crate) fn rewrite<M: Module>(model: M, rewrite: impl FnMut(&str, Entry) -> Vec<f32>) -> M {
    model.map(&mut Rewrite {
        path: Vec::new(),
        rewrite,
    })
}

/// Draws all weights: gains between 0.5 and 1.5, the others between −0.5 and 0.5.
pub(crate) fn fill(model: Transformer, seed: u32) -> Transformer {
    let mut numbers = Numbers { state: seed };
    rewrite(model, |name, entry| {
        let mean = if name.ends_with("gamma") { 1.0 } else { 0.0 };
        entry
            .numbers
            .iter()
            .map(|_| mean + numbers.next())
            .collect()
    })
}

/// Returns every parameter.
pub(crate) fn weights(model: &impl Module) -> BTreeMap<String, Entry> {
    read(model, None)
}

/// Returns the gradient of every parameter.
pub(crate) fn gradients(
    model: &impl Module,
    gradients: &GradientsParams,
) -> BTreeMap<String, Entry> {
    read(model, Some(gradients))
}

fn read(model: &impl Module, gradients: Option<&GradientsParams>) -> BTreeMap<String, Entry> {
    let mut read = Read {
        path: Vec::new(),
        gradients,
        entries: BTreeMap::new(),
    };
    model.visit(&mut read);
    read.entries
}

fn entry<const D: usize>(tensor: Tensor<D>) -> Entry {
    Entry {
        shape: tensor.dims().to_vec(),
        numbers: tensor.into_data().iter::<f32>().collect(),
    }
}

/// Random numbers between −0.5 and 0.5, the same on every machine.
pub(crate) struct Numbers {
    pub(crate) state: u32,
}

impl Numbers {
    pub(crate) fn next(&mut self) -> f32 {
        // A linear congruential generator: its upper bits are random enough for weights.
        self.state = self
            .state
            .wrapping_mul(1_664_525)
            .wrapping_add(1_013_904_223);
        (self.state >> 8) as f32 / (1 << 24) as f32 - 0.5
    }
}

struct Rewrite<F> {
    path: Vec<String>,
    rewrite: F,
}

impl<F: FnMut(&str, Entry) -> Vec<f32>> ModuleMapper for Rewrite<F> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|tensor| {
            let (shape, device) = (tensor.shape(), tensor.device());
            let numbers = (self.rewrite)(&self.path.join("."), entry(tensor));
            Tensor::from_data(TensorData::new(numbers, shape), &device)
        })
    }
}

struct Read<'a> {
    path: Vec<String>,
    gradients: Option<&'a GradientsParams>,
    entries: BTreeMap<String, Entry>,
}

impl ModuleVisitor for Read<'_> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let name = self.path.join(".");
        let tensor = match self.gradients {
            None => param.val(),
            Some(gradients) => gradients
                .get::<D>(param.id)
                .expect("the loss depends on every parameter"),
        };
        let before = self.entries.insert(name, entry(tensor));
        assert_eq!(before, None, "two parameters have one name");
    }
}
