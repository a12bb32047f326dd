//! Reads and replaces the parameters of a model by name, and reads their gradients.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};
use transformer_core::Transformer;

/// The shape of a parameter and its values in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f32>,
}

/// Replaces the values of every parameter by those that `rewrite` returns for its name and entry.
///
/// The model must be without autodiff; [`Module::train`] moves the result to an autodiff device.
pub(crate) fn rewrite<M: Module>(model: M, rewrite: impl FnMut(&str, Entry) -> Vec<f32>) -> M {
    model.map(&mut Rewrite {
        path: Vec::new(),
        rewrite,
    })
}

/// Replaces all weights by random values: gains between 0.5 and 1.5, the others between −0.5 and 0.5.
pub(crate) fn fill(model: Transformer, seed: u32) -> Transformer {
    let mut random = RandomValues { state: seed };
    rewrite(model, |name, entry| {
        let mean = if name.ends_with("gamma") { 1.0 } else { 0.0 };
        entry.values.iter().map(|_| mean + random.next()).collect()
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
    let read = gradients_of_used(model, gradients);
    assert_eq!(
        read.len(),
        weights(model).len(),
        "the loss depends on every parameter"
    );
    read
}

/// Returns the gradient of every parameter that the loss depends on.
pub(crate) fn gradients_of_used(
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
        values: tensor.into_data().iter::<f32>().collect(),
    }
}

/// A generator of values between −0.5 and 0.5, the same on every machine.
pub(crate) struct RandomValues {
    pub(crate) state: u32,
}

impl RandomValues {
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
            let values = (self.rewrite)(&self.path.join("."), entry(tensor));
            Tensor::from_data(TensorData::new(values, shape), &device)
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
            Some(gradients) => match gradients.get::<D>(param.id) {
                Some(gradient) => gradient,
                None => return,
            },
        };
        let before = self.entries.insert(name, entry(tensor));
        assert_eq!(before, None, "two parameters have one name");
    }
}
