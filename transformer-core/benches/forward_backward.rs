//! Time of a forward and backward pass: a training step without its optimizer.
//!
//! Run `cargo bench --profile dev -p transformer-core --features bench`. The profile is that of programs and tests;
//! `BURN_DEVICE` chooses among the compiled-in backends. A batch has 8 sentences of 32 tokens on both sides, without
//! padding; the vocabularies have 8000 tokens. Dropout is that of the preset.

use std::hint::black_box;
use std::time::Duration;

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Int, Tensor, activation};
use criterion::Criterion;
use transformer_core::text::N_SPECIAL;
use transformer_core::{
    AttentionMaps, AttentionMasks, Padded, Preset, Transformer, device, seed_dropout,
};

const VOCAB: usize = 8000;
const N_ROWS: usize = 8;
const LEN: usize = 32;

/// A model in training, and a batch.
struct Bench {
    model: Transformer,
    src: Padded,
    /// `[batch, tgt_len]`.
    tgt: Tensor<2, Int>,
    /// `[batch, tgt_len, 1]`, the gold tokens.
    labels: Tensor<3, Int>,
}

impl Bench {
    #[expect(
        clippy::disallowed_methods,
        reason = "a benchmark is alone in its process"
    )]
    fn new(preset: Preset, device: &Device) -> Self {
        device.seed(1);
        seed_dropout(device, 1);
        let config = preset.config(VOCAB, VOCAB);
        let model = config.init(device).expect("presets are valid").train();
        let tgt = Padded::new(&sentences(2), device).ids();
        let labels = Padded::new(&sentences(3), device).ids();
        Self {
            model,
            src: Padded::new(&sentences(1), device),
            tgt,
            labels: labels.unsqueeze_dim(2),
        }
    }

    /// Computes the gradient of the mean negative log-likelihood with respect to all parameters.
    fn step(&self, maps: Option<&mut AttentionMaps>) -> GradientsParams {
        let masks = AttentionMasks::default();
        let logits = self
            .model
            .forward_with(&self.src, self.tgt.clone(), &masks, maps);
        let log_probs = activation::log_softmax(logits, 2);
        let loss = log_probs.gather(2, self.labels.clone()).mean().neg();
        let gradients = GradientsParams::from_grads(loss.backward(), &self.model);
        let device = self.model.device();
        device.sync().expect("the device finishes its operations");
        gradients
    }
}

/// Generates different sentences.
fn sentences(seed: usize) -> Vec<Vec<u32>> {
    let token = |index: usize| (N_SPECIAL + index * 2_654_435_761 % (VOCAB - N_SPECIAL)) as u32;
    let first = seed * N_ROWS * LEN;
    let tokens: Vec<u32> = (first..first + N_ROWS * LEN).map(token).collect();
    tokens.chunks(LEN).map(<[u32]>::to_vec).collect()
}

fn main() {
    let requested = std::env::var("BURN_DEVICE").ok();
    let (_, device) = device::choose(requested.as_deref()).expect("a backend is compiled in");
    let device = device.autodiff();
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_secs(2))
        .measurement_time(Duration::from_secs(10))
        .configure_from_args();
    for preset in [Preset::Tiny, Preset::Base] {
        let bench = Bench::new(preset, &device);
        criterion.bench_function(&format!("{preset}, forward and backward"), |timer| {
            timer.iter(|| black_box(bench.step(None)));
        });
        criterion.bench_function(&format!("{preset}, with attention maps"), |timer| {
            timer.iter(|| {
                let mut maps = AttentionMaps::default();
                black_box((bench.step(Some(&mut maps)), maps))
            });
        });
    }
    criterion.final_summary();
}
