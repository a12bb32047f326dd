//! An estimate of the memory that a run takes.

use std::fs;
use std::path::Path;

use transformer_core::TransformerConfig;
use transformer_core::config::{AdapterTarget, Mixing, NormKind};
use transformer_translate::BatchLimits;

use crate::config::{Checkpointing, Experiment};
use crate::step::chunk_len;

pub(super) const BYTES_PER_VALUE: f64 = 4.0;

/// Memory of the process without its model and data, in bytes: code, the tokenizer, and memory freed after the text is
/// read. Measured with 30,000 and 100,000 pairs.
pub(super) const PROGRAM: f64 = 6e7;

/// Chunks of logits per thread if the loss is computed in CPU memory: one buffer (measurements in docs/lab-notes.md).
const CHUNKS_ON_CPU: f64 = 1.0;

/// Chunks of logits per thread if the loss is computed with tensor operations: logits, their exponentials, and a matrix
/// product with them. Fitted to nine runs on flex, from a time when flex computed the loss this way.
const CHUNKS_ON_DEVICE: f64 = 3.0;

/// Values per token and feature that the backward pass of a recurrence needs: the gate, its complement, the candidate,
/// the output, and those of the scan. Fitted to runs on flex with 2 and 6 layers of 256 features.
const RECURRENCE: f64 = 12.0;

/// Returns the memory of the machine or container in bytes, if the system reports it in files (Linux).
pub(super) fn available_memory() -> Option<f64> {
    let limits = LIMITS.iter().filter_map(|path| limit(Path::new(path)));
    limits.chain(machine_memory()).reduce(f64::min)
}

/// Files with the memory limit of a container, for control groups of either version.
const LIMITS: [&str; 2] = [
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
];

/// Reads a limit; `max` means no limit.
fn limit(path: &Path) -> Option<f64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn machine_memory() -> Option<f64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(1024.0 * kibibytes)
}

/// An estimate of the peak memory of a run, in bytes.
///
/// The parts are added: each thread has its own heap, and memory freed by one thread is not available to another.
pub(super) struct MemoryEstimate {
    /// Weights, gradients, Adam's two moments and the moving average: 16 or 20 bytes per parameter, and 4 for the
    /// gradients of each thread. A frozen parameter takes 4 or 8. A pre-softmax matrix with an adapter takes 4 more for
    /// each thread.
    pub(super) parameters: f64,
    pub(super) activations: f64,
    pub(super) logits: f64,
    /// Keys and values of the largest batch that is translated, if no translation ends early.
    pub(super) translation: f64,
    pub(super) text: f64,
}

pub(super) struct Sizes {
    /// Mean length of a source with EOS, in tokens.
    pub(super) src_width: f64,
    /// Mean length of a target with EOS, in tokens.
    pub(super) tgt_width: f64,
    pub(super) n_threads: usize,
    /// True if tensors are in CPU memory, and not in that of a GPU.
    pub(super) is_cpu_memory: bool,
    /// Number of sentences to translate, at once if they fit into a batch.
    pub(super) n_translated: usize,
    pub(super) store_bytes: usize,
}

impl MemoryEstimate {
    pub(super) fn new(experiment: &Experiment, config: &TransformerConfig, sizes: &Sizes) -> Self {
        let training = &experiment.training;
        let budget = training.tokens_per_batch as f64;
        let (src_tokens, tgt_tokens) = match sizes.src_width > sizes.tgt_width {
            true => (budget, budget * sizes.tgt_width / sizes.src_width),
            false => (budget * sizes.src_width / sizes.tgt_width, budget),
        };
        let n_threads = sizes.n_threads as f64;
        let tokens_per_thread = (tgt_tokens / n_threads).ceil().max(1.0) as usize;
        let vocab_size = config.tgt_vocab_size;
        let chunk = chunk_len(vocab_size, tokens_per_thread, sizes.is_cpu_memory) * vocab_size;
        let chunks = match sizes.is_cpu_memory {
            true => CHUNKS_ON_CPU,
            false => CHUNKS_ON_DEVICE,
        };
        let with_average = f64::from(u8::from(training.ema_decay.is_some()));
        let copies = 4.0 + with_average + n_threads;
        let (frozen, trained) = n_frozen_and_trained(experiment, config);
        let joined = n_threads * joined_matrix(experiment, config);
        let values = copies * trained + (1.0 + with_average) * frozen + joined;
        Self {
            parameters: BYTES_PER_VALUE * values,
            activations: activations(
                config,
                [src_tokens, tgt_tokens],
                sizes,
                training.checkpointing,
            ),
            logits: BYTES_PER_VALUE * chunks * n_threads * chunk as f64,
            translation: translation(experiment, config, sizes),
            text: sizes.store_bytes as f64,
        }
    }

    pub(super) fn total(&self) -> f64 {
        let of_updates = self.parameters + self.activations + self.logits;
        PROGRAM + of_updates + self.translation + self.text
    }
}

/// Returns the number of values of the pre-softmax matrix joined in one buffer with `A` of its adapter, or with its
/// trained rows; 0 if it has neither.
fn joined_matrix(experiment: &Experiment, config: &TransformerConfig) -> f64 {
    let adapters = &experiment.adapters;
    let is_adapted = adapters.targets.contains(&AdapterTarget::Embeddings);
    let width = match (adapters.is_on(), adapters.trained_tokens > 0, is_adapted) {
        (true, true, _) => config.d_model,
        (true, false, true) => config.d_model + adapters.rank,
        _ => 0,
    };
    (config.tgt_vocab_size * width) as f64
}

/// Returns the number of parameters without gradients and moments, and of all others.
pub(super) fn n_frozen_and_trained(
    experiment: &Experiment,
    config: &TransformerConfig,
) -> (f64, f64) {
    let n_parameters = config.parameter_count() as f64;
    // Trained biases and normalizations are counted twice; they are few.
    match experiment.adapters.is_on() {
        true => (
            n_parameters,
            experiment.adapters.parameter_count(config) as f64,
        ),
        false => (0.0, n_parameters),
    }
}

/// Returns the bytes of the values that the autodiff graph keeps for a batch of `src` and `tgt` tokens, padding
/// included: the inputs of every matrix product and normalization, and the attention weights before and after dropout.
/// Outside CPU memory it also keeps the intermediate results of normalizations, and the masks of dropout. If layers are
/// recomputed, it keeps the inputs of all layers and the values of the largest layer.
fn activations(
    config: &TransformerConfig,
    [src, tgt]: [f64; 2],
    sizes: &Sizes,
    checkpointing: Checkpointing,
) -> f64 {
    let (src_width, tgt_width) = (sizes.src_width, sizes.tgt_width);
    let d = config.d_model as f64;
    let heads = config.n_heads as f64;
    let keys = heads * config.head_d_k() as f64;
    let values = heads * config.head_d_v() as f64;
    let weights = if config.attention_dropout > 0.0 || !sizes.is_cpu_memory {
        2.0 * heads
    } else {
        heads
    };
    let attention = |queries: f64, memory: f64, width: f64| {
        queries * (keys + values + d + weights * width) + memory * (keys + values)
    };
    let feed_forward = 2.0 * config.hidden_width() as f64 + d;
    let (residual, embedding, norm) = match sizes.is_cpu_memory {
        true => (d, d, d),
        false => (3.0 * d, 2.0 * d, 2.0 * d),
    };
    // RMSNorm has no kernel for CPUs, so the normalized features are kept, too.
    let unscaled = match config.norm_kind {
        NormKind::Rms if sizes.is_cpu_memory => d,
        _ => 0.0,
    };
    let (residual, norm) = (residual + unscaled, norm + unscaled);
    let encoder = attention(src, src, src_width) + src * (feed_forward + 2.0 * residual);
    let past = match config.decoder_mixing {
        Mixing::Ssru => RECURRENCE * tgt * d,
        _ => attention(tgt, tgt, tgt_width),
    };
    let decoder = past + attention(tgt, src, src_width) + tgt * (feed_forward + 3.0 * residual);
    let depths = [config.n_encoder_layers, config.n_decoder_layers];
    let [n_encoder_layers, n_decoder_layers] = depths.map(|depth| depth as f64);
    let layers = match checkpointing {
        Checkpointing::None => n_encoder_layers * encoder + n_decoder_layers * decoder,
        Checkpointing::Layers => {
            d * (n_encoder_layers * src + n_decoder_layers * tgt) + encoder.max(decoder)
        }
    };
    let n_norms = f64::from(u8::from(config.final_norm) + u8::from(config.embedding_norm));
    let ends = embedding * (src + tgt) + n_norms * norm * (src + tgt) + d * tgt;
    BYTES_PER_VALUE * (layers + ends)
}

/// Returns the bytes of the cached keys and values of all layers, for the largest batch at its maximum length; or of
/// the vectors of a recurrence.
fn translation(experiment: &Experiment, config: &TransformerConfig, sizes: &Sizes) -> f64 {
    let validation = &experiment.validation;
    let budget = BatchLimits::for_model(config).batch_tokens as f64;
    let rows = (sizes.n_translated * validation.beam_size) as f64;
    let rows = rows.min(budget / sizes.src_width);
    let len = sizes.src_width + validation.max_extra_len as f64;
    let of_layer = match config.decoder_mixing {
        Mixing::Ssru => config.d_model as f64,
        _ => len * (config.n_heads * (config.head_d_k() + config.head_d_v())) as f64,
    };
    BYTES_PER_VALUE * rows * config.n_decoder_layers as f64 * of_layer
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
            is_cpu_memory: true,
            n_translated: 10,
            store_bytes: 1000,
        }
    }

    fn memory(tokens_per_batch: usize, sizes: &Sizes) -> MemoryEstimate {
        let mut experiment = Experiment::for_preset(Preset::Tiny);
        experiment.training.tokens_per_batch = tokens_per_batch;
        MemoryEstimate::new(&experiment, &TransformerConfig::tiny(6000, 6000), sizes)
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
    fn activations_grow_with_the_tokens_of_a_batch() {
        let sizes = sizes(12.0, 15.0);
        let [one, three] = [1000, 3000].map(|tokens| memory(tokens, &sizes).activations);
        assert!((three / one - 3.0).abs() < 1e-9);
    }

    #[test]
    fn long_sentences_take_more_memory_for_the_same_number_of_tokens() {
        let [short, long] = [10.0, 100.0].map(|width| memory(1000, &sizes(width, width)));
        assert!(long.activations > short.activations);
    }

    #[test]
    fn a_short_source_takes_less_memory() {
        let short = memory(1000, &sizes(5.0, 20.0)).activations;
        assert!(short < memory(1000, &sizes(20.0, 20.0)).activations);
    }

    /// One encoder layer and no decoder, one head of one feature.
    #[test]
    fn the_activations_of_one_narrow_layer_are_as_counted_by_hand() {
        let config = TransformerConfig {
            d_model: 1,
            d_ff: 2,
            n_heads: 1,
            n_encoder_layers: 1,
            n_decoder_layers: 0,
            ..TransformerConfig::base(5, 5)
        };
        // For each of 6 source tokens: queries, heads and their product 3, attention weights 3, keys and values 2,
        // feed-forward 5, two residuals; the embedding 1. For each of 6 target tokens: embedding and output, 2.
        let expected = 4.0 * 6.0 * (3.0 + 3.0 + 2.0 + 5.0 + 2.0 + 1.0 + 2.0);
        let found = activations(&config, [6.0, 6.0], &sizes(3.0, 3.0), Checkpointing::None);
        assert_eq!(found, expected);
        // On a device, dropout and normalization keep more of weights, residuals and embeddings.
        let on_device = Sizes {
            is_cpu_memory: false,
            ..sizes(3.0, 3.0)
        };
        let expected = 4.0 * 6.0 * (3.0 + 6.0 + 2.0 + 5.0 + 6.0 + 2.0 + 3.0);
        let found = activations(&config, [6.0, 6.0], &on_device, Checkpointing::None);
        assert_eq!(found, expected);
        // The input of one more normalization for each of twelve tokens; on a device, its output too.
        let normalized = TransformerConfig {
            final_norm: true,
            ..config
        };
        for (sizes, more) in [(sizes(3.0, 3.0), 1.0), (on_device, 2.0)] {
            let of = |config| activations(config, [6.0, 6.0], &sizes, Checkpointing::None);
            assert_eq!(of(&normalized) - of(&config), 4.0 * 12.0 * more);
        }
    }

    /// One decoder layer of one feature and 4 tokens: queries, heads, their product, keys, values and 4 weights, or
    /// twelve values of a recurrence.
    #[test]
    fn a_recurrence_keeps_twelve_values_in_place_of_those_of_attention() {
        let of = |decoder_mixing| {
            let config = TransformerConfig {
                d_model: 1,
                d_ff: 2,
                n_heads: 1,
                n_encoder_layers: 0,
                n_decoder_layers: 1,
                decoder_mixing,
                ..TransformerConfig::base(5, 5)
            };
            activations(&config, [0.0, 8.0], &sizes(4.0, 4.0), Checkpointing::None)
        };
        let attention = 4.0 * 8.0 * (3.0 + 4.0 + 2.0);
        let recurrence = 4.0 * 8.0 * 12.0;
        assert_eq!(
            of(Mixing::SelfAttention) - of(Mixing::Ssru),
            attention - recurrence
        );
    }

    #[test]
    fn gates_and_other_norms_take_more() {
        let config = TransformerConfig {
            d_model: 1,
            d_ff: 2,
            n_heads: 1,
            n_encoder_layers: 1,
            n_decoder_layers: 0,
            ..TransformerConfig::base(5, 5)
        };
        let of = |config: &TransformerConfig| {
            let sizes = sizes(3.0, 3.0);
            activations(config, [6.0, 0.0], &sizes, Checkpointing::None)
        };
        let gated = TransformerConfig {
            gated_feed_forward: true,
            ..config.clone()
        };
        let rms = TransformerConfig {
            norm_kind: NormKind::Rms,
            ..config.clone()
        };
        let normalized = TransformerConfig {
            embedding_norm: true,
            ..config.clone()
        };
        // For each of 6 tokens: the gate and its product, two normalizations without their gains, an input.
        for (more, n_values) in [(gated, 4.0), (rms, 2.0), (normalized, 1.0)] {
            assert_eq!(of(&more) - of(&config), 4.0 * 6.0 * n_values);
        }
    }

    #[test]
    fn layers_that_are_computed_again_keep_their_inputs_and_one_layer() {
        let of = |n_layers, checkpointing| {
            let config = TransformerConfig {
                n_encoder_layers: n_layers,
                n_decoder_layers: 0,
                ..TransformerConfig::base(5, 5)
            };
            activations(&config, [6.0, 0.0], &sizes(3.0, 3.0), checkpointing)
        };
        let one_layer = of(1, Checkpointing::None) - of(0, Checkpointing::None);
        let inputs = 4.0 * 7.0 * 6.0 * 512.0;
        let expected = of(0, Checkpointing::None) + one_layer + inputs;
        assert_eq!(of(7, Checkpointing::Layers), expected);
    }

    /// The measured peaks of docs/lab-notes.md, in megabytes: 6000 pairs of Multi30k, 4 updates.
    #[test]
    fn the_estimate_is_within_a_sixth_of_the_measurement() {
        let measured = [
            (1024, 1, 206.0),
            (1024, 2, 196.0),
            (2048, 2, 279.0),
            (4096, 1, 400.0),
            (4096, 2, 443.0),
        ];
        for (tokens, n_threads, peak) in measured {
            let sizes = Sizes {
                n_threads,
                n_translated: 1,
                ..sizes(14.2, 15.2)
            };
            let ratio = memory(tokens, &sizes).total() / (peak * 1e6);
            assert!(
                (0.86..1.17).contains(&ratio),
                "{tokens} {n_threads}: {ratio}"
            );
        }
    }

    #[test]
    fn a_moving_average_takes_as_much_memory_as_the_weights() {
        let config = Preset::Tiny.config(6000, 6000);
        let mut experiment = Experiment::for_preset(Preset::Tiny);
        let sizes = sizes(14.0, 15.0);
        let without = MemoryEstimate::new(&experiment, &config, &sizes).parameters;
        experiment.training.ema_decay = Some(0.99);
        let with = MemoryEstimate::new(&experiment, &config, &sizes).parameters;
        assert_eq!(with - without, 4.0 * config.parameter_count() as f64);
    }
}
