//! The forecast of a dry run: length, memory and disk space.

use transformer_core::device::is_cpu_memory;

use super::environment::RunEnvironment;
use super::finetune;
use super::memory_estimate::{
    BYTES_PER_VALUE, MemoryEstimate, PROGRAM, Sizes, available_memory, n_frozen_and_trained,
};
use super::prepare::Prepared;
use crate::config::Experiment;
use crate::optim::Schedule;

/// Logs a forecast of a run, and the reasons why it is unlikely to succeed.
pub(super) fn log_forecast(
    experiment: &Experiment,
    environment: &RunEnvironment,
    prepared: &mut Prepared,
) {
    let log = &environment.log;
    let memory = memory(experiment, prepared, environment);
    for line in lines(experiment, prepared, &memory) {
        log(&line);
    }
    prepared.warn(experiment, log);
    let available = available_memory().filter(|_| is_cpu_memory(&environment.device));
    if let Some(available) = available
        && memory.total() > available
    {
        log(&format!(
            "warning     the run takes about {}, and there is {} of memory; reduce the largest part, for \
             example with a smaller model, or with a lower `training.tokens_per_batch` for activations",
            bytes(memory.total()),
            bytes(available)
        ));
    }
}

fn memory(
    experiment: &Experiment,
    prepared: &Prepared,
    environment: &RunEnvironment,
) -> MemoryEstimate {
    let summary = &prepared.train_summary;
    let width = |tokens: u64| tokens as f64 / summary.kept.max(1) as f64 + 1.0;
    let n_valid = prepared.valid.pairs.len();
    MemoryEstimate::new(
        experiment,
        &prepared.config,
        &Sizes {
            src_width: width(summary.src_tokens),
            tgt_width: width(summary.tgt_tokens),
            n_threads: environment.threads.given(),
            is_cpu_memory: is_cpu_memory(&environment.device),
            n_translated: (experiment.validation.max_sentences.min(n_valid))
                .max(prepared.test.len()),
            store_bytes: prepared.train.store().bytes(),
        },
    )
}

fn lines(experiment: &Experiment, prepared: &mut Prepared, memory: &MemoryEstimate) -> Vec<String> {
    let training = &experiment.training;
    let config = prepared.config.clone();
    let n_parameters = config.parameter_count();
    let (updates, warmup) = (training.updates, training.warmup_steps);
    let batches = prepared.plan.batches_per_pass(0);
    let per_pass = training.updates_of(batches);
    let peak = Schedule::new(training, config.d_model).learning_rate(warmup.min(updates));
    // The next checkpoint is written before the oldest is deleted.
    let n_checkpoints = (training.n_last() + training.n_best() + 1) as f64;
    let weights = BYTES_PER_VALUE * n_parameters as f64;
    // Weights, their moving average, and Adam's two moments of those that are trained.
    let n_averages = f64::from(u8::from(training.ema_decay.is_some()));
    let (frozen, trained) = n_frozen_and_trained(experiment, &config);
    let checkpoint = BYTES_PER_VALUE * (frozen * (1.0 + n_averages) + trained * (3.0 + n_averages));
    vec![
        finetune::size(&config, &experiment.adapters),
        format!(
            "batches     {per_pass} updates a pass over the data, {:.1}% padding",
            100.0 * prepared.plan.padding_fraction()
        ),
        format!(
            "training    {updates} updates are {:.1} passes; the rate rises for {warmup} of them ({:.0}%), to \
             {peak:.2e}",
            (updates * training.batches_per_update()) as f64 / batches as f64,
            100.0 * warmup.min(updates) as f64 / updates as f64,
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

fn bytes(n_bytes: f64) -> String {
    match n_bytes {
        n if n < 1e6 => format!("{:.0} kB", n / 1e3),
        n if n < 1e9 => format!("{:.0} MB", n / 1e6),
        n if n < 1e12 => format!("{:.1} GB", n / 1e9),
        n => format!("{:.1} TB", n / 1e12),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let formatted = [1.2e4, 3.4e7, 5.67e9, 8.91e12].map(bytes);
        assert_eq!(formatted, ["12 kB", "34 MB", "5.7 GB", "8.9 TB"]);
    }
}
