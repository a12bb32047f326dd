//! One pass over the corpus: shuffle, sort within windows, cut into batches, shuffle the batches.

use crate::plan::PlanConfig;
use crate::plan::hash::{Draws, hash};

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
    pub(super) fn new(lengths: &[Lengths], config: &PlanConfig, number: u64) -> Self {
        let seed = hash(config.seed, number);
        let mut order: Vec<u32> = (0..lengths.len() as u32).collect();
        Draws::new(hash(seed, 0)).shuffle(&mut order);

        // Windows of equal size, so that the last one is not too small to sort well.
        let size = order.len().div_ceil(n_windows(lengths, config)).max(1);
        let mut pass = Self {
            order,
            batches: Vec::new(),
            cells: 0,
            tokens: 0,
        };
        for start in (0..lengths.len()).step_by(size) {
            let end = lengths.len().min(start + size);
            // The sort keeps the shuffled order among equals, so that they meet others every pass.
            pass.order[start..end].sort_by_key(|&sentence| sort_key(lengths[sentence as usize]));
            pass.cut(lengths, config.tokens_per_batch as u64, start, end);
        }
        Draws::new(hash(seed, 1)).shuffle(&mut pass.batches);
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

fn n_windows(lengths: &[Lengths], config: &PlanConfig) -> usize {
    let cells: u64 = lengths
        .iter()
        .map(|&pair| widths_of(pair))
        .map(|(src, tgt)| src.max(tgt))
        .sum();
    let n_batches = cells / config.tokens_per_batch as u64;
    let fewest = (n_batches / MIN_WINDOW_BATCHES).clamp(1, MIN_WINDOWS) as usize;
    lengths.len().div_ceil(config.window).max(fewest)
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
