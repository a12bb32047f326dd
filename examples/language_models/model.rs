//! The common parts of both examples: the sizes of their language model, its loss, and its training.

use std::time::Instant;

use anyhow::Result;
use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Tensor};
use transformer_core::config::{Activation, NormPlacement};
use transformer_core::model::LanguageModel;
use transformer_core::{Mask, TransformerConfig, seed_dropout};

use crate::text::{MASK, tensor};

/// Characters of a row.
pub(crate) const LEN: usize = 64;
/// Rows of an update.
pub(crate) const BATCH: usize = 24;
const SEED: u64 = 1;
const N_UPDATES: usize = 800;
/// Number of updates in which the learning rate rises.
const N_WARMUP: usize = 40;
const LEARNING_RATE: f64 = 4e-3;

/// It has the paper's sinusoids and initialization, with which such a small model soon learns to look at its neighbors,
/// and from GPT-2 the GELU and the normalization before each sub-layer. GPT-2's learned positions and
/// `Initialization::Bert` are for longer training.
pub(crate) fn config(vocab_size: usize) -> TransformerConfig {
    TransformerConfig {
        d_model: 64,
        d_ff: 256,
        n_encoder_layers: 2,
        norm_placement: NormPlacement::Pre,
        final_norm: true,
        activation: Activation::Gelu,
        dropout: 0.0,
        ..TransformerConfig::tiny(vocab_size, vocab_size)
    }
}

/// Returns the mean loss of the labels that are not [`MASK`], in nats.
pub(crate) fn loss(
    model: &LanguageModel,
    (inputs, labels): Rows,
    mask: Option<Mask>,
    device: &Device,
) -> Tensor<1> {
    let logits = model.forward(tensor(&inputs, device), mask);
    let [batch, len, vocab] = logits.dims();
    let labels = tensor(&labels, device).reshape([batch * len]);
    let cross_entropy = CrossEntropyLossConfig::new().with_pad_tokens(Some(vec![MASK as usize]));
    cross_entropy
        .init(device)
        .forward(logits.reshape([batch * len, vocab]), labels)
}

/// Rows of inputs, and of labels.
pub(crate) type Rows = (Vec<Vec<i64>>, Vec<Vec<i64>>);

/// Trains a model on the batches that `draw` returns, and prints the falling loss. `mask` hides keys from attention.
pub(crate) fn train(
    config: &TransformerConfig,
    device: &Device,
    mask: impl Fn(&Device) -> Option<Mask>,
    mut draw: impl FnMut() -> Rows,
) -> Result<LanguageModel> {
    let device = device.clone().autodiff();
    device.seed(SEED);
    seed_dropout(&device, SEED);
    let mut model = LanguageModel::init(config.src_vocab_size, config, &device)?;
    println!("{} parameters", model.num_params());
    let mut optimizer = AdamConfig::new().with_beta_2(0.98).init();
    let started = Instant::now();
    for update in 0..N_UPDATES {
        let loss = loss(&model, draw(), mask(&device), &device);
        if update == 0 || update % 160 == 159 {
            let nats = loss.clone().into_scalar::<f32>();
            println!("update {:>3}  loss {nats:.3}", update + 1);
        }
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        let rise = (update + 1) as f64 / N_WARMUP as f64;
        let fall = (N_UPDATES - update) as f64 / (N_UPDATES - N_WARMUP) as f64;
        model = optimizer.step(LEARNING_RATE * rise.min(fall), model, gradients);
    }
    println!(
        "{N_UPDATES} updates in {:.0} s",
        started.elapsed().as_secs_f64()
    );
    Ok(model.valid())
}
