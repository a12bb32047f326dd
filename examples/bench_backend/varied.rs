//! Memory over many updates, of which no two need have the same shape: it must not grow.

use std::hash::{DefaultHasher, Hash, Hasher};

use anyhow::Result;
use burn::tensor::Device;
use serde_json::json;
use transformer_core::TransformerConfig;
use transformer_train::SentencePair;

use crate::occupied::Occupied;
use crate::training::Training;
use crate::{say, sentences};

/// How often memory is looked at.
const N_LOOKS: u64 = 20;

/// Target tokens of an update, with padding, as of 32 sentences of 32.
const BUDGET: usize = 1024;

/// Most tokens of a sentence, without EOS.
const MOST_TOKENS: usize = 63;

/// Makes updates of about as many tokens, in sentences of ever other lengths, and prints now and then what memory
/// they take.
pub(crate) fn measure(
    config: &TransformerConfig,
    device: &Device,
    n_threads: usize,
    n_updates: u64,
    occupied: &Occupied,
) -> Result<()> {
    let mut training = Training::new(config, device, n_threads)?;
    for update in 1..=n_updates {
        training.take(pairs_of_any_length(update), update);
        training.update()?;
        let n_looks = |n_made: u64| n_made * N_LOOKS / n_updates;
        if n_looks(update) > n_looks(update - 1) {
            let mut look = occupied.now();
            look["update"] = update.into();
            say(&json!({ "varied": look }))?;
        }
    }
    Ok(())
}

/// Makes sentences of lengths that the number of the update decides, of which none is less than half as long as
/// the longest may be.
fn pairs_of_any_length(update: u64) -> Vec<SentencePair> {
    let most = 8 + mixed(update, 0) % (MOST_TOKENS - 7);
    let n_pairs = (BUDGET / (most + 1)).max(1);
    let words = sentences(2 * n_pairs, 1);
    let side = |index: usize, len: usize| words[index].iter().cycle().take(len).copied().collect();
    (0..n_pairs)
        .map(|index| {
            let of = |side: usize| most - mixed(update, 1 + 2 * index + side) % (most / 2);
            SentencePair {
                src: side(2 * index, of(0)),
                tgt: side(2 * index + 1, of(1)),
            }
        })
        .collect()
}

/// Returns a number without a pattern, the same each time.
fn mixed(update: u64, index: usize) -> usize {
    let mut hasher = DefaultHasher::new();
    (update, index).hash(&mut hasher);
    (hasher.finish() >> 33) as usize
}
