//! The mean of the weights of several checkpoints (§6.1, "averaging the last 5 checkpoints").

use std::path::Path;

use burn::module::Module;

use super::files::{MODEL, part_name};
use super::fit::load;
use crate::error::TrainError;
use crate::optim::ema::combine;

/// Returns the mean of the weights of checkpoints, given by their numbers of updates, of which there is at least one.
///
/// `template` is a module with parameters of the same names. Adapters are merged first, because the mean of products is
/// not the product of means.
pub(crate) fn average<M: Module>(
    checkpoints: &Path,
    updates: &[u64],
    template: &M,
) -> Result<M, TrainError> {
    let load = |n_updates: &u64| {
        let path = checkpoints.join(part_name(MODEL, *n_updates));
        Ok::<M, TrainError>(load(template, &path)?.materialize())
    };
    let (first, others) = updates.split_first().expect("a mean has a checkpoint");
    let mut sum = load(first)?;
    for n_updates in others {
        sum = combine(sum, &load(n_updates)?, |sum, weights| sum + weights);
    }
    let factor = 1.0 / updates.len() as f64;
    Ok(combine(sum.clone(), &sum, |sum, _| sum * factor))
}
