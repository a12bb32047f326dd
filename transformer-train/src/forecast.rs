//! What a run will be like, before it is one: its size, length, memory and disk.

use transformer_core::TransformerConfig;

use crate::TrainError;
use crate::config::Experiment;
use crate::prepare::{Prepared, Start};
use crate::run::Surroundings;
use crate::schedule::Schedule;
use crate::store_folder::{IfMissing, StorePlace};

/// Bytes of a number in single precision.
const NUMBER: f64 = 4.0;

/// Reads text and trains tokenizers as a run in these surroundings would, and says what the run would be like.
/// Nothing is written; a token store that is there is used, and otherwise the ids are held in memory.
///
/// # Errors
///
/// Returns a [`TrainError`] for what would end the run before its first update.
pub fn dry_run(experiment: &Experiment, surroundings: &Surroundings) -> Result<(), TrainError> {
    experiment.validate()?;
    let place = StorePlace::of(experiment, &surroundings.directory, IfMissing::Hold)?;
    let watch = surroundings.watch();
    let say = watch.say();
    let mut prepared = Prepared::new(experiment, Start::Fresh, place, &watch)?;
    for line in lines(experiment, &mut prepared) {
        say(&line);
    }
    prepared.warn(experiment, say);
    Ok(())
}

fn lines(experiment: &Experiment, prepared: &mut Prepared) -> Vec<String> {
    let training = &experiment.training;
    let config = prepared.config.clone();
    let n_parameters = config.parameter_count();
    let (updates, rising) = (training.updates, training.warmup_steps);
    let per_pass = prepared.plan.updates_per_pass(0);
    let peak = Schedule::new(training, config.d_model).learning_rate(rising.min(updates));
    let summary = &prepared.train_summary;
    let widths = |tokens: u64| tokens as f64 / summary.kept.max(1) as f64 + 1.0;
    let widths = [widths(summary.src_tokens), widths(summary.tgt_tokens)];
    let memory = Memory::of(&config, training.tokens_per_batch as f64, widths);
    // Two checkpoints at least are kept, and the next is written before the oldest goes.
    let n_checkpoints = training.average_last.max(2) as f64 + 1.0;
    let weights = NUMBER * n_parameters as f64;
    vec![
        format!("model       {n_parameters} parameters"),
        format!(
            "batches     {per_pass} updates a pass over the data, {:.1}% padding",
            100.0 * prepared.plan.padding_share()
        ),
        format!(
            "training    {updates} updates are {:.1} passes; the rate rises for {rising} of them ({:.0}%), to \
             {peak:.2e}",
            updates as f64 / per_pass as f64,
            100.0 * rising.min(updates) as f64 / updates as f64,
        ),
        format!(
            "memory      about {}: {} for weights, gradients and Adam's moments, {} for the activations of an \
             update, {} for the text",
            bytes(memory.parameters + memory.activations + prepared.train.store().bytes() as f64),
            bytes(memory.parameters),
            bytes(memory.activations),
            bytes(prepared.train.store().bytes() as f64),
        ),
        format!(
            "disk        {} for the model, {} a checkpoint, up to {}",
            bytes(weights),
            bytes(3.0 * weights),
            bytes(3.0 * weights * n_checkpoints + weights),
        ),
    ]
}

/// Estimates the memory of an update, in bytes.
struct Memory {
    /// Weights, gradients and Adam's two moments: 16 bytes a parameter.
    parameters: f64,
    /// What the backward pass needs of the forward pass.
    activations: f64,
}

impl Memory {
    /// Counts the numbers that stay on the tape for a batch of `cells` on the longer side, of sentences with
    /// these mean widths, source and target: of every product its inputs, of every dropout, sum and norm
    /// its output, of attention its weights before and after dropout. Logits are made in slices, and not
    /// counted; neither is what the operations of a moment take beside it.
    fn of(config: &TransformerConfig, cells: f64, [src_width, tgt_width]: [f64; 2]) -> Self {
        let (src, tgt) = match src_width > tgt_width {
            true => (cells, cells * tgt_width / src_width),
            false => (cells * src_width / tgt_width, cells),
        };
        let d = config.d_model as f64;
        let heads = config.n_heads as f64;
        let keys = heads * config.head_d_k() as f64;
        let values = heads * config.head_d_v() as f64;
        let attention = |queries: f64, memory: f64, width: f64| {
            queries * (keys + values + d + 2.0 * heads * width) + memory * (keys + values)
        };
        let feed_forward = 2.0 * config.d_ff as f64 + d;
        let residual = 3.0 * d;
        let encoder = attention(src, src, src_width) + src * (feed_forward + 2.0 * residual);
        let decoder = attention(tgt, tgt, tgt_width)
            + attention(tgt, src, src_width)
            + tgt * (feed_forward + 3.0 * residual);
        let layers =
            config.n_encoder_layers as f64 * encoder + config.n_decoder_layers as f64 * decoder;
        let ends = 2.0 * d * (src + tgt) + d * tgt;
        Self {
            parameters: 4.0 * NUMBER * config.parameter_count() as f64,
            activations: NUMBER * (layers + ends),
        }
    }
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
    use transformer_core::Preset;

    use super::*;

    fn activations(cells: f64, widths: [f64; 2]) -> f64 {
        let config = Preset::Tiny.config(6000, 6000);
        Memory::of(&config, cells, widths).activations
    }

    #[test]
    fn activations_grow_with_the_cells() {
        let one = activations(1000.0, [12.0, 15.0]);
        assert!((activations(3000.0, [12.0, 15.0]) / one - 3.0).abs() < 1e-9);
    }

    #[test]
    fn long_sentences_take_more_of_the_same_number_of_cells() {
        assert!(activations(1000.0, [100.0, 100.0]) > activations(1000.0, [10.0, 10.0]));
    }

    #[test]
    fn a_short_source_takes_less() {
        assert!(activations(1000.0, [5.0, 20.0]) < activations(1000.0, [20.0, 20.0]));
    }

    /// One encoder layer and no decoder, one head of one feature: by hand.
    #[test]
    fn one_narrow_layer_is_counted_by_hand() {
        let config = TransformerConfig {
            d_model: 1,
            d_ff: 2,
            n_heads: 1,
            n_encoder_layers: 1,
            n_decoder_layers: 0,
            ..TransformerConfig::base(5, 5)
        };
        // For each of 6 source cells: queries, heads and their product 3, weights 2 · 3, keys and values 2,
        // feed-forward 5, two residuals of 3; at the ends 2. For each of 6 target cells 2 and 1.
        let expected = 4.0 * 6.0 * (3.0 + 6.0 + 2.0 + 5.0 + 6.0 + 2.0 + 3.0);
        assert_eq!(Memory::of(&config, 6.0, [3.0, 3.0]).activations, expected);
    }

    #[test]
    fn sizes_have_units() {
        let shown = [1.2e4, 3.4e7, 5.67e9].map(bytes);
        assert_eq!(shown, ["12 kB", "34 MB", "5.7 GB"]);
    }
}
