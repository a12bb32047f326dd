//! How much memory a run takes.

use std::fs;
use std::path::Path;

use transformer_core::TransformerConfig;
use transformer_infer::BatchLimits;

use crate::config::Experiment;
use crate::step::slice_len;

/// Bytes of a number in single precision.
pub(super) const NUMBER: f64 = 4.0;

/// What the process holds before its model, in bytes: code, the tokenizer, and what reading left behind.
/// Measured with 30,000 and 100,000 pairs.
pub(super) const PROGRAM: f64 = 6e7;

/// How many slices of logits' size each thread has at once where the loss is computed on numbers: the buffer
/// (docs/experiments.md has what was measured).
const SLICES_OF_NUMBERS: f64 = 1.0;

/// The same where it is computed by tensors: logits, their exponentials, and what a product with them takes. Fitted to
/// nine runs on flex, when the loss was computed so there.
const SLICES_OF_TENSORS: f64 = 3.0;

/// Returns the memory that there is in bytes, of the machine or of the container, where the system has files that say so
/// (Linux).
pub(super) fn there_is() -> Option<f64> {
    let limits = LIMITS.iter().filter_map(|path| limit(Path::new(path)));
    limits.chain(of_this_machine()).reduce(f64::min)
}

/// Where a container sees how much it may have, with control groups of either version.
const LIMITS: [&str; 2] = [
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
];

/// Reads a limit; `max` is none.
fn limit(path: &Path) -> Option<f64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn of_this_machine() -> Option<f64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(1024.0 * kibibytes)
}

/// Estimates the most memory of a run, in bytes.
///
/// The parts are added up: threads have heaps of their own, and what one has given back is not there for
/// another.
pub(super) struct Memory {
    /// Weights, gradients, Adam's two moments and the moving average: 16 or 20 bytes a parameter, and 4 for
    /// the gradients of each thread.
    pub(super) parameters: f64,
    /// What the backward pass needs of the forward pass.
    pub(super) activations: f64,
    /// What the loss takes on each thread.
    pub(super) logits: f64,
    /// Keys and values of the largest batch that is translated, if no translation ends early.
    pub(super) translation: f64,
    /// Ids and lengths of the pairs.
    pub(super) text: f64,
}

/// What the memory depends on beside settings and model.
pub(super) struct Sizes {
    /// Mean length of a source with its end, in tokens.
    pub(super) src_width: f64,
    /// Mean length of a target with its end, in tokens.
    pub(super) tgt_width: f64,
    pub(super) n_threads: usize,
    /// Whether tensors lie in the computer's memory, and not in that of a device: then the loss is computed on numbers.
    pub(super) in_memory: bool,
    /// Number of sentences that are translated at once if they fit into a batch.
    pub(super) n_translated: usize,
    /// What the store takes, in bytes.
    pub(super) text: usize,
}

impl Memory {
    pub(super) fn of(experiment: &Experiment, config: &TransformerConfig, sizes: &Sizes) -> Self {
        let training = &experiment.training;
        let cells = training.tokens_per_batch as f64;
        let (src_cells, tgt_cells) = match sizes.src_width > sizes.tgt_width {
            true => (cells, cells * sizes.tgt_width / sizes.src_width),
            false => (cells * sizes.src_width / sizes.tgt_width, cells),
        };
        let n_threads = sizes.n_threads as f64;
        let of_thread = (tgt_cells / n_threads).ceil().max(1.0) as usize;
        let vocab_size = config.tgt_vocab_size;
        let slice = slice_len(vocab_size, of_thread, sizes.in_memory) * vocab_size;
        let slices = if sizes.in_memory {
            SLICES_OF_NUMBERS
        } else {
            SLICES_OF_TENSORS
        };
        let with_average = f64::from(u8::from(training.ema_decay.is_some()));
        let copies = 4.0 + with_average + n_threads;
        Self {
            parameters: NUMBER * copies * config.parameter_count() as f64,
            activations: activations(config, [src_cells, tgt_cells], sizes),
            logits: NUMBER * slices * n_threads * slice as f64,
            translation: translation(experiment, config, sizes),
            text: sizes.text as f64,
        }
    }

    pub(super) fn total(&self) -> f64 {
        let Self {
            parameters,
            activations,
            logits,
            translation,
            text,
        } = self;
        PROGRAM + parameters + activations + logits + translation + text
    }
}

/// Counts the numbers that stay on the tape for a batch of so many cells, source and target: of every product
/// its inputs, of every normalization its input, of attention its weights before and after dropout. On a device of its
/// own the parts of a normalization are there, too, and the masks of dropout.
fn activations(config: &TransformerConfig, [src, tgt]: [f64; 2], sizes: &Sizes) -> f64 {
    let (src_width, tgt_width) = (sizes.src_width, sizes.tgt_width);
    let d = config.d_model as f64;
    let heads = config.n_heads as f64;
    let keys = heads * config.head_d_k() as f64;
    let values = heads * config.head_d_v() as f64;
    let weights = if config.attention_dropout > 0.0 || !sizes.in_memory {
        2.0 * heads
    } else {
        heads
    };
    let attention = |queries: f64, memory: f64, width: f64| {
        queries * (keys + values + d + weights * width) + memory * (keys + values)
    };
    let feed_forward = 2.0 * config.d_ff as f64 + d;
    let (residual, embedding) = match sizes.in_memory {
        true => (d, d),
        false => (3.0 * d, 2.0 * d),
    };
    let encoder = attention(src, src, src_width) + src * (feed_forward + 2.0 * residual);
    let decoder = attention(tgt, tgt, tgt_width)
        + attention(tgt, src, src_width)
        + tgt * (feed_forward + 3.0 * residual);
    let layers =
        config.n_encoder_layers as f64 * encoder + config.n_decoder_layers as f64 * decoder;
    let ends = embedding * (src + tgt) + d * tgt;
    NUMBER * (layers + ends)
}

/// Counts keys and values of all layers for the rows of the largest batch, as long as they may get.
fn translation(experiment: &Experiment, config: &TransformerConfig, sizes: &Sizes) -> f64 {
    let validation = &experiment.validation;
    let budget = BatchLimits::for_model(config).batch_tokens as f64;
    let rows = (sizes.n_translated * validation.beam_size) as f64;
    let rows = rows.min(budget / sizes.src_width);
    let len = sizes.src_width + validation.max_extra_len as f64;
    let of_layer = config.n_heads * (config.head_d_k() + config.head_d_v());
    NUMBER * rows * len * (config.n_decoder_layers * of_layer) as f64
}

#[cfg(test)]
mod tests {
    use transformer_core::Preset;

    use super::*;

    fn sizes(src_width: f64, tgt_width: f64) -> Sizes {
        Sizes {
            src_width,
            tgt_width,
            n_threads: 1,
            in_memory: true,
            n_translated: 10,
            text: 1000,
        }
    }

    fn memory(cells: usize, sizes: &Sizes) -> Memory {
        let mut experiment = Experiment::for_preset(Preset::Tiny);
        experiment.training.tokens_per_batch = cells;
        Memory::of(&experiment, &Preset::Tiny.config(6000, 6000), sizes)
    }

    #[test]
    fn a_container_without_a_limit_has_none() {
        let dir = tempfile::tempdir().expect("the system has temporary directories");
        let path = dir.path().join("memory.max");
        for (text, expected) in [("max\n", None), ("1048576\n", Some(1_048_576.0))] {
            fs::write(&path, text).expect("the temporary directory is writable");
            assert_eq!(limit(&path), expected);
        }
    }

    #[test]
    fn activations_grow_with_the_cells() {
        let sizes = sizes(12.0, 15.0);
        let [one, three] = [1000, 3000].map(|cells| memory(cells, &sizes).activations);
        assert!((three / one - 3.0).abs() < 1e-9);
    }

    #[test]
    fn long_sentences_take_more_of_the_same_number_of_cells() {
        let [short, long] = [10.0, 100.0].map(|width| memory(1000, &sizes(width, width)));
        assert!(long.activations > short.activations);
    }

    #[test]
    fn a_short_source_takes_less() {
        let short = memory(1000, &sizes(5.0, 20.0)).activations;
        assert!(short < memory(1000, &sizes(20.0, 20.0)).activations);
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
        // For each of 6 source cells: queries, heads and their product 3, weights 3, keys and values 2,
        // feed-forward 5, two residuals; at the ends 1. For each of 6 target cells 1 and 1.
        let expected = 4.0 * 6.0 * (3.0 + 3.0 + 2.0 + 5.0 + 2.0 + 1.0 + 2.0);
        let found = activations(&config, [6.0, 6.0], &sizes(3.0, 3.0));
        assert_eq!(found, expected);
        // With weights and residuals, at the ends too, as a tape by parts has them.
        let apart = Sizes {
            in_memory: false,
            ..sizes(3.0, 3.0)
        };
        let expected = 4.0 * 6.0 * (3.0 + 6.0 + 2.0 + 5.0 + 6.0 + 2.0 + 3.0);
        assert_eq!(activations(&config, [6.0, 6.0], &apart), expected);
    }

    /// The measured peaks of docs/experiments.md, in megabytes: 6000 pairs of Multi30k, 4 updates.
    #[test]
    fn the_estimate_is_within_a_sixth_of_what_was_measured() {
        let measured = [
            (1024, 1, 206.0),
            (1024, 2, 196.0),
            (2048, 2, 279.0),
            (4096, 1, 400.0),
            (4096, 2, 443.0),
        ];
        for (cells, n_threads, peak) in measured {
            let sizes = Sizes {
                n_threads,
                n_translated: 1,
                ..sizes(14.2, 15.2)
            };
            let ratio = memory(cells, &sizes).total() / (peak * 1e6);
            assert!(
                (0.86..1.17).contains(&ratio),
                "{cells} {n_threads}: {ratio}"
            );
        }
    }

    #[test]
    fn a_moving_average_is_a_set_of_weights() {
        let config = Preset::Tiny.config(6000, 6000);
        let mut experiment = Experiment::for_preset(Preset::Tiny);
        let sizes = sizes(14.0, 15.0);
        let without = Memory::of(&experiment, &config, &sizes).parameters;
        experiment.training.ema_decay = Some(0.99);
        let with = Memory::of(&experiment, &config, &sizes).parameters;
        assert_eq!(with - without, 4.0 * config.parameter_count() as f64);
    }
}
