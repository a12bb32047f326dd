//! A training run from beginning to end (§5): from an [`Experiment`] to a model directory; and the part of other processes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use burn::module::Module;
use serde::{Deserialize, Serialize};
use transformer_core::Transformer;
use transformer_core::device::is_cpu_memory;
use transformer_core::directory::Languages;

use super::command_scorer::CommandScorer;
use super::environment::{Display, RunEnvironment, ThreadCount};
use super::finetune::{self, InitialState};
use super::folder::{FolderLock, RunFolder};
use super::forecast::log_forecast;
use super::learn::Learning;
use super::outcome::{Evaluator, Outcome, publish};
use super::prepare::Prepared;
use super::select::ModelSelection;
use crate::checkpoint::{Publisher, SavedState};
use crate::config::{Experiment, TrainingSettings};
use crate::corpus::{IfMissing, StoreLocation};
use crate::error::TrainError;
use crate::progress::{Interrupt, LogFn};
use crate::step::ranks::Ranks;
use crate::step::{Objective, Threads};
use crate::validation::best;

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
    } = open(experiment, environment, IfMissing::Build)?;
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
        &start,
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
    let elapsed = start.elapsed() + started.elapsed();
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
    } = open(experiment, environment, IfMissing::UseMemory)?;
    if let Some(resumed) = &resumed {
        folder.check_corpus(resumed, prepared.fingerprint)?;
        let updates = resumed.updates;
        (environment.log)(&format!("resumed     after update {updates}"));
    }
    log_forecast(experiment, environment, &mut prepared);
    Ok(())
}

struct OpenedRun {
    folder: RunFolder,
    /// The lock of a folder that already holds a run.
    lock: Option<FolderLock>,
    resumed: Option<SavedState>,
    /// The location of the token store, if the ids are on disk.
    store: Option<StoreLocation>,
    prepared: Prepared,
}

/// Opens the folder of a run and prepares its data. A run that fails here has changed only the token store and the
/// lock; a dry run, which builds no token store, changes nothing.
fn open(
    experiment: &Experiment,
    environment: &RunEnvironment,
    if_missing: IfMissing,
) -> Result<OpenedRun, TrainError> {
    environment.check_devices(experiment)?;
    let folder = RunFolder::new(&environment.directory);
    folder.check()?;
    // A dry run must write nothing, and only it keeps what it prepares in memory.
    let is_dry_run = if_missing == IfMissing::UseMemory;
    // A folder without a run is locked later, when it is created.
    let is_locked = !is_dry_run && folder.holds_run();
    let lock = is_locked.then(|| folder.lock()).transpose()?;
    let resumed = folder.resume(experiment, environment.existing, &environment.log)?;
    if !is_dry_run {
        let opened = Opened {
            is_resumed: resumed.is_some(),
            settings: experiment.to_toml()?,
            directory: folder.directory.clone(),
        };
        opened.tell(environment.ranks);
    }
    let initial = InitialState::new(experiment, &folder, resumed.is_some())?;
    let base = initial.base.as_ref();
    let cleaned_as = &initial.cleaned_as;
    let store = StoreLocation::of(experiment, cleaned_as, &folder.directory, base, if_missing)?;
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

/// The message of rank 0 to the other processes before they read text.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Opened {
    pub(super) is_resumed: bool,
    pub(super) settings: String,
    pub(super) directory: PathBuf,
}

impl Opened {
    pub(super) fn tell(&self, ranks: Ranks) {
        ranks.broadcast(|| serde_json::to_string(self).expect("it is text"));
    }
}

pub(super) fn tell_start(start: &SavedState, ranks: Ranks) {
    ranks.broadcast(|| serde_json::to_string(start).expect("a state is numbers and text"));
}

/// Trains together with [`train`](crate::train), called by the process of rank 0 with the same experiment.
///
/// Every process reads the text itself. This one shows and writes nothing, and reads checkpoints from the folder that
/// rank 0 names.
///
/// # Errors
///
/// Returns a [`TrainError`] with a message that names the remedy. The caller then has to end the other processes, which
/// wait for this one: [`Ranks::end_all`].
pub fn follow(experiment: &Experiment, environment: &RunEnvironment) -> Result<(), TrainError> {
    let experiment = &experiment.resolved()?;
    let (training, ranks) = (&experiment.training, environment.ranks);
    let differs = |what| TrainError::OtherInputs {
        rank: ranks.rank(),
        what,
    };
    experiment.validate()?;
    environment.check_devices(experiment)?;
    let opened: Opened = heard(&ranks.broadcast(String::new));
    let environment = RunEnvironment {
        directory: opened.directory,
        log: Arc::new(|_| {}),
        status: None,
        display: Display::Lines,
        ..environment.clone()
    };
    if opened.settings != experiment.to_toml()? {
        return Err(differs("settings"));
    }
    let folder = RunFolder::new(&environment.directory);
    let initial = InitialState::new(experiment, &folder, opened.is_resumed)?;
    let base = initial.base.as_ref();
    let (cleaned_as, if_missing) = (&initial.cleaned_as, IfMissing::UseMemory);
    let store = StoreLocation::of(experiment, cleaned_as, &folder.directory, base, if_missing)?;
    // Rank 0 builds a token store, and the others read it when it is complete.
    let told = || -> SavedState { heard(&ranks.broadcast(String::new)) };
    let told_before = store.is_some().then(told);
    let prepared = Prepared::new(experiment, initial, store, &environment.progress())?;
    let start = told_before.unwrap_or_else(told);
    if start.corpus_fingerprint != prepared.fingerprint {
        return Err(differs("training text"));
    }
    let mut prepared = prepared;
    prepared.cleaning.clear();
    prepared.plan.restore_pass_starts(&start.passes);
    let model = prepared.model(training.seed, &environment.device)?;
    begin_training(&environment.interrupt)?;
    let objective = shared_objective(model, training, &start, ranks)?;
    if start.is_finished(training) {
        return Ok(());
    }
    let learning = Learning {
        experiment,
        environment: &environment,
        folder: &folder,
        prepared: &prepared,
        publisher: None,
        start: &start,
        scorer: None,
    };
    learning.run(&objective)
}

fn heard<T: for<'a> Deserialize<'a>>(text: &str) -> T {
    serde_json::from_str(text).expect("all processes are of the same program")
}

/// Returns the start of training on these devices and with this text, and logs how it differs from before.
pub(super) fn start_point(
    experiment: &Experiment,
    environment: &RunEnvironment,
    prepared: &mut Prepared,
    mut resumed: Option<SavedState>,
) -> Result<SavedState, TrainError> {
    let validation_fingerprint = prepared.validation_fingerprint(&experiment.validation);
    if let Some(resumed) = &mut resumed {
        prepared.plan.restore_pass_starts(&resumed.passes);
        drop_other_validations(
            resumed,
            validation_fingerprint,
            experiment,
            &environment.log,
        );
    }
    let n_threads = n_threads(environment, resumed.as_ref());
    let devices = environment.device_names();
    let state = resumed.unwrap_or_default().continued_with(
        n_threads,
        devices,
        prepared.fingerprint,
        validation_fingerprint,
    );
    let mut settings = experiment.clone();
    if settings.data.clean {
        // The text of the next resumed run is cleaned in the same way, whatever languages have been added.
        let Languages { src, tgt } = prepared.cleaned_as.clone();
        (settings.data.src_lang, settings.data.tgt_lang) = (src, tgt);
    }
    Ok(state.with_settings(settings.to_toml()?))
}

/// Drops the validations of a resumed run that are not comparable with later ones, because the validation pairs or
/// settings have changed. The best checkpoints by them are kept permanently.
fn drop_other_validations(
    state: &mut SavedState,
    validation_fingerprint: u64,
    experiment: &Experiment,
    log: &LogFn,
) {
    let training = &experiment.training;
    let before = state.validation_fingerprint;
    if before.is_some_and(|before| before != validation_fingerprint) {
        let best = best(&state.validations, training.best_by, training.n_best());
        state.pinned.extend(best);
        log(&format!(
            "validation  on other pairs, or measured in another way, than before: the {} validations so far are not \
             compared with those to come; the best checkpoints by them are kept",
            state.validations.len()
        ));
        state.validations.clear();
    }
}

/// Returns the number of threads that share an update, and logs it with the differences of a resumed run.
fn n_threads(environment: &RunEnvironment, resumed: Option<&SavedState>) -> usize {
    let log = &environment.log;
    let n_threads = match (environment.threads, resumed) {
        // Threads do not share a GPU: it has one queue, and one generator for dropout.
        _ if !is_cpu_memory(&environment.device) => 1,
        (ThreadCount::Suggested(_), Some(state)) => state.n_threads,
        (threads, _) => threads.given(),
    };
    if let Some(state) = resumed {
        log(&format!("resumed     after update {}", state.updates));
        let device = environment.device_names();
        if (state.n_threads, &state.device) != (n_threads, &device) {
            log(&format!(
                "resumed     begun on {} with {} thread(s) to an update: the same sentences, but other rounding, and other \
                 dropout",
                state.device, state.n_threads
            ));
        }
    }
    log(&format!("threads     {n_threads} to an update"));
    n_threads
}

/// Enters the stage in which an interrupt waits for the end of the interval.
pub(super) fn begin_training(interrupt: &Interrupt) -> Result<(), TrainError> {
    // In this order a request either ends the run here, or its caller learns that the run is training.
    interrupt.begin_training();
    match interrupt.is_requested() {
        true => Err(TrainError::Interrupted),
        false => Ok(()),
    }
}

/// Returns a model with its objective, which threads and processes share.
pub(super) fn shared_objective(
    model: Transformer,
    training: &TrainingSettings,
    start: &SavedState,
    ranks: Ranks,
) -> Result<Objective, TrainError> {
    let n_threads = start.n_threads;
    let threads = Threads::new(n_threads);
    let threads = threads.map_err(|source| TrainError::Threads { n_threads, source })?;
    Ok(Objective::new(model, training, threads).with_ranks(ranks))
}
