//! One pass over the corpus: shuffle, sort within windows, cut into batches, shuffle the batches.

use rayon::prelude::*;
use transformer_core::random::{SplitMix64, hash};

use crate::batching::{PlanConfig, Share};

/// Fewest windows of a pass: a corpus sorted as a whole puts the same sentences together every time
/// (half of the batch mates of a sentence in Multi30k; with four windows, a fifth).
const MIN_WINDOWS: u64 = 4;

/// Fewest batches of a window for which `MIN_WINDOWS` is kept to: with fewer, padding gets large.
const MIN_WINDOW_BATCHES: u64 = 16;

/// Lengths of one sentence pair in tokens, source first, `BOS` and `EOS` not counted.
pub(super) type Lengths = (u32, u32);

/// Holds the batches of one pass, in the order in which they are trained on.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    /// Sentence numbers; every batch is a run of them.
    order: Vec<u32>,
    /// Start and end of each batch in `order`.
    batches: Vec<(u32, u32)>,
    cells: u64,
    tokens: u64,
}

impl Pass {
    pub(super) fn new(
        lengths: &[Lengths],
        config: &PlanConfig,
        shares: &[Share],
        number: u64,
    ) -> Self {
        let seed = hash(config.seed, number);
        let mut order = drawn(shares, seed);
        SplitMix64::new(hash(seed, 0)).shuffle(&mut order);

        // Windows of equal size, so that the last one is not too small to sort well.
        let n_drawn = order.len();
        let size = n_drawn.div_ceil(n_windows(lengths, config, shares)).max(1);
        let mut pass = Self {
            order,
            batches: Vec::new(),
            cells: 0,
            tokens: 0,
        };
        let windows = pass.order.par_chunks_mut(size);
        windows.for_each(|window| sort(window, lengths));
        for start in (0..n_drawn).step_by(size) {
            let end = n_drawn.min(start + size);
            pass.cut(lengths, config.tokens_per_batch as u64, start, end);
        }
        SplitMix64::new(hash(seed, 1)).shuffle(&mut pass.batches);
        pass
    }

    /// Cuts one sorted window into batches that are as full as the budget allows.
    fn cut(&mut self, lengths: &[Lengths], budget: u64, start: usize, end: usize) {
        let mut first = start;
        let mut widths = (0, 0);
        for at in start..end {
            let (src, tgt) = widths_of(lengths[self.order[at] as usize]);
            let wider = (src.max(widths.0), tgt.max(widths.1));
            if at > first && (at - first + 1) as u64 * wider.0.max(wider.1) > budget {
                self.close(first, at, widths);
                first = at;
                widths = (src, tgt);
            } else {
                widths = wider;
            }
            self.tokens += src + tgt;
        }
        self.close(first, end, widths);
    }

    fn close(&mut self, first: usize, end: usize, widths: (u64, u64)) {
        self.batches.push((first as u32, end as u32));
        self.cells += (end - first) as u64 * (widths.0 + widths.1);
    }

    pub(super) fn n_updates(&self) -> u64 {
        self.batches.len() as u64
    }

    pub(super) fn batch(&self, index: usize) -> &[u32] {
        let (start, end) = self.batches[index];
        &self.order[start as usize..end as usize]
    }

    pub(super) fn padding_share(&self) -> f64 {
        1.0 - self.tokens as f64 / self.cells as f64
    }
}

/// Sorts sentences by length. Keeps the shuffled order among equals, so that they meet others every pass.
fn sort(order: &mut [u32], lengths: &[Lengths]) {
    // Keys are looked up once: for a large corpus every look is a miss of the cache.
    let keyed = order
        .iter()
        .enumerate()
        .map(|(place, &sentence)| (sort_key(lengths[sentence as usize]), place as u32, sentence));
    let mut keyed: Vec<_> = keyed.collect();
    keyed.sort_unstable();
    for (slot, (_, _, sentence)) in order.iter_mut().zip(keyed) {
        *slot = sentence;
    }
}

/// Draws the sentences of a pass, in the order of the corpora: each as often as its share says, rounded down or up
/// by chance so that the mean over passes is the share.
fn drawn(shares: &[Share], seed: u64) -> Vec<u32> {
    let mut order = Vec::new();
    let mut first = 0;
    for (share, number) in shares.iter().zip(0..) {
        let sentences = first..first + share.n_sentences as u32;
        for _ in 0..share.weight as u64 {
            order.extend(sentences.clone());
        }
        let rest = share.weight.fract();
        if rest > 0.0 {
            let mut some: Vec<u32> = sentences.clone().collect();
            let mut draws = SplitMix64::new(hash(hash(seed, 2), number));
            let n_some = (rest * some.len() as f64 + draws.uniform()) as usize;
            draws.shuffle(&mut some);
            order.extend(some.into_iter().take(n_some));
        }
        first = sentences.end;
    }
    order
}

fn n_windows(lengths: &[Lengths], config: &PlanConfig, shares: &[Share]) -> usize {
    let mut first = 0;
    let mut cells = 0.0;
    let mut n_drawn = 0.0;
    for share in shares {
        let end = first + share.n_sentences;
        let widths = lengths[first..end].iter().map(|&pair| widths_of(pair));
        let of_share: u64 = widths.map(|(src, tgt)| src.max(tgt)).sum();
        cells += share.weight * of_share as f64;
        n_drawn += share.weight * share.n_sentences as f64;
        first = end;
    }
    let n_batches = cells as u64 / config.tokens_per_batch as u64;
    let fewest = (n_batches / MIN_WINDOW_BATCHES).clamp(1, MIN_WINDOWS) as usize;
    (n_drawn as usize).div_ceil(config.window).max(fewest)
}

/// Returns what a sentence pair takes up in a batch: `src EOS` read, `tgt EOS` predicted.
pub(super) fn widths_of((src_len, tgt_len): Lengths) -> (u64, u64) {
    (u64::from(src_len) + 1, u64::from(tgt_len) + 1)
}

/// Orders sentences so that neighbors need little padding on both sides.
///
/// The longer side comes first because it alone fills the budget. Among equals the other side runs
/// from short to long and, for the next length, back again: no jump between two lengths. On lengths
/// of translations this leaves a third to a half of the padding of an order by target, then source.
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
