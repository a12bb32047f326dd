//! What a run will be like, before it is one: its size, length, memory and disk.

mod memory;

use transformer_core::device;

use crate::TrainError;
use crate::config::Experiment;
use crate::corpus::{IfMissing, StoreLocation};
use crate::optim::Schedule;
use crate::run::forecast::memory::{Memory, NUMBER, PROGRAM, Sizes};
use crate::run::{Folder, Prepared, RunEnvironment, Start, ThreadCount};

/// Reads text and trains tokenizers as a run in these surroundings would, and says what the run would be
/// like. Nothing is written; a token store that is there is used, and otherwise the ids are held in memory.
///
/// # Errors
///
/// Returns a [`TrainError`] for what would end the run before its first update.
pub fn dry_run(experiment: &Experiment, environment: &RunEnvironment) -> Result<(), TrainError> {
    experiment.validate()?;
    let folder = Folder::new(&environment.directory);
    folder.check()?;
    let progress = environment.progress();
    let log = progress.log();
    let resumed = folder.resume(experiment, environment.existing, log)?;
    let start = Start::new(experiment, &folder, resumed.is_some())?;
    let directory = &environment.directory;
    let place = StoreLocation::of(
        experiment,
        directory,
        start.base.as_ref(),
        IfMissing::UseMemory,
    )?;
    let mut prepared = Prepared::new(experiment, start, place, &progress)?;
    if let Some(resumed) = &resumed {
        resumed.check_corpus(prepared.fingerprint, directory)?;
        log(&format!(
            "resumed     after update {}",
            resumed.state.updates
        ));
    }
    let memory = memory_of(experiment, &prepared, environment);
    for line in lines(experiment, &mut prepared, &memory) {
        log(&line);
    }
    prepared.warn(experiment, log);
    let there = memory::there_is().filter(|_| device::is_cpu_memory(&environment.device));
    if let Some(there) = there
        && memory.total() > there
    {
        log(&format!(
            "warning     the run takes about {}, and there is {} of memory; lower what takes most of it, \
             as the model's size, or `training.tokens_per_batch` for activations",
            bytes(memory.total()),
            bytes(there)
        ));
    }
    Ok(())
}

fn memory_of(experiment: &Experiment, prepared: &Prepared, environment: &RunEnvironment) -> Memory {
    let summary = &prepared.train_summary;
    let width = |tokens: u64| tokens as f64 / summary.kept.max(1) as f64 + 1.0;
    let (ThreadCount::Exactly(n_threads) | ThreadCount::Suggested(n_threads)) = environment.threads;
    let n_valid = prepared.valid.len();
    Memory::of(
        experiment,
        &prepared.config,
        &Sizes {
            src_width: width(summary.src_tokens),
            tgt_width: width(summary.tgt_tokens),
            n_threads: n_threads.max(1),
            in_memory: device::is_cpu_memory(&environment.device),
            n_translated: (experiment.validation.max_sentences.min(n_valid))
                .max(prepared.test.len()),
            text: prepared.train.store().bytes(),
        },
    )
}

fn lines(experiment: &Experiment, prepared: &mut Prepared, memory: &Memory) -> Vec<String> {
    let training = &experiment.training;
    let config = prepared.config.clone();
    let n_parameters = config.parameter_count();
    let (updates, rising) = (training.updates, training.warmup_steps);
    let batches = prepared.plan.batches_per_pass(0);
    let per_pass = training.updates_of(batches);
    let peak = Schedule::new(training, config.d_model).learning_rate(rising.min(updates));
    // The next checkpoint is written before the oldest goes.
    let n_checkpoints = (training.n_last() + training.n_best() + 1) as f64;
    let weights = NUMBER * n_parameters as f64;
    // Weights and Adam's two moments, and the moving average of the weights.
    let checkpoint = weights * (3.0 + f64::from(u8::from(training.ema_decay.is_some())));
    vec![
        format!("model       {n_parameters} parameters"),
        format!(
            "batches     {per_pass} updates a pass over the data, {:.1}% padding",
            100.0 * prepared.plan.padding_fraction()
        ),
        format!(
            "training    {updates} updates are {:.1} passes; the rate rises for {rising} of them ({:.0}%), to \
             {peak:.2e}",
            (updates * training.batches_per_update()) as f64 / batches as f64,
            100.0 * rising.min(updates) as f64 / updates as f64,
        ),
        format!(
            "memory      about {}: {} for weights, gradients and Adam's moments, {} for the activations of an \
             update, {} for logits, {} for translating, {} for the text, {} for the program",
            bytes(memory.total()),
            bytes(memory.parameters),
            bytes(memory.activations),
            bytes(memory.logits),
            bytes(memory.translation),
            bytes(memory.text),
            bytes(PROGRAM),
        ),
        format!(
            "disk        {} for the model, {} a checkpoint, up to {}",
            bytes(weights),
            bytes(checkpoint),
            bytes(checkpoint * n_checkpoints + weights),
        ),
    ]
}

fn bytes(number: f64) -> String {
    match number {
        n if n < 1e6 => format!("{:.0} kB", n / 1e3),
        n if n < 1e9 => format!("{:.0} MB", n / 1e6),
        n => format!("{:.1} GB", n / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let shown = [1.2e4, 3.4e7, 5.67e9].map(bytes);
        assert_eq!(shown, ["12 kB", "34 MB", "5.7 GB"]);
    }
}
