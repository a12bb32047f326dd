//! `cargo run -p examples --example gpt`: a decoder alone, like GPT-2, learns to continue text.
//!
//! A decoder without an encoder has no attention to a memory. The rest of its layers is an encoder's layer under a
//! causal mask.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

mod model;
mod text;

use std::{env, slice};

use anyhow::{Context, Result};
use burn::tensor::{Device, activation};
use transformer_core::model::LanguageModel;
use transformer_core::random::SplitMix64;
use transformer_core::{Mask, device};

use crate::model::{BATCH, LEN, Rows, config, loss, train};
use crate::text::{Text, compare, rows, tensor};

fn main() -> Result<()> {
    let requested = env::var("BURN_DEVICE").ok();
    let (backend, device) = device::choose(requested.as_deref())?;
    let text = Text::read()?;
    println!("backend {backend}; GPT on {} characters", text.train.len());
    let config = config(text.vocab_size());
    let causal = |device: &Device| Mask::causal(0, LEN, device);
    let mut random = SplitMix64::new(1);
    let gpt = train(&config, &device, causal, || {
        shifted(rows(&text.train, BATCH, LEN + 1, &mut random))
    })?;

    let valid = shifted(rows(&text.valid, 200, LEN + 1, &mut SplitMix64::new(2)));
    let loss = loss(&gpt, valid, causal(&device), &device).into_scalar::<f32>();
    compare(f64::from(loss), &text)?;
    let begin = &text.valid[..LEN / 2];
    let continued = continuation(&gpt, begin, &device)?;
    println!("{:?} → {:?}", text.decode(begin), text.decode(&continued));
    Ok(())
}

/// Makes inputs and labels: each character predicts the next one.
fn shifted(rows: Vec<Vec<i64>>) -> Rows {
    let inputs = rows.iter().map(|row| row[..LEN].to_vec()).collect();
    (
        inputs,
        rows.into_iter().map(|row| row[1..].to_vec()).collect(),
    )
}

/// Draws the characters that follow, up to the length of a row.
fn continuation(gpt: &LanguageModel, begin: &[i64], device: &Device) -> Result<Vec<i64>> {
    let (mut ids, mut random) = (begin.to_vec(), SplitMix64::new(3));
    while ids.len() < LEN {
        let logits = gpt.forward(
            tensor(slice::from_ref(&ids), device),
            Mask::causal(0, ids.len(), device),
        );
        let last = logits.narrow(1, ids.len() - 1, 1); // [1, 1, vocab]
        let probs: Vec<f64> = activation::softmax(last, 2)
            .into_data()
            .iter::<f64>()
            .collect();
        let drawn = random.uniform();
        let mut sum = 0.0;
        let id = probs.iter().position(|prob| {
            sum += prob;
            sum > drawn
        });
        // Rounding may leave the sum of all below 1.
        ids.push(
            id.or(probs.len().checked_sub(1))
                .context("there is a vocabulary")? as i64,
        );
    }
    Ok(ids[begin.len()..].to_vec())
}
