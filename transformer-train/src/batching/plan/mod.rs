//! Which sentences are in which update: a pure function of lengths, budget and seed (§5.1 of the paper,
//! "batched together by approximate sequence length").

mod pass;

use std::sync::Arc;

use pass::{Lengths, Pass, widths_of};

/// Says how sentences are put together into batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanConfig {
    /// Largest batch, in padded cells of its larger side: `n × (longest source + 1)` and
    /// `n × (longest target + 1)` both stay at or below it. The paper has about 25,000 (§5.1).
    pub tokens_per_batch: usize,
    /// Most sentences that are sorted by length together. More means less padding, and batches that
    /// are more alike from pass to pass; so a pass has four windows at least, unless they would be
    /// smaller than sixteen batches. Default 131,072.
    pub window: usize,
    /// Seed of every shuffle. Default 1.
    pub seed: u64,
}

impl Default for PlanConfig {
    fn default() -> Self {
        Self {
            tokens_per_batch: 25_000,
            window: 131_072,
            seed: 1,
        }
    }
}

/// Says how often the sentences of one of several corpora come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Number of its sentences, which follow those of the corpora before.
    pub n_sentences: usize,
    /// How often each of them comes in a pass, on average: 2 is twice, 0.5 every other pass.
    pub weight: f64,
}

/// Says why no [`Plan`] can be made.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum PlanError {
    /// There is nothing to train on.
    #[error("there are no sentences to plan; give a corpus with at least one pair")]
    Empty,
    /// Sentence numbers are held in 32 bits.
    #[error("{n_sentences} sentences are more than a plan can number (4,294,967,295); use fewer")]
    TooMany {
        /// Number of sentences given.
        n_sentences: usize,
    },
    /// Weights are so small that a pass may have no sentence, or so large that it has too many.
    #[error(
        "with these weights a pass has about {n_drawn:.1} sentences; choose weights that make it 1 to \
         4,294,967,295"
    )]
    Weights {
        /// The mean number of sentences of a pass.
        n_drawn: f64,
    },
    /// Windows cannot be empty.
    #[error("`window` is 0; choose at least 1, for example 131072")]
    ZeroWindow,
    /// One sentence alone does not fit.
    #[error(
        "sentence {sentence} alone takes {cells} cells, more than `tokens_per_batch` \
         ({tokens_per_batch}); raise `tokens_per_batch` to at least {cells}, or lower `max_len`"
    )]
    OverBudget {
        /// Number of the sentence, from 0, in the order of the lengths given.
        sentence: usize,
        /// Its longer side with the end token, in cells.
        cells: u64,
        /// The budget.
        tokens_per_batch: usize,
    },
}

/// Says for every update, without end, which sentences it is made from.
///
/// A pass takes every sentence exactly once, or as often as the weight of its corpus says. It shuffles the corpus, sorts it by length within windows,
/// cuts it into batches within the budget, and shuffles these. Every pass is another order, made from
/// `hash(seed, pass)` alone, so update `k` has the same sentences whatever was asked for before: a
/// resumed run sees what an uninterrupted one would have seen.
///
/// Passes differ a little in their number of updates, so that a jump to a far update plans the passes
/// before it once (two seconds each for four million sentences, 4 ms for Multi30k), unless it is told where they begin
/// ([`know`](Self::know)); one pass is kept.
///
/// # Example
///
/// ```
/// use transformer_train::batching::{Plan, PlanConfig};
///
/// let lengths = [(3, 4), (9, 8), (3, 3), (8, 9)];
/// let config = PlanConfig { tokens_per_batch: 20, ..PlanConfig::default() };
/// let mut plan = Plan::new(&lengths, &config)?;
/// assert_eq!(plan.updates_per_pass(0), 2);
/// assert_eq!(plan.update(0).len() + plan.update(1).len(), 4);
/// # Ok::<(), transformer_train::batching::PlanError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    lengths: Arc<[Lengths]>,
    shares: Arc<[Share]>,
    config: PlanConfig,
    /// The first update of each pass that was counted so far, and of the one after.
    first_updates: Vec<u64>,
    current: u64,
    pass: Pass,
}

impl Plan {
    /// Plans the first pass over sentences of these lengths, `(source, target)` in tokens, `BOS` and
    /// `EOS` not counted.
    ///
    /// # Errors
    ///
    /// Returns a [`PlanError`] when there are no sentences, the window is 0, or a sentence alone is
    /// over the budget: which settings leave out is for the corpus to drop or cut, and to count.
    pub fn new(lengths: &[(u32, u32)], config: &PlanConfig) -> Result<Self, PlanError> {
        let whole = Share {
            n_sentences: lengths.len(),
            weight: 1.0,
        };
        Self::weighted(lengths.into(), config, &[whole])
    }

    /// Plans the first pass over the sentences of several corpora, one corpus after the other.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and when the weights leave no sentence for a pass, or too many.
    ///
    /// # Panics
    ///
    /// Panics when the shares are not of as many sentences as there are lengths.
    pub fn weighted(
        lengths: Arc<[(u32, u32)]>,
        config: &PlanConfig,
        shares: &[Share],
    ) -> Result<Self, PlanError> {
        let n_sentences: usize = shares.iter().map(|share| share.n_sentences).sum();
        assert_eq!(
            n_sentences,
            lengths.len(),
            "every sentence must have a share"
        );
        if lengths.is_empty() {
            return Err(PlanError::Empty);
        }
        if u32::try_from(lengths.len()).is_err() {
            return Err(PlanError::TooMany {
                n_sentences: lengths.len(),
            });
        }
        if config.window == 0 {
            return Err(PlanError::ZeroWindow);
        }
        let of_share = |share: &Share| share.weight * share.n_sentences as f64;
        let n_drawn: f64 = shares.iter().map(of_share).sum();
        let least: f64 = shares.iter().map(|share| of_share(share).floor()).sum();
        if least < 1.0 || n_drawn >= f64::from(u32::MAX) {
            return Err(PlanError::Weights { n_drawn });
        }
        let tokens_per_batch = config.tokens_per_batch;
        for (sentence, &pair) in lengths.iter().enumerate() {
            let (src, tgt) = widths_of(pair);
            let cells = src.max(tgt);
            if cells > tokens_per_batch as u64 {
                return Err(PlanError::OverBudget {
                    sentence,
                    cells,
                    tokens_per_batch,
                });
            }
        }
        let pass = Pass::new(&lengths, config, shares, 0);
        let first_updates = vec![0, pass.n_updates()];
        Ok(Self {
            lengths,
            shares: shares.into(),
            config: config.clone(),
            first_updates,
            current: 0,
            pass,
        })
    }

    /// Returns the numbers of the sentences of update `k`, counted from 0.
    pub fn update(&mut self, k: u64) -> &[u32] {
        let pass = self.pass_of(k);
        self.go_to(pass);
        let index = k - self.first_updates[pass as usize];
        self.pass.batch(index as usize)
    }

    /// Returns the number of tokens that update `k` predicts: its targets and their end tokens,
    /// without padding. The loss of the update is divided by it.
    pub fn target_tokens(&mut self, k: u64) -> u64 {
        let lengths = Arc::clone(&self.lengths);
        self.update(k)
            .iter()
            .map(|&sentence| widths_of(lengths[sentence as usize]).1)
            .sum()
    }

    /// Returns the number of updates in pass `pass`, counted from 0.
    pub fn updates_per_pass(&mut self, pass: u64) -> u64 {
        self.count_to(pass + 1);
        let pass = pass as usize;
        self.first_updates[pass + 1] - self.first_updates[pass]
    }

    /// Returns the pass, counted from 0, to which update `k` belongs.
    pub fn pass_of(&mut self, k: u64) -> u64 {
        while self.first_updates[self.first_updates.len() - 1] <= k {
            self.count_to(self.first_updates.len() as u64);
        }
        self.first_updates.partition_point(|&first| first <= k) as u64 - 1
    }

    /// Returns the first update of each pass that was planned so far, and of the one after.
    pub fn first_updates(&self) -> &[u64] {
        &self.first_updates
    }

    /// Takes what [`first_updates`](Self::first_updates) has said of the same plan, so that these passes need not be
    /// planned again. Numbers that cannot be this plan's are left alone.
    pub fn know(&mut self, first_updates: &[u64]) {
        let own = &self.first_updates;
        let is_longer = first_updates.len() > own.len() && first_updates.starts_with(own);
        if is_longer && first_updates.is_sorted_by(|a, b| a < b) {
            self.first_updates = first_updates.to_vec();
        }
    }

    /// Returns the share of padding among the cells of both sides in the pass that was last asked
    /// about, from 0 to 1.
    pub fn padding_share(&self) -> f64 {
        self.pass.padding_share()
    }

    /// Returns the number of sentences.
    pub fn n_sentences(&self) -> usize {
        self.lengths.len()
    }

    /// Counts the updates of passes until the first update of `pass` is known.
    fn count_to(&mut self, pass: u64) {
        while self.first_updates.len() as u64 <= pass {
            self.go_to(self.first_updates.len() as u64 - 1);
            let last = self.first_updates[self.first_updates.len() - 1];
            self.first_updates.push(last + self.pass.n_updates());
        }
    }

    fn go_to(&mut self, pass: u64) {
        if pass != self.current {
            self.pass = Pass::new(&self.lengths, &self.config, &self.shares, pass);
            self.current = pass;
        }
    }
}

#[cfg(test)]
mod tests;
