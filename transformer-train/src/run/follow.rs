//! The part of a run on processes other than rank 0: the same updates, with nothing shown or saved.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::environment::{Display, RunEnvironment};
use super::finetune::InitialState;
use super::folder::RunFolder;
use super::learn::Learning;
use super::prepare::Prepared;
use super::start::{begin_training, shared_objective};
use crate::checkpoint::{ResumePoint, SavedState};
use crate::config::Experiment;
use crate::corpus::{IfMissing, StoreLocation};
use crate::error::TrainError;
use crate::step::ranks::Ranks;

/// The message of rank 0 to the other processes before they read text.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Opened {
    /// True if the run resumes at a checkpoint.
    pub(super) is_resumed: bool,
    /// The settings, as TOML.
    pub(super) settings: String,
    /// The folder of the run.
    pub(super) directory: PathBuf,
}

impl Opened {
    /// Sends the message to the other processes, which wait for it.
    pub(super) fn tell(&self, ranks: Ranks) {
        ranks.broadcast(|| serde_json::to_string(self).expect("it is text"));
    }
}

/// Sends the start of training to the other processes.
pub(super) fn tell_start(start: &ResumePoint, ranks: Ranks) {
    ranks.broadcast(|| serde_json::to_string(&start.state).expect("a state is numbers and text"));
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
    let store = StoreLocation::of(experiment, &folder.directory, base, IfMissing::UseMemory)?;
    // Rank 0 builds a token store, and the others read it when it is complete.
    let told = || -> SavedState { heard(&ranks.broadcast(String::new)) };
    let told_before = store.is_some().then(told);
    let prepared = Prepared::new(experiment, initial, store, &environment.progress())?;
    let state = told_before.unwrap_or_else(told);
    if state.corpus_fingerprint != prepared.fingerprint {
        return Err(differs("training text"));
    }
    let mut prepared = prepared;
    prepared.cleaning.clear();
    prepared.plan.restore_pass_starts(&state.passes);
    let model = prepared.model(training.seed, &environment.device)?;
    begin_training(&environment.interrupt)?;
    let start = ResumePoint { state };
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

/// Parses a message of rank 0.
fn heard<T: for<'a> Deserialize<'a>>(text: &str) -> T {
    serde_json::from_str(text).expect("all processes are of the same program")
}
