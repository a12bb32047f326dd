//! The point at which training starts: before the first update, or at a checkpoint.

use transformer_core::Transformer;
use transformer_core::device::is_cpu_memory;

use super::environment::{RunEnvironment, ThreadCount};
use super::prepare::Prepared;
use crate::checkpoint::ResumePoint;
use crate::config::{Experiment, TrainingSettings};
use crate::error::TrainError;
use crate::progress::{Interrupt, LogFn};
use crate::step::ranks::Ranks;
use crate::step::{Objective, Threads};
use crate::validation::best;

/// Returns the start of training on these devices and with this text, and logs how it differs from before.
pub(super) fn start_point(
    experiment: &Experiment,
    environment: &RunEnvironment,
    prepared: &mut Prepared,
    mut resumed: Option<ResumePoint>,
) -> Result<ResumePoint, TrainError> {
    let validation_fingerprint = prepared.validation_fingerprint(&experiment.validation);
    if let Some(resumed) = &mut resumed {
        prepared.plan.restore_pass_starts(&resumed.state.passes);
        drop_other_validations(
            resumed,
            validation_fingerprint,
            experiment,
            &environment.log,
        );
    }
    let n_threads = n_threads(environment, resumed.as_ref());
    let ResumePoint { state } = resumed.unwrap_or_default();
    let devices = environment.device_names();
    let state = state.continued_with(
        n_threads,
        devices,
        prepared.fingerprint,
        validation_fingerprint,
    );
    Ok(ResumePoint {
        state: state.with_settings(experiment.to_toml()?),
    })
}

/// Drops the validations of a resumed run that are not comparable with later ones, because the validation pairs or
/// settings have changed. The best checkpoints by them are kept permanently.
fn drop_other_validations(
    resumed: &mut ResumePoint,
    validation_fingerprint: u64,
    experiment: &Experiment,
    log: &LogFn,
) {
    let state = &mut resumed.state;
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
fn n_threads(environment: &RunEnvironment, resumed: Option<&ResumePoint>) -> usize {
    let log = &environment.log;
    let n_threads = match (environment.threads, resumed) {
        // Threads do not share a GPU: it has one queue, and one generator for dropout.
        _ if !is_cpu_memory(&environment.device) => 1,
        (ThreadCount::Suggested(_), Some(ResumePoint { state, .. })) => state.n_threads,
        (threads, _) => threads.given(),
    };
    if let Some(ResumePoint { state, .. }) = resumed {
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
    start: &ResumePoint,
    ranks: Ranks,
) -> Result<Objective, TrainError> {
    let n_threads = start.state.n_threads;
    let threads = Threads::new(n_threads);
    let threads = threads.map_err(|source| TrainError::Threads { n_threads, source })?;
    Ok(Objective::new(model, training, threads).with_ranks(ranks))
}
