//! `cargo run -p examples --example reverse`: learns to reverse letters, and shows the attention of a head.
//!
//! To write letters backwards, the decoder attends to them from the last to the first. So the cross-attention of some
//! head becomes an anti-diagonal, and this program finds the head with the clearest one.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::env;
use std::time::Instant;

use anyhow::{Context, Result};
use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Tensor};
use transformer_core::text::{BOS, EOS, N_SPECIAL, PAD};
use transformer_core::{
    AttentionMaps, AttentionMasks, Padded, Transformer, TransformerConfig, device, seed_dropout,
};
use transformer_infer::allocator;
use transformer_infer::search::Search;
use transformer_infer::{BatchLimits, translate_ids};
use transformer_train::tasks::{Split, Task};

const SEED: u64 = 1;
const N_UPDATES: usize = 500;
const BATCH: usize = 64;
/// Of the first update; decreases linearly to zero.
const LEARNING_RATE: f64 = 3e-3;
/// Maximum length of a sequence, in letters.
const MAX_LEN: usize = 10;
const N_TEST: usize = 500;
/// The word that the attention is drawn for.
const WORD: &str = "attention";

/// Letters as token ids: the special tokens come first.
type Ids = Vec<u32>;

fn main() -> Result<()> {
    allocator::keep_freed_memory();
    let requested = env::var("BURN_DEVICE").ok();
    let (backend, device) = device::choose(requested.as_deref())?;
    println!("backend {backend}; learning to reverse up to {MAX_LEN} letters");
    let started = Instant::now();
    let model = train(&device)?;
    let seconds = started.elapsed().as_secs_f64();
    println!("{N_UPDATES} updates in {seconds:.0} s");

    let test = words(Split::Test, N_TEST);
    let found = translate_ids(&model, &test, &Search::greedy(), &BatchLimits::default());
    let right = test
        .iter()
        .zip(&found)
        .filter(|(word, found)| reversed(word) == found[0].ids);
    let percent = 100.0 * right.count() as f64 / test.len() as f64;
    println!(
        "{percent:.1}% of {} held out are reversed exactly\n",
        test.len()
    );
    anyhow::ensure!(percent > 90.0, "the model has not learnt to reverse");

    println!("share of each head's attention that lies on the letter to be written:");
    let maps = cross_attention(&model, &test, &device);
    let mut clearest = (0, 0, 0.0);
    for (layer, map) in maps.iter().enumerate() {
        print!("  decoder layer {}", layer + 1);
        for (head, share) in on_anti_diagonal(map, &test).into_iter().enumerate() {
            print!("  {:5.1}%", 100.0 * share);
            if share > clearest.2 {
                clearest = (layer, head, share);
            }
        }
        println!();
    }
    let (layer, head, _) = clearest;
    let (layer_number, head_number) = (layer + 1, head + 1);
    println!("the clearest is head {head_number} of layer {layer_number}:\n");
    let word = ids(WORD);
    let maps = cross_attention(&model, std::slice::from_ref(&word), &device);
    draw(maps[layer].clone().narrow(1, head, 1), &word);
    Ok(())
}

/// Trains a model from scratch with teacher forcing.
fn train(device: &Device) -> Result<Transformer> {
    let vocab = N_SPECIAL + 26;
    let config = TransformerConfig {
        d_model: 64,
        d_ff: 128,
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

    let words = words(Split::Train, N_UPDATES * BATCH);
    for (update, words) in words.chunks(BATCH).enumerate() {
        let answers: Vec<Ids> = words.iter().map(|word| reversed(word)).collect();
        let src = padded(&[], words, &[EOS], &device); // EOS marks the last letter for the encoder
        let tgt = padded(&[BOS], &answers, &[], &device).ids();
        let labels = padded(&[], &answers, &[EOS], &device).ids();
        let logits = model.forward(&src, tgt);
        let [batch, tgt_len, vocab] = logits.dims();
        let logits = logits.reshape([batch * tgt_len, vocab]);
        let loss = cross_entropy.forward(logits, labels.reshape([batch * tgt_len]));
        if update % 100 == 99 {
            let loss = loss.clone().into_scalar::<f32>();
            println!("update {:>4}  loss {loss:.4}", update + 1);
        }
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        let remaining = 1.0 - update as f64 / N_UPDATES as f64;
        model = optimizer.step(LEARNING_RATE * remaining, model, gradients);
    }
    Ok(model.valid())
}

/// Returns the sequences of a split without the long ones. Splits never overlap.
fn words(split: Split, n_words: usize) -> Vec<Ids> {
    let pairs = Task::Reverse.pairs(split, 3 * n_words, SEED).into_iter();
    let words = pairs.map(|(letters, _)| ids(&letters));
    words
        .filter(|word| word.len() <= MAX_LEN)
        .take(n_words)
        .collect()
}

/// Pads rows that begin and end with the given tokens.
fn padded(begin: &[u32], words: &[Ids], end: &[u32], device: &Device) -> Padded {
    let rows = words.iter().map(|word| [begin, &word[..], end].concat());
    Padded::new(&rows.collect::<Vec<_>>(), device)
}

/// Returns the cross-attention weights of every decoder layer, `[batch, n_heads, tgt_len, src_len]`.
fn cross_attention(model: &Transformer, words: &[Ids], device: &Device) -> Vec<Tensor<4>> {
    let mut maps = AttentionMaps::default();
    let no_masks = AttentionMasks::default();
    let answers: Vec<Ids> = words.iter().map(|word| reversed(word)).collect();
    let src = padded(&[], words, &[EOS], device);
    let tgt = padded(&[BOS], &answers, &[], device).ids();
    let _ = model.forward_with(&src, tgt, &no_masks, Some(&mut maps));
    maps.cross
}

/// Returns each head's mean weight, over all steps `t`, on the letter that is written: `n - 1 - t` of `n`.
fn on_anti_diagonal(map: &Tensor<4>, words: &[Ids]) -> Vec<f64> {
    let [_, n_heads, tgt_len, src_len] = map.dims();
    let weights: Vec<f32> = map.clone().into_data().iter::<f32>().collect();
    let n_letters: usize = words.iter().map(Vec::len).sum();
    let mean = |head| {
        let steps = words.iter().enumerate().flat_map(|(row, word)| {
            let queries = (row * n_heads + head) * tgt_len..;
            queries.zip((0..word.len()).rev())
        });
        let sum: f64 = steps
            .map(|(query, letter)| f64::from(weights[query * src_len + letter]))
            .sum();
        sum / n_letters as f64
    };
    (0..n_heads).map(mean).collect()
}

/// Draws one head's map of one word: a row for each letter written, a column for each letter read.
fn draw(map: Tensor<4>, word: &[u32]) {
    let [_, _, _, src_len] = map.dims();
    let weights: Vec<f32> = map.into_data().iter::<f32>().collect();
    let shade = |weight: &f32| ["· ", "░░", "▒▒", "▓▓", "██"][((weight * 5.0) as usize).min(4)];
    let letter = |id: &u32| char::from(b'a' + (id - N_SPECIAL as u32) as u8);
    let read: String = word.iter().map(|id| format!("{} ", letter(id))).collect();
    println!("    {read}end");
    for (id, row) in reversed(word).iter().zip(weights.chunks(src_len)) {
        let cells: String = row.iter().map(shade).collect();
        println!("  {} {cells}", letter(id));
    }
}

fn reversed(word: &[u32]) -> Ids {
    word.iter().rev().copied().collect()
}

/// Returns the ids of the letters of a text.
fn ids(text: &str) -> Ids {
    let letters = text.bytes().filter(u8::is_ascii_lowercase);
    letters
        .map(|letter| N_SPECIAL as u32 + u32::from(letter - b'a'))
        .collect()
}
