//! The sentences of every batch, as a pure function of lengths, budget and seed (§5.1 of the paper:
//! "Sentence pairs were batched together by approximate sequence length").

use std::sync::Arc;

use rayon::prelude::*;
use transformer_core::random::{SplitMix64, hash};
use transformer_translate::batches_within;

use crate::config::TrainingSettings;
use crate::error::TrainError;

/// The sampling weight of one of several corpora, which are concatenated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorpusWeight {
    /// Number of sentences in this corpus.
    pub n_sentences: usize,
    /// Mean number of times that each sentence is used per pass: 2 is twice per pass, 0.5 is every other pass.
    pub weight: f64,
}

/// An endless sequence of batches; batch `k` is a pure function of lengths, settings and `k`.
///
/// A pass over the data (an epoch in other toolkits) uses every sentence once, or as often as its [`CorpusWeight`]
/// requires. It shuffles the sentences, sorts them by length within windows, cuts the windows into batches within the
/// budget, and shuffles the batches. The order depends only on `hash(seed, pass)`, so batch `k` has the same sentences
/// whichever batches were requested before. A resumed run therefore trains on the same batches as an uninterrupted one.
///
/// The number of batches varies from pass to pass. Jumping to a distant batch therefore plans every pass before it once
/// (2 s each for four million sentences, 4 ms for Multi30k), unless the first batch of each is known
/// ([`restore_pass_starts`](Self::restore_pass_starts)). One pass is kept in memory.
#[derive(Clone, Debug)]
pub struct Plan {
    lengths: Arc<[Lengths]>,
    weights: Arc<[CorpusWeight]>,
    training: TrainingSettings,
    /// First batch of each pass planned so far, and of the next one.
    pass_starts: Vec<u64>,
    current: u64,
    pass: Pass,
}

impl Plan {
    /// Plans batches of sentences with these lengths, `(source, target)` in tokens without `BOS` and `EOS`.
    ///
    /// # Errors
    ///
    /// Returns a [`TrainError`] if there are no sentences, the window is 0, or a single sentence
    /// exceeds the budget: dropping and truncating long sentences is the corpus's task.
    pub fn new(lengths: &[(u32, u32)], training: &TrainingSettings) -> Result<Self, TrainError> {
        let whole = CorpusWeight {
            n_sentences: lengths.len(),
            weight: 1.0,
        };
        Self::weighted(lengths.into(), training, &[whole])
    }

    /// Plans batches of sentences from several corpora. `lengths` has the corpora one after the
    /// other, in the order of `weights`.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new); also if the weights allow an empty pass, or give too large a pass.
    ///
    /// # Panics
    ///
    /// Panics if `weights` and `lengths` have different numbers of sentences.
    pub fn weighted(
        lengths: Arc<[(u32, u32)]>,
        training: &TrainingSettings,
        weights: &[CorpusWeight],
    ) -> Result<Self, TrainError> {
        let n_sentences: usize = weights.iter().map(|corpus| corpus.n_sentences).sum();
        assert_eq!(
            n_sentences,
            lengths.len(),
            "every sentence must belong to a corpus"
        );
        if lengths.is_empty() {
            return Err(TrainError::NoSentences);
        }
        if u32::try_from(lengths.len()).is_err() {
            return Err(TrainError::TooManySentences {
                n_sentences: lengths.len(),
            });
        }
        if training.window == 0 {
            return Err(TrainError::ZeroWindow);
        }
        let mean_drawn = |corpus: &CorpusWeight| corpus.weight * corpus.n_sentences as f64;
        let n_drawn: f64 = weights.iter().map(mean_drawn).sum();
        let min_drawn: f64 = weights.iter().map(|it| mean_drawn(it).floor()).sum();
        if min_drawn < 1.0 || n_drawn >= f64::from(u32::MAX) {
            return Err(TrainError::CorpusWeights { n_drawn });
        }
        let tokens_per_batch = training.tokens_per_batch;
        for (sentence, &pair) in lengths.iter().enumerate() {
            let (src, tgt) = lengths_with_eos(pair);
            let n_tokens = src.max(tgt);
            if n_tokens > tokens_per_batch as u64 {
                return Err(TrainError::OverBudget {
                    sentence,
                    n_tokens,
                    tokens_per_batch,
                });
            }
        }
        let pass = Pass::new(&lengths, training, weights, 0);
        let pass_starts = vec![0, pass.n_batches()];
        Ok(Self {
            lengths,
            weights: weights.into(),
            training: training.clone(),
            pass_starts,
            current: 0,
            pass,
        })
    }

    /// Returns the indices of the sentences in batch `k`, counted from 0.
    pub fn batch(&mut self, k: u64) -> &[u32] {
        let pass = self.pass_of(k);
        self.switch_to(pass);
        let index = k - self.pass_starts[pass as usize];
        self.pass.batch(index as usize)
    }

    /// Returns the number of batches in pass `pass`, counted from 0.
    pub fn batches_per_pass(&mut self, pass: u64) -> u64 {
        self.plan_until(pass + 1);
        let pass = pass as usize;
        self.pass_starts[pass + 1] - self.pass_starts[pass]
    }

    /// Returns the pass, counted from 0, that contains batch `k`.
    pub fn pass_of(&mut self, k: u64) -> u64 {
        while self.pass_starts[self.pass_starts.len() - 1] <= k {
            self.plan_until(self.pass_starts.len() as u64);
        }
        self.pass_starts.partition_point(|&start| start <= k) as u64 - 1
    }

    /// Returns the first batch of each pass planned so far, and of the next one.
    pub fn pass_starts(&self) -> &[u64] {
        &self.pass_starts
    }

    /// Restores the [`pass_starts`](Self::pass_starts) of an equal plan, so that those passes need
    /// not be planned again. Ignores values that contradict this plan.
    pub fn restore_pass_starts(&mut self, pass_starts: &[u64]) {
        let own = &self.pass_starts;
        let is_longer = pass_starts.len() > own.len() && pass_starts.starts_with(own);
        if is_longer && pass_starts.is_sorted_by(|a, b| a < b) {
            self.pass_starts = pass_starts.to_vec();
        }
    }

    /// Returns the fraction of padding in source and target tensors of the most recently planned pass, from 0 to 1.
    pub fn padding_fraction(&self) -> f64 {
        self.pass.padding_fraction()
    }

    /// Plans passes until the first batch of `pass` is known.
    fn plan_until(&mut self, pass: u64) {
        while self.pass_starts.len() as u64 <= pass {
            self.switch_to(self.pass_starts.len() as u64 - 1);
            let last = self.pass_starts[self.pass_starts.len() - 1];
            self.pass_starts.push(last + self.pass.n_batches());
        }
    }

    fn switch_to(&mut self, pass: u64) {
        if pass != self.current {
            self.pass = Pass::new(&self.lengths, &self.training, &self.weights, pass);
            self.current = pass;
        }
    }
}

/// Minimum number of windows per pass. Sorting the whole corpus at once would put the same sentences together in every
/// pass: in Multi30k half of a sentence's batch mates repeat, with four windows a fifth.
const MIN_WINDOWS: u64 = 4;

/// Minimum number of batches per window for which `MIN_WINDOWS` applies: smaller windows cause too much padding.
const MIN_WINDOW_BATCHES: u64 = 16;

/// Lengths of one sentence pair in tokens, source first, without `BOS` and `EOS`.
pub(super) type Lengths = (u32, u32);

/// One pass over the data: sentences are shuffled, sorted by length within windows, and cut into batches, which are
/// shuffled.
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
        training: &TrainingSettings,
        weights: &[CorpusWeight],
        index: u64,
    ) -> Self {
        let seed = hash(training.seed, index);
        let mut order = drawn_sentences(weights, seed);
        SplitMix64::new(hash(seed, 0)).shuffle(&mut order);

        // Windows of equal size, so that the last one is not too small to sort well.
        let n_drawn = order.len();
        let size = n_drawn
            .div_ceil(n_windows(lengths, training, weights))
            .max(1);
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
            pass.cut_window(lengths, training.tokens_per_batch, start, end);
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

fn n_windows(lengths: &[Lengths], training: &TrainingSettings, weights: &[CorpusWeight]) -> usize {
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
    let n_batches = n_tokens as u64 / training.tokens_per_batch as u64;
    let min_windows = (n_batches / MIN_WINDOW_BATCHES).clamp(1, MIN_WINDOWS) as usize;
    (n_drawn as usize)
        .div_ceil(training.window)
        .max(min_windows)
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
