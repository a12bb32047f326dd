//! Parameter ids derived from parameter names, so that files of equal weights are equal.

use burn::module::{Module, ModuleMapper, Param, ParamId};
use burn::tensor::{Int, Tensor};
use sha2::{Digest, Sha256};

use crate::model::Transformer;

/// Gives every parameter of a model an id that is a hash of its name.
///
/// Burn draws ids at random and writes them into a record beside the values; without this, two files of the same
/// weights would differ.
#[must_use]
pub fn with_named_ids(model: Transformer) -> Transformer {
    model.map(&mut NamedIds { path: Vec::new() })
}

/// Replaces ids of parameters by hashes of their names.
struct NamedIds {
    path: Vec<String>,
}

impl NamedIds {
    fn id(&self) -> ParamId {
        let hash = Sha256::digest(self.path.join("."));
        let first = hash.iter().take(8);
        ParamId::from(first.fold(0, |id: u64, &byte| id << 8 | u64::from(byte)))
    }
}

impl ModuleMapper for NamedIds {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (_, tensor, mapper) = param.consume();
        Param::from_mapped_value(self.id(), tensor, mapper)
    }

    fn map_int<const D: usize>(&mut self, param: Param<Tensor<D, Int>>) -> Param<Tensor<D, Int>> {
        let (_, tensor, mapper) = param.consume();
        Param::from_mapped_value(self.id(), tensor, mapper)
    }
}
