//! Models and tensors of random values that no other test can change; parameters of a model by name, and their
//! gradients.
//!
//! Initial weights are drawn from a generator that all threads of a process share, so in a test they are others in each
//! run. The unit tests of all crates, too, take theirs from here.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};
use transformer_core::random::{SplitMix64, hash};
use transformer_core::{Transformer, TransformerConfig};

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

/// Returns a model with random weights, including biases and gains.
pub(crate) fn random_model(config: &TransformerConfig, device: &Device, seed: u32) -> Transformer {
    // Examples may call it, and have this file, too.
    #[allow(clippy::disallowed_methods, reason = "all weights are replaced")]
    let model = config.init(&device.clone().inner());
    let model = fill(model.expect("the config is valid"), seed);
    match device.is_autodiff() {
        true => model.train(),
        false => model,
    }
}

/// Replaces all weights by random values, which depend on their names and the seed alone: gains between 0.5 and 1.5,
/// the others between −0.5 and 0.5.
pub(crate) fn fill<M: Module>(model: M, seed: u32) -> M {
    rewrite(model, |name, entry| {
        let seed_of_name = |seed, byte| hash(seed, u64::from(byte));
        let mut random = SplitMix64::new(name.bytes().fold(seed.into(), seed_of_name));
        let mean = if name.ends_with("gamma") { 1.0 } else { 0.0 };
        let values = entry.values.iter();
        values.map(|_| mean + centered(&mut random)).collect()
    })
}

/// Returns a tensor of random values between −0.5 and 0.5.
pub(crate) fn tensor<const D: usize>(
    shape: [usize; D],
    random: &mut SplitMix64,
    device: &Device,
) -> Tensor<D> {
    let values = (0..shape.iter().product()).map(|_| centered(random));
    Tensor::from_data(TensorData::new(values.collect(), shape), device)
}

/// Returns a random number between −0.5 and 0.5.
pub(crate) fn centered(random: &mut SplitMix64) -> f32 {
    random.uniform() as f32 - 0.5
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
