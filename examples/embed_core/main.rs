//! `cargo run -p examples --example embed_core`: transformer-core alone, in a Burn program of your own.
//!
//! A small Transformer learns to sort digits. Optimizer and loss are Burn's, data and training loop are in this
//! file; transformer-core provides the model, the batches and the choice of the device.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::env;
use std::time::Instant;

use anyhow::{Context, Result};
use burn::module::Module;
use burn::nn::loss::{CrossEntropyLoss, CrossEntropyLossConfig};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Int, Tensor};
use transformer_core::text::{BOS, EOS, N_SPECIAL, PAD};
use transformer_core::{Padded, Transformer, TransformerConfig, device, seed_dropout};

const SEED: u64 = 1;
const N_UPDATES: usize = 1000;
const BATCH: usize = 64;
/// Of the first update; decreases linearly to zero.
const LEARNING_RATE: f64 = 3e-3;
/// Maximum length of a sequence, in digits.
const MAX_LEN: usize = 7;
const N_TEST: usize = 500;

/// Digits as token ids: the special tokens come first.
type Ids = Vec<u32>;

fn main() -> Result<()> {
    let requested = env::var("BURN_DEVICE").ok();
    let (backend, device) = device::choose(requested.as_deref())?;
    println!("backend {backend}; learning to sort up to {MAX_LEN} digits");

    let started = Instant::now();
    let model = train(&device)?;
    println!(
        "{N_UPDATES} updates in {:.0} s",
        started.elapsed().as_secs_f64()
    );

    // Drawn with another seed; hardly any of the long ones was among the 64,000 of the training.
    let mut random = Random(SEED + 1);
    let test: Vec<Ids> = (0..N_TEST).map(|_| random.digits()).collect();
    let sorted = decode(&model, &test, &device);
    for (digits, found) in test.iter().zip(&sorted).take(5) {
        println!("{:>7} → {}", text(digits), text(found));
    }
    let right = test
        .iter()
        .zip(&sorted)
        .filter(|(digits, found)| sort(digits) == **found);
    let percent = 100.0 * right.count() as f64 / N_TEST as f64;
    println!("{percent:.1}% of {N_TEST} are sorted right");
    anyhow::ensure!(percent > 90.0, "the model has not learnt to sort");
    Ok(())
}

/// Trains a model from scratch with teacher forcing.
fn train(device: &Device) -> Result<Transformer> {
    let vocab = N_SPECIAL + 10;
    let config = TransformerConfig {
        d_model: 32,
        d_ff: 64,
        n_heads: 2,
        n_encoder_layers: 2,
        n_decoder_layers: 2,
        dropout: 0.0,
        ..TransformerConfig::tiny(vocab, vocab)
    };
    // Autodiff belongs to the device: operations on tensors of this one are recorded for the backward pass.
    let device = device.clone().autodiff();
    device.seed(SEED);
    seed_dropout(&device, SEED);
    let mut model = config
        .init(&device)
        .context("the config describes no model")?;
    let mut optimizer = AdamConfig::new().with_beta_2(0.98).init();
    let cross_entropy = CrossEntropyLossConfig::new()
        .with_pad_tokens(Some(vec![PAD as usize]))
        .init(&device);

    let mut random = Random(SEED);
    for update in 0..N_UPDATES {
        let digits: Vec<Ids> = (0..BATCH).map(|_| random.digits()).collect();
        let loss = loss(&model, &digits, &cross_entropy, &device);
        if update % 200 == 199 {
            println!(
                "update {:>4}  loss {:.4}",
                update + 1,
                loss.clone().into_scalar::<f32>()
            );
        }
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        let remaining = 1.0 - update as f64 / N_UPDATES as f64;
        model = optimizer.step(LEARNING_RATE * remaining, model, gradients);
    }
    Ok(model.valid())
}

/// Pads sources to one batch. Each ends with EOS, as in all programs of this repository.
fn sources(digits: &[Ids], device: &Device) -> Padded {
    let ended = digits.iter().map(|digits| [&digits[..], &[EOS]].concat());
    Padded::new(&ended.collect::<Vec<Ids>>(), device)
}

/// Computes the mean loss per target token: the decoder reads BOS and the answer, and predicts the answer and
/// EOS, one position ahead.
fn loss(
    model: &Transformer,
    digits: &[Ids],
    cross_entropy: &CrossEntropyLoss,
    device: &Device,
) -> Tensor<1> {
    let answers: Vec<Ids> = digits.iter().map(|digits| sort(digits)).collect();
    let inputs: Vec<Ids> = answers
        .iter()
        .map(|ids| [&[BOS], &ids[..]].concat())
        .collect();
    let labels: Vec<Ids> = answers
        .iter()
        .map(|ids| [&ids[..], &[EOS]].concat())
        .collect();
    let logits = model.forward(&sources(digits, device), Padded::new(&inputs, device).ids());
    let [batch, tgt_len, vocab] = logits.dims();
    let labels = Padded::new(&labels, device).ids();
    cross_entropy.forward(
        logits.reshape([batch * tgt_len, vocab]),
        labels.reshape([batch * tgt_len]),
    )
}

/// Decodes greedily: the likeliest token of each step is the input of the next, up to EOS.
fn decode(model: &Transformer, digits: &[Ids], device: &Device) -> Vec<Ids> {
    let memory = model.encode(&sources(digits, device));
    let mut state = model.begin(&memory);
    let mut last = Tensor::<2, Int>::full([digits.len(), 1], BOS, device);
    let mut answers = vec![Ids::new(); digits.len()];
    for _ in 0..=MAX_LEN {
        let logits = model.decode(last, &mut state); // [batch, 1, vocab]
        last = logits.argmax(2).reshape([digits.len(), 1]);
        let ids = last.clone().into_data();
        for (answer, id) in answers.iter_mut().zip(ids.iter::<u32>()) {
            answer.push(id);
        }
    }
    for answer in &mut answers {
        let end = answer.iter().position(|&id| id == EOS);
        answer.truncate(end.unwrap_or(answer.len()));
    }
    answers
}

fn sort(digits: &[u32]) -> Ids {
    let mut sorted = digits.to_vec();
    sorted.sort_unstable();
    sorted
}

/// Returns digits as text.
fn text(ids: &[u32]) -> String {
    let digit = |&id: &u32| {
        let digit = id.checked_sub(N_SPECIAL as u32);
        digit
            .and_then(|digit| char::from_digit(digit, 10))
            .unwrap_or('?')
    };
    ids.iter().map(digit).collect()
}

/// A pseudo-random number generator: SplitMix64 (Steele et al. 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % n
    }

    /// Draws from 1 to `MAX_LEN` digits.
    fn digits(&mut self) -> Ids {
        let len = 1 + self.below(MAX_LEN as u64);
        (0..len)
            .map(|_| N_SPECIAL as u32 + self.below(10) as u32)
            .collect()
    }
}
