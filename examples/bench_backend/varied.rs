//! Memory over many updates of varying shapes: it must not grow.

use std::hash::{DefaultHasher, Hash, Hasher};

use anyhow::Result;
use transformer_train::SentencePair;

use crate::memory::MemoryUse;
use crate::training::Training;
use crate::{print, sentences};

/// The number of measurements of memory.
const N_SAMPLES: u64 = 20;

/// Target tokens of an update, with padding: 32 sentences of 32 tokens.
const BUDGET: usize = 1024;

/// Maximum tokens of a sentence, without EOS.
const MAX_TOKENS: usize = 63;

/// Makes updates of about the same number of tokens, in sentences of varying lengths, and prints the memory after
/// some of them.
pub(crate) fn measure(training: &mut Training, n_updates: u64, memory: &MemoryUse) -> Result<()> {
    for update in 1..=n_updates {
        training.set_sentences(pairs_of_any_length(update), update);
        training.update()?;
        let n_samples = |n_made: u64| n_made * N_SAMPLES / n_updates;
        if n_samples(update) > n_samples(update - 1) {
            print(|it| it.varied.push(memory.after(update)))?;
        }
    }
    Ok(())
}

/// Makes sentences of lengths that depend on the number of the update; each has at least half the length of the
/// longest.
fn pairs_of_any_length(update: u64) -> Vec<SentencePair> {
    let max_len = 8 + mixed(update, 0) % (MAX_TOKENS - 7);
    let n_pairs = (BUDGET / (max_len + 1)).max(1);
    let words = sentences(2 * n_pairs, 1);
    let side = |index: usize, len: usize| words[index].iter().cycle().take(len).copied().collect();
    (0..n_pairs)
        .map(|index| {
            let of = |side: usize| max_len - mixed(update, 1 + 2 * index + side) % (max_len / 2);
            SentencePair {
                src: side(2 * index, of(0)),
                tgt: side(2 * index + 1, of(1)),
            }
        })
        .collect()
}

/// Returns a pseudo-random number that depends only on its arguments.
fn mixed(update: u64, index: usize) -> usize {
    let mut hasher = DefaultHasher::new();
    (update, index).hash(&mut hasher);
    (hasher.finish() >> 33) as usize
}
