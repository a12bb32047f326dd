//! A training run from beginning to end (§5): from an [`Experiment`] to a model directory.

use std::time::Instant;

use burn::module::Module;

use super::command_scorer::CommandScorer;
use super::environment::RunEnvironment;
use super::evaluate::Evaluator;
use super::finetune;
use super::finetune::InitialState;
use super::folder::{FolderLock, RunFolder};
use super::follow::{Opened, tell_start};
use super::forecast::log_forecast;
use super::learn::Learning;
use super::outcome::{Outcome, publish};
use super::prepare::Prepared;
use super::select::ModelSelection;
use super::start::{begin_training, shared_objective, start_point};
use crate::checkpoint::{Publisher, ResumePoint};
use crate::config::Experiment;
use crate::corpus::{IfMissing, StoreLocation};
use crate::error::TrainError;
use crate::step::Objective;

/// Trains a model from beginning to end and leaves it in `directory/model`.
///
/// With several [processes](crate::step::ranks::Ranks) rank 0 calls this, and the others call
/// [`follow`](crate::follow).
///
/// A run opens its folder, prepares its data, learns, selects a model among its checkpoints, and publishes it.
///
/// # Errors
///
/// Returns a [`TrainError`] with a message that names the remedy. The model of the last validation is kept.
pub fn train(experiment: &Experiment, environment: &RunEnvironment) -> Result<Outcome, TrainError> {
    experiment.validate()?;
    let experiment = &experiment.resolved()?;
    let (training, log) = (&experiment.training, &environment.log);
    let OpenedRun {
        folder,
        lock,
        resumed,
        store,
        mut prepared,
    } = open(experiment, environment, Access::Train)?;
    let model = prepared.model(training.seed, &environment.device)?;
    if let Some(resumed) = &resumed {
        // If the run was killed before it published its tokenizers, other text gives another vocabulary.
        folder.check_corpus(resumed, prepared.fingerprint)?;
        let template = Objective::new(model.clone(), training, None);
        resumed.check_records(&folder.checkpoints, &template)?;
    }
    begin_training(&environment.interrupt)?;
    prepared.warn(experiment, log);
    let _lock = lock.map_or_else(|| folder.claim(), Ok)?;
    folder.accept(experiment, resumed.as_ref(), prepared.fingerprint)?;
    folder.write_dropped(&std::mem::take(&mut prepared.cleaning))?;
    let start = start_point(experiment, environment, &mut prepared, resumed)?;
    tell_start(&start, environment.ranks);
    store.iter().for_each(StoreLocation::remove_others);

    let mut publisher = Publisher::of_run(
        &folder.model,
        &prepared.config,
        &prepared.tokenizers,
        experiment,
        &start.state,
    )?;
    prepared.languages.write_to(&mut publisher.training);
    let started = Instant::now();
    log(&finetune::size(&prepared.config, &experiment.adapters));
    let objective = shared_objective(model, training, &start, environment.ranks)?;
    let scorer = CommandScorer::new(experiment, environment, &prepared);
    if !start.is_finished(training) {
        let learning = Learning {
            experiment,
            environment,
            folder: &folder,
            prepared: &prepared,
            publisher: Some(&publisher),
            start: &start,
            scorer: scorer.as_ref(),
        };
        learning.run(&objective)?;
    }

    let evaluator = Evaluator::new(experiment, &prepared, scorer);
    let selection = ModelSelection {
        experiment,
        environment,
        checkpoints: &folder.checkpoints,
        evaluator: &evaluator,
        template: objective.valid(),
    };
    let selected = selection.select()?;
    let elapsed = start.state.elapsed() + started.elapsed();
    publish(selected, &publisher, &evaluator, environment, elapsed)
}

/// Reads text and trains tokenizers as [`train`] would, and logs a forecast of the run: its size, memory and disk
/// space. Nothing is written; an existing token store is used, otherwise the ids stay in memory.
///
/// # Errors
///
/// Returns the [`TrainError`] that would end the run before its first update.
pub fn dry_run(experiment: &Experiment, environment: &RunEnvironment) -> Result<(), TrainError> {
    experiment.validate()?;
    let experiment = &experiment.resolved()?;
    let OpenedRun {
        folder,
        resumed,
        mut prepared,
        ..
    } = open(experiment, environment, Access::DryRun)?;
    if let Some(resumed) = &resumed {
        folder.check_corpus(resumed, prepared.fingerprint)?;
        let updates = resumed.state.updates;
        (environment.log)(&format!("resumed     after update {updates}"));
    }
    log_forecast(experiment, environment, &mut prepared);
    Ok(())
}

/// The use that a run makes of its folder.
#[derive(Clone, Copy)]
enum Access {
    /// Locks the folder, and may build a token store.
    Train,
    /// Reads only.
    DryRun,
}

/// A run before its first update.
struct OpenedRun {
    folder: RunFolder,
    /// The lock of a folder that already holds a run.
    lock: Option<FolderLock>,
    /// The checkpoint at which the run resumes.
    resumed: Option<ResumePoint>,
    /// The location of the token store, if the ids are on disk.
    store: Option<StoreLocation>,
    prepared: Prepared,
}

/// Opens the folder of a run and prepares its data. A run that fails here has changed only the token store and the
/// lock.
fn open(
    experiment: &Experiment,
    environment: &RunEnvironment,
    access: Access,
) -> Result<OpenedRun, TrainError> {
    environment.check_devices(experiment)?;
    let folder = RunFolder::new(&environment.directory);
    folder.check()?;
    let (lock, if_missing) = match access {
        // A folder without a run is locked later, when it is created.
        Access::Train => (
            folder.holds_run().then(|| folder.lock()).transpose()?,
            IfMissing::Build,
        ),
        Access::DryRun => (None, IfMissing::UseMemory),
    };
    let resumed = folder.resume(experiment, environment.existing, &environment.log)?;
    if let Access::Train = access {
        let opened = Opened {
            is_resumed: resumed.is_some(),
            settings: experiment.to_toml()?,
            directory: folder.directory.clone(),
        };
        opened.tell(environment.ranks);
    }
    let initial = InitialState::new(experiment, &folder, resumed.is_some())?;
    let base = initial.base.as_ref();
    let store = StoreLocation::of(experiment, &folder.directory, base, if_missing)?;
    let progress = environment.progress();
    let prepared = Prepared::new(experiment, initial, store.clone(), &progress)?;
    Ok(OpenedRun {
        folder,
        lock,
        resumed,
        store,
        prepared,
    })
}
