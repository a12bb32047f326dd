//! `cargo run -p examples --example bert`: an encoder alone, as BERT is, learns to fill gaps from both sides.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

mod model;
mod text;

use std::{env, slice};

use anyhow::Result;
use transformer_core::random::SplitMix64;
use transformer_core::{TransformerConfig, device};

use crate::model::{BATCH, LEN, Rows, config, loss, train};
use crate::text::{MASK, Text, compare, rows, tensor};

/// The share of characters that the model has to predict (Devlin et al. 2019, §3.1).
const PREDICTED: f64 = 0.15;

fn main() -> Result<()> {
    let requested = env::var("BURN_DEVICE").ok();
    let (backend, device) = device::choose(requested.as_deref())?;
    let text = Text::read()?;
    println!("backend {backend}; BERT on {} characters", text.train.len());
    let mut random = SplitMix64::new(1);
    // A hidden character itself carries no information: everything comes from attention. Restricted to three characters
    // on either side (§4), it learns within a minute to look there; over the whole row, it takes far longer.
    let config = TransformerConfig {
        encoder_window: Some(3),
        ..config(text.vocab_size())
    };
    let bert = train(
        &config,
        &device,
        |_| None,
        || {
            let rows = rows(&text.train, BATCH, LEN, &mut random);
            masked(rows, &text, &mut random)
        },
    )?;

    let mut random = SplitMix64::new(2);
    let valid = rows(&text.valid, 200, LEN, &mut random);
    let valid = masked(valid, &text, &mut random);
    let loss = loss(&bert, valid, None, &device).into_scalar::<f32>();
    compare(f64::from(loss), &text)?;

    // Every eighth character is a gap.
    let whole = &text.valid[..LEN];
    let is_gap = |at: usize| at % 8 == 5;
    let gaps = (0..LEN).map(|at| if is_gap(at) { MASK } else { whole[at] });
    let gaps: Vec<i64> = gaps.collect();
    let likeliest = bert
        .forward(tensor(slice::from_ref(&gaps), &device), None)
        .argmax(2)
        .into_data();
    let likeliest: Vec<i64> = likeliest.iter::<i64>().collect();
    let filled = (0..LEN).map(|at| if is_gap(at) { likeliest[at] } else { whole[at] });
    let filled: Vec<i64> = filled.collect();
    println!("{:?}\n→ {:?}", text.decode(&gaps), text.decode(&filled));
    Ok(())
}

/// Makes inputs and labels: of the characters to predict, 8 of 10 are hidden, one is replaced by another character, and
/// one is unchanged. The labels of all others are [`MASK`], which has no loss.
fn masked(rows: Vec<Vec<i64>>, text: &Text, random: &mut SplitMix64) -> Rows {
    let mut labels = vec![vec![MASK; LEN]; rows.len()];
    let mut inputs = rows;
    for (input, label) in inputs.iter_mut().flatten().zip(labels.iter_mut().flatten()) {
        if random.uniform() >= PREDICTED {
            continue;
        }
        *label = *input;
        match random.below(10) {
            0 => {}
            1 => *input = 1 + random.below(text.vocab_size() as u64 - 1) as i64,
            _ => *input = MASK,
        }
    }
    (inputs, labels)
}
