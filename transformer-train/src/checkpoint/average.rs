//! The mean of the weights of several checkpoints (§6.1, "averaging the last 5 checkpoints").

use std::collections::HashMap;
use std::path::Path;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::Tensor;

use super::files::{MODEL, part_name};
use super::fit::load;
use crate::error::TrainError;

/// Returns the mean of the weights of checkpoints, given by their numbers of updates.
///
/// `template` is a module with parameters of the same names. Adapters are merged first, because the mean of products is
/// not the product of means.
pub(crate) fn average<M: Module>(
    checkpoints: &Path,
    updates: &[u64],
    template: &M,
) -> Result<M, TrainError> {
    let mut sums = ParameterSums(HashMap::new());
    let mut last = template.clone();
    for &n_updates in updates {
        last = load(template, &checkpoints.join(part_name(MODEL, n_updates)))?.materialize();
        last.visit(&mut sums);
    }
    let factor = 1.0 / updates.len() as f64;
    Ok(last.map(&mut ToMean {
        sums: sums.0,
        factor,
    }))
}

/// Sums every parameter over the modules visited.
struct ParameterSums(HashMap<ParamId, Tensor<1>>);

impl ModuleVisitor for ParameterSums {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let n_elements = param.val().shape().num_elements();
        let values = param.val().reshape([n_elements]);
        let sum = match self.0.remove(&param.id) {
            Some(sum) => sum + values,
            None => values,
        };
        self.0.insert(param.id, sum);
    }
}

/// Replaces every parameter by its mean.
struct ToMean {
    sums: HashMap<ParamId, Tensor<1>>,
    factor: f64,
}

impl ModuleMapper for ToMean {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        match self.sums.remove(&param.id) {
            Some(sum) => param.map(|tensor| (sum * self.factor).reshape(tensor.shape())),
            None => param,
        }
    }
}
