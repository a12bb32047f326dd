//! Which sentences are in which update: a pure function of lengths, budget and seed (§5.1 of the paper,
//! "batched together by approximate sequence length").

mod hash;
mod pass;

use std::sync::Arc;

pub(crate) use hash::Draws;
pub use hash::hash;
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

/// Says why no [`Plan`] can be made.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
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
/// A pass takes every sentence exactly once. It shuffles the corpus, sorts it by length within windows,
/// cuts it into batches within the budget, and shuffles these. Every pass is another order, made from
/// `hash(seed, pass)` alone, so update `k` has the same sentences whatever was asked for before: a
/// resumed run sees what an uninterrupted one would have seen.
///
/// Passes differ a little in their number of updates, so that a jump to a far update plans the passes
/// before it once (two seconds each for four million sentences, 4 ms for Multi30k); one pass is kept.
///
/// # Example
///
/// ```
/// use transformer_train::plan::{Plan, PlanConfig};
///
/// let lengths = [(3, 4), (9, 8), (3, 3), (8, 9)];
/// let config = PlanConfig { tokens_per_batch: 20, ..PlanConfig::default() };
/// let mut plan = Plan::new(&lengths, &config)?;
/// assert_eq!(plan.updates_per_pass(0), 2);
/// assert_eq!(plan.update(0).len() + plan.update(1).len(), 4);
/// # Ok::<(), transformer_train::plan::PlanError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    lengths: Arc<[Lengths]>,
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
        let pass = Pass::new(lengths, config, 0);
        let first_updates = vec![0, pass.n_updates()];
        Ok(Self {
            lengths: lengths.into(),
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
            self.pass = Pass::new(&self.lengths, &self.config, pass);
            self.current = pass;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn config(tokens_per_batch: usize, window: usize, seed: u64) -> PlanConfig {
        PlanConfig {
            tokens_per_batch,
            window,
            seed,
        }
    }

    /// Draws a number that is roughly normal, with mean 0 and deviation 1.
    fn normal(draws: &mut Draws) -> f64 {
        (0..12)
            .map(|_| draws.below(1_000_000) as f64 / 1e6)
            .sum::<f64>()
            - 6.0
    }

    /// Lengths as translations have them: log-normal, the two sides within a fifth of each other.
    fn translation_lengths(n: usize, seed: u64) -> Vec<(u32, u32)> {
        let mut draws = Draws::new(seed);
        (0..n)
            .map(|_| {
                let tgt = (3.1 + 0.6 * normal(&mut draws)).exp();
                let src = tgt * (0.2 * normal(&mut draws)).exp();
                (src.clamp(1.0, 250.0) as u32, tgt.clamp(1.0, 250.0) as u32)
            })
            .collect()
    }

    fn some_lengths() -> impl Strategy<Value = Vec<(u32, u32)>> {
        proptest::collection::vec((0_u32..40, 0_u32..40), 1..200)
    }

    proptest! {
        #[test]
        fn every_sentence_comes_exactly_once_a_pass(
            lengths in some_lengths(), budget in 40_usize..400, window in 1_usize..300, seed: u64,
        ) {
            let mut plan = Plan::new(&lengths, &config(budget, window, seed)).expect("they fit");
            let mut k = 0;
            for pass in 0..3 {
                let mut seen = Vec::new();
                for _ in 0..plan.updates_per_pass(pass) {
                    prop_assert_eq!(plan.pass_of(k), pass);
                    seen.extend_from_slice(plan.update(k));
                    k += 1;
                }
                seen.sort_unstable();
                prop_assert_eq!(seen, (0..lengths.len() as u32).collect::<Vec<_>>());
            }
        }

        #[test]
        fn no_batch_is_empty_or_over_the_budget(
            lengths in some_lengths(), budget in 40_usize..400, window in 1_usize..300, seed: u64,
        ) {
            let mut plan = Plan::new(&lengths, &config(budget, window, seed)).expect("they fit");
            for k in 0..2 * plan.updates_per_pass(0) {
                let batch = plan.update(k);
                let widest = batch.iter().map(|&i| lengths[i as usize]).map(|(s, t)| s.max(t)).max();
                let width = widest.expect("batches have sentences") as usize + 1;
                prop_assert!(batch.len() * width <= budget);
            }
        }

        #[test]
        fn an_update_does_not_depend_on_what_was_asked_before(
            lengths in some_lengths(), seed: u64, asked in proptest::collection::vec(0_u64..60, 1..20),
        ) {
            let mut used = Plan::new(&lengths, &config(120, 50, seed)).expect("they fit");
            for k in asked {
                let mut fresh = Plan::new(&lengths, &config(120, 50, seed)).expect("they fit");
                prop_assert_eq!(used.update(k), fresh.update(k));
                prop_assert_eq!(used.target_tokens(k), fresh.target_tokens(k));
            }
        }
    }

    #[test]
    fn target_tokens_count_the_end_token_of_every_sentence() {
        let mut plan = Plan::new(&[(3, 4), (3, 2)], &config(100, 10, 1)).expect("they fit");
        assert_eq!(plan.target_tokens(0), 5 + 3);
    }

    #[test]
    fn padding_is_counted_on_both_sides() {
        // Widths 4 and 5 for the one, 4 and 3 for the other: 15 tokens in 2 × 4 + 2 × 5 cells.
        let mut plan = Plan::new(&[(3, 4), (3, 2)], &config(100, 10, 1)).expect("they fit");
        assert_eq!(plan.updates_per_pass(0), 1);
        assert!((plan.padding_share() - 2.0 / 18.0).abs() < 1e-12);
    }

    #[test]
    fn padding_stays_below_a_tenth_on_lengths_of_translations() {
        let lengths = translation_lengths(30_000, 5);
        let plan = Plan::new(&lengths, &config(4096, 131_072, 1)).expect("they fit");
        assert!(plan.padding_share() < 0.1, "{}", plan.padding_share());
    }

    #[test]
    fn batches_are_not_trained_on_from_short_to_long() {
        let lengths = translation_lengths(3000, 5);
        let mut plan = Plan::new(&lengths, &config(1024, 131_072, 1)).expect("they fit");
        let n_updates = plan.updates_per_pass(0);
        let sizes: Vec<usize> = (0..n_updates).map(|k| plan.update(k).len()).collect();
        let falls = sizes.windows(2).filter(|pair| pair[1] < pair[0]).count();
        assert!(
            (sizes.len() / 3..sizes.len() * 2 / 3).contains(&falls),
            "{falls} of {n_updates}"
        );
    }

    #[test]
    fn passes_put_other_sentences_together() {
        let lengths = translation_lengths(30_000, 5);
        let mut plan = Plan::new(&lengths, &config(4096, 131_072, 1)).expect("they fit");
        let n_updates = plan.updates_per_pass(0);
        let mut batch_of = vec![0; lengths.len()];
        for k in 0..n_updates {
            for &sentence in plan.update(k) {
                batch_of[sentence as usize] = k;
            }
        }
        let (mut n_mates, mut n_again) = (0, 0);
        for k in n_updates..n_updates + plan.updates_per_pass(1) {
            let batch = plan.update(k);
            let earlier = |&sentence: &u32| batch_of[sentence as usize];
            n_mates += batch.len() - 1;
            n_again += batch[1..]
                .iter()
                .filter(|mate| earlier(mate) == earlier(&batch[0]))
                .count();
        }
        assert!(n_again * 4 < n_mates, "{n_again} of {n_mates}");
    }

    #[test]
    fn seeds_give_other_plans() {
        let lengths = translation_lengths(500, 5);
        let mut one = Plan::new(&lengths, &config(512, 100, 1)).expect("they fit");
        let mut two = Plan::new(&lengths, &config(512, 100, 2)).expect("they fit");
        assert_ne!(one.update(0), two.update(0));
    }

    #[test]
    fn a_sentence_over_the_budget_is_named() {
        let error = Plan::new(&[(3, 4), (30, 4)], &config(30, 10, 1)).expect_err("31 > 30");
        assert_eq!(
            error.to_string(),
            "sentence 1 alone takes 31 cells, more than `tokens_per_batch` (30); raise \
             `tokens_per_batch` to at least 31, or lower `max_len`"
        );
    }

    #[test]
    fn nothing_to_plan_is_an_error() {
        assert_eq!(
            Plan::new(&[], &config(30, 10, 1)).err(),
            Some(PlanError::Empty)
        );
    }

    #[test]
    fn a_window_of_no_sentences_is_an_error() {
        assert_eq!(
            Plan::new(&[(1, 1)], &config(30, 0, 1)).err(),
            Some(PlanError::ZeroWindow)
        );
    }
}
