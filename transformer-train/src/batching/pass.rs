//! One pass over the corpus: shuffle, sort within windows, cut into batches, shuffle the batches.

use rayon::prelude::*;
use transformer_core::random::{SplitMix64, hash};
use transformer_translate::batches_within;

use super::plan::{CorpusWeight, PlanConfig};

/// Minimum number of windows per pass. Sorting the whole corpus at once would put the same sentences together in every
/// pass: in Multi30k half of a sentence's batch mates repeat, with four windows a fifth.
const MIN_WINDOWS: u64 = 4;

/// Minimum number of batches per window for which `MIN_WINDOWS` applies: smaller windows cause too much padding.
const MIN_WINDOW_BATCHES: u64 = 16;

/// Lengths of one sentence pair in tokens, source first, without `BOS` and `EOS`.
pub(super) type Lengths = (u32, u32);

/// The batches of one pass, in training order.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    /// Sentence indices; every batch is a contiguous range of them.
    order: Vec<u32>,
    /// Start and end of each batch in `order`.
    batches: Vec<(u32, u32)>,
    /// Tokens on both sides, padding included.
    padded_tokens: u64,
    /// Tokens on both sides, without padding.
    tokens: u64,
}

impl Pass {
    pub(super) fn new(
        lengths: &[Lengths],
        config: &PlanConfig,
        weights: &[CorpusWeight],
        index: u64,
    ) -> Self {
        let seed = hash(config.seed, index);
        let mut order = drawn_sentences(weights, seed);
        SplitMix64::new(hash(seed, 0)).shuffle(&mut order);

        // Windows of equal size, so that the last one is not too small to sort well.
        let n_drawn = order.len();
        let size = n_drawn.div_ceil(n_windows(lengths, config, weights)).max(1);
        let mut pass = Self {
            order,
            batches: Vec::new(),
            padded_tokens: 0,
            tokens: 0,
        };
        let windows = pass.order.par_chunks_mut(size);
        windows.for_each(|window| sort_by_length(window, lengths));
        for start in (0..n_drawn).step_by(size) {
            let end = n_drawn.min(start + size);
            pass.cut_window(lengths, config.tokens_per_batch, start, end);
        }
        SplitMix64::new(hash(seed, 1)).shuffle(&mut pass.batches);
        pass
    }

    /// Cuts the sorted window `start..end` into batches as full as the budget allows.
    fn cut_window(&mut self, lengths: &[Lengths], budget: usize, start: usize, end: usize) {
        // Look up each sentence once: on a large corpus every access to `lengths` is a cache miss.
        let pairs: Vec<(u64, u64)> = self.order[start..end]
            .iter()
            .map(|&sentence| lengths_with_eos(lengths[sentence as usize]))
            .collect();
        let width = |index: usize| {
            let (src, tgt) = pairs[index];
            src.max(tgt) as usize
        };
        let mut first = 0;
        for batch in batches_within(budget, 0..pairs.len(), width) {
            let end = first + batch.len();
            let (mut longest_src, mut longest_tgt) = (0, 0);
            for &(src, tgt) in &pairs[first..end] {
                longest_src = longest_src.max(src);
                longest_tgt = longest_tgt.max(tgt);
                self.tokens += src + tgt;
            }
            self.padded_tokens += batch.len() as u64 * (longest_src + longest_tgt);
            self.batches
                .push(((start + first) as u32, (start + end) as u32));
            first = end;
        }
    }

    pub(super) fn n_batches(&self) -> u64 {
        self.batches.len() as u64
    }

    pub(super) fn batch(&self, index: usize) -> &[u32] {
        let (start, end) = self.batches[index];
        &self.order[start as usize..end as usize]
    }

    pub(super) fn padding_fraction(&self) -> f64 {
        1.0 - self.tokens as f64 / self.padded_tokens as f64
    }
}

/// Sorts sentences by length. Equal lengths keep their shuffled order, so that the sentences of a batch vary from pass
/// to pass.
fn sort_by_length(order: &mut [u32], lengths: &[Lengths]) {
    // Compute each key once: on a large corpus every access to `lengths` is a cache miss.
    let keyed = order
        .iter()
        .enumerate()
        .map(|(index, &sentence)| (sort_key(lengths[sentence as usize]), index as u32, sentence));
    let mut keyed: Vec<_> = keyed.collect();
    keyed.sort_unstable();
    for (slot, (_, _, sentence)) in order.iter_mut().zip(keyed) {
        *slot = sentence;
    }
}

/// Draws the sentences of a pass, corpus by corpus: each sentence `weight` times. A fractional weight is rounded up for
/// a random subset, so that the mean over passes is `weight`.
fn drawn_sentences(weights: &[CorpusWeight], seed: u64) -> Vec<u32> {
    let mut order = Vec::new();
    let mut first = 0;
    for (corpus, index) in weights.iter().zip(0..) {
        let sentences = first..first + corpus.n_sentences as u32;
        for _ in 0..corpus.weight as u64 {
            order.extend(sentences.clone());
        }
        let fraction = corpus.weight.fract();
        if fraction > 0.0 {
            let mut subset: Vec<u32> = sentences.clone().collect();
            let mut rng = SplitMix64::new(hash(hash(seed, 2), index));
            let subset_len = (fraction * subset.len() as f64 + rng.uniform()) as usize;
            rng.shuffle(&mut subset);
            order.extend(subset.into_iter().take(subset_len));
        }
        first = sentences.end;
    }
    order
}

fn n_windows(lengths: &[Lengths], config: &PlanConfig, weights: &[CorpusWeight]) -> usize {
    let mut first = 0;
    let mut n_tokens = 0.0;
    let mut n_drawn = 0.0;
    for corpus in weights {
        let end = first + corpus.n_sentences;
        let of_pairs = lengths[first..end]
            .iter()
            .map(|&pair| lengths_with_eos(pair));
        let of_corpus: u64 = of_pairs.map(|(src, tgt)| src.max(tgt)).sum();
        n_tokens += corpus.weight * of_corpus as f64;
        n_drawn += corpus.weight * corpus.n_sentences as f64;
        first = end;
    }
    let n_batches = n_tokens as u64 / config.tokens_per_batch as u64;
    let min_windows = (n_batches / MIN_WINDOW_BATCHES).clamp(1, MIN_WINDOWS) as usize;
    (n_drawn as usize).div_ceil(config.window).max(min_windows)
}

/// Returns the lengths of a pair in a batch: the encoder reads `src EOS`, the decoder predicts `tgt EOS`.
pub(super) fn lengths_with_eos((src_len, tgt_len): Lengths) -> (u64, u64) {
    (u64::from(src_len) + 1, u64::from(tgt_len) + 1)
}

/// Orders sentences so that neighbors need little padding on both sides.
///
/// The longer side comes first because the budget applies to it. Within one length the other side
/// ascends and, for the next length, descends, which avoids a jump between lengths. On translations
/// this leaves a third to a half of the padding of an order by target length, then source length.
fn sort_key((src_len, tgt_len): Lengths) -> (u32, i64) {
    let longer = src_len.max(tgt_len);
    let difference = i64::from(tgt_len) - i64::from(src_len);
    (
        longer,
        if longer % 2 == 0 {
            difference
        } else {
            -difference
        },
    )
}
