//! Publishes the mean of chosen checkpoints of a run as a model (§6.1).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use burn::module::Module;
use burn::tensor::Device;
use transformer_core::Transformer;
use transformer_core::directory::{ModelDirectory, check_link};

use super::finetune::with_adapters;
use super::folder::RunFolder;
use crate::checkpoint::{
    Publisher, SavedState, average, checkpoints_with_intact_weights, last_of, of_interval,
};
use crate::config::Experiment;
use crate::error::TrainError;
use crate::optim::ema;
use crate::progress::LogFn;
use crate::validation::best;

/// The checkpoints of a run that are averaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointChoice {
    /// The last ones; only damaged ones are skipped.
    Last(usize),
    /// The best ones by `training.best_by`, among those that the run has kept.
    Best(usize),
    /// Those after these numbers of updates.
    Updates(Vec<u64>),
}

/// The parameters of a checkpoint, under the names used in training.
#[derive(Module, Debug)]
struct Weights {
    model: Transformer,
    ema: Option<Transformer>,
}

/// Writes the mean of checkpoints of the run in the folder `run` as a model directory, and returns their numbers of
/// updates in ascending order. In a run with `ema_decay` the moving averages are averaged. Damaged checkpoints are
/// skipped and logged.
///
/// # Errors
///
/// Returns a [`TrainError`] for a folder without a run, for missing checkpoints, and for an `out` that exists.
pub fn average_checkpoints(
    run: &Path,
    choice: &CheckpointChoice,
    out: &Path,
    device: &Device,
    log: &LogFn,
) -> Result<Vec<u64>, TrainError> {
    let folder = RunFolder::new(run);
    let experiment = folder.experiment()?;
    check_link(out).map_err(TrainError::link(out))?;
    if out.exists() {
        let path = out.to_owned();
        return Err(TrainError::FolderExists { path });
    }
    let states: BTreeMap<u64, SavedState> =
        checkpoints_with_intact_weights(&folder.checkpoints, log)
            .into_iter()
            .filter_map(|n_updates| {
                let state = SavedState::of(&folder.checkpoints, n_updates);
                Some((n_updates, state.ok()?))
            })
            .collect();
    let updates = chosen(&states, choice, &experiment, run)?;
    let published = ModelDirectory::open(&folder.model)?;
    let newest = updates.last().map(|n_updates| &states[n_updates]);
    let trained_with = folder.trained_with(newest)?;
    #[expect(clippy::disallowed_methods, reason = "all weights are replaced")]
    let model = published.config().init(device)?;
    let model = with_adapters(model, &trained_with.adapters, None);
    let ema = trained_with.training.ema_decay.map(|_| ema::copy(&model));
    let Weights { model, ema } = average(&folder.checkpoints, &updates, &Weights { model, ema })?;
    let publisher = Publisher {
        directory: out.to_owned(),
        config: published.config().clone(),
        tokenizers: published.tokenizers().clone(),
        training: training_of(&published, newest),
    };
    let scores = serde_json::json!({
        "updates": updates.last(),
        "averaged_updates": updates,
    });
    publisher.publish(ema.unwrap_or(model), scores)?;
    Ok(updates)
}

/// Returns the published model's description of its training, with the settings of a checkpoint and their earlier
/// changes.
fn training_of(published: &ModelDirectory, newest: Option<&SavedState>) -> serde_json::Value {
    let mut training = published.manifest().training.clone();
    if let (Some(state), Some(training)) = (newest, training.as_object_mut()) {
        training.insert("experiment".to_owned(), state.experiment.as_str().into());
        training.remove("changes");
        if !state.changes.is_empty() {
            training.insert("changes".to_owned(), serde_json::json!(state.changes));
        }
    }
    training
}

fn chosen(
    states: &BTreeMap<u64, SavedState>,
    choice: &CheckpointChoice,
    experiment: &Experiment,
    run: &Path,
) -> Result<Vec<u64>, TrainError> {
    let training = &experiment.training;
    let path = run.to_owned();
    let all: Vec<u64> = states.keys().copied().collect();
    let (mut chosen, requested, existing) = match choice {
        CheckpointChoice::Last(n) => {
            let last = last_of(&all, *n, training).to_vec();
            (last.clone(), *n, last)
        }
        CheckpointChoice::Best(n) => {
            let validations = states.values().last().map(|state| &state.validations[..]);
            let validations = validations.unwrap_or_default();
            let ranked = best(validations, training.best_by, validations.len());
            let kept_of = |interval| of_interval(&all, interval, training);
            let kept = ranked.into_iter().filter_map(kept_of);
            (kept.take(*n).collect(), *n, all)
        }
        CheckpointChoice::Updates(updates) => {
            let distinct: BTreeSet<u64> = updates.iter().copied().collect();
            if let Some(&update) = distinct.iter().find(|update| !states.contains_key(update)) {
                let existing = all;
                return Err(TrainError::NoSuchCheckpoint {
                    path,
                    update,
                    existing,
                });
            }
            (distinct.iter().copied().collect(), distinct.len(), all)
        }
    };
    if chosen.is_empty() || chosen.len() < requested {
        return Err(TrainError::TooFewCheckpoints {
            path,
            requested,
            existing,
        });
    }
    chosen.sort_unstable();
    Ok(chosen)
}
