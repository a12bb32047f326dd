//! The mean of chosen checkpoints of a run as a model (§6.1).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use burn::module::Module;
use burn::tensor::Device;
use transformer_core::Transformer;
use transformer_core::directory::ModelDirectory;

use crate::TrainError;
use crate::checkpoint::{Publisher, SavedState, average, last_of, with_whole_weights};
use crate::config::Experiment;
use crate::optim::ema;
use crate::progress::LogFn;
use crate::run::Folder;
use crate::validation::best;

/// Says which checkpoints of a run are averaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The last ones, of which none is left out but those that are not what was saved.
    Last(usize),
    /// The best ones by `training.best_by`, of those that the run has kept.
    Best(usize),
    /// Those after these numbers of updates.
    Updates(Vec<u64>),
}

/// Holds the parameters of a checkpoint, under the names that training gives them.
#[derive(Module, Debug)]
struct Weights {
    model: Transformer,
    ema: Option<Transformer>,
}

/// Writes the mean of checkpoints of the run in the folder `run` as a model directory, and returns the
/// numbers of updates after which they were, in order. Of a run with `ema_decay` it is the mean of the
/// averages. `say` is told of checkpoints that are passed over, as they are not what was saved.
///
/// # Errors
///
/// Returns a [`TrainError`] for a folder without a run, checkpoints that it does not have, and an `out`
/// that exists.
pub fn average_checkpoints(
    run: &Path,
    choice: &Choice,
    out: &Path,
    device: &Device,
    log: &LogFn,
) -> Result<Vec<u64>, TrainError> {
    let folder = Folder::new(run);
    let experiment = folder.experiment()?;
    if out.exists() {
        let path = out.to_owned();
        return Err(TrainError::FolderExists { path });
    }
    let states: BTreeMap<usize, SavedState> = with_whole_weights(&folder.checkpoints, log)
        .into_iter()
        .filter_map(|interval| {
            let state = SavedState::of(&folder.checkpoints, interval);
            Some((interval, state.ok()?))
        })
        .collect();
    let intervals = chosen(&states, choice, &experiment, run)?;
    let there = ModelDirectory::open(&folder.model)?;
    let model = there.config().init(device)?;
    let ema = experiment.training.ema_decay.map(|_| ema::copy(&model));
    let Weights { model, ema } = average(&folder.checkpoints, &intervals, &Weights { model, ema })?;
    let updates: Vec<u64> = intervals
        .iter()
        .map(|interval| states[interval].updates)
        .collect();
    let publisher = Publisher {
        directory: out.to_owned(),
        config: there.config().clone(),
        tokenizers: there.tokenizers().clone(),
        training: there.manifest().training.clone(),
    };
    let scores = serde_json::json!({
        "updates": updates.last(),
        "averaged_updates": updates,
    });
    publisher.publish(ema.unwrap_or(model), scores)?;
    Ok(updates)
}

/// Returns the intervals of the chosen checkpoints, in order.
fn chosen(
    states: &BTreeMap<usize, SavedState>,
    choice: &Choice,
    experiment: &Experiment,
    run: &Path,
) -> Result<Vec<usize>, TrainError> {
    let updates_of = |intervals: &[usize]| intervals.iter().map(|it| states[it].updates).collect();
    let there = || states.values().map(|state| state.updates).collect();
    let path = || run.to_owned();
    let all: Vec<usize> = states.keys().copied().collect();
    let (mut intervals, wanted) = match choice {
        Choice::Last(n) => {
            let last = last_of(&all, *n);
            if last.len() < *n {
                return Err(TrainError::TooFewCheckpoints {
                    path: path(),
                    wanted: *n,
                    there: updates_of(last),
                });
            }
            (last.to_vec(), *n)
        }
        Choice::Best(n) => {
            let validations = states.values().last().map(|state| &state.validations[..]);
            let validations = validations.unwrap_or_default();
            let mut ranked = best(validations, experiment.training.best_by, validations.len());
            ranked.retain(|interval| states.contains_key(interval));
            ranked.truncate(*n);
            (ranked, *n)
        }
        Choice::Updates(updates) => {
            let interval_of = |update: &u64| {
                let mut of = states.iter().filter(|(_, state)| state.updates == *update);
                of.next().map(|(interval, _)| *interval).ok_or_else(|| {
                    TrainError::NoSuchCheckpoint {
                        path: path(),
                        update: *update,
                        there: there(),
                    }
                })
            };
            let intervals: Result<BTreeSet<usize>, _> = updates.iter().map(interval_of).collect();
            let intervals: Vec<usize> = intervals?.into_iter().collect();
            let wanted = intervals.len();
            (intervals, wanted)
        }
    };
    intervals.sort_unstable();
    if intervals.is_empty() || intervals.len() < wanted {
        return Err(TrainError::TooFewCheckpoints {
            path: path(),
            wanted,
            there: there(),
        });
    }
    Ok(intervals)
}
