//! [`NextToken`]: the interface between a search and a model; [`PrefixScorer`]: a model as a function of the tokens so
//! far; [`Recorder`]: a model that records the calls of a search.

use transformer_text::{BOS, EOS, PAD, UNK};

/// The tokens that no search ever generates.
///
/// PAD and BOS are not text. UNK stands for text that the tokenizer cannot represent, so it cannot be printed. The
/// other tokens keep the probabilities of the full softmax, unless [`Search::renormalize`](super::Search::renormalize)
/// is set.
pub const NEVER_GENERATED: [u32; 3] = [PAD, UNK, BOS];

/// Scores the next token of every row of a batch.
///
/// A row is a sequence that grows by one token at each step. The model stores the rows; the search chooses the
/// token that each row grows by, and the rows to keep.
pub trait NextToken {
    /// Returns the number of rows.
    fn n_rows(&self) -> usize;

    /// Returns the size of the target vocabulary, special tokens included.
    fn vocab_size(&self) -> usize;

    /// Appends `last_tokens[i]` to row `i`, and returns the log-probabilities of the next tokens.
    ///
    /// The first call appends BOS to every row. The result has `n_rows · vocab_size` elements, row by row:
    /// the natural logarithm of the softmax over the whole vocabulary.
    fn log_probs(&mut self, last_tokens: &[u32]) -> Vec<f32>;

    /// Like [`log_probs`](Self::log_probs), but also returns the attention of each row to the tokens of its source: one
    /// weight per token, with sum 1.
    ///
    /// Called only with a coverage penalty. The default implementation returns no weights, so that a model without
    /// attention is never penalized.
    fn log_probs_with_attention(&mut self, last_tokens: &[u32]) -> (Vec<f32>, Vec<Vec<f32>>) {
        let nothing = vec![Vec::new(); last_tokens.len()];
        (self.log_probs(last_tokens), nothing)
    }

    /// Like [`log_probs`](Self::log_probs), but returns only the `k` likeliest tokens of each row, in order; fewer if
    /// fewer have a finite log-probability. Ties go to the lower id. A model on a GPU copies less data this way.
    ///
    /// After them, if there are tokens to be `without`, each row has one more element: any id, with
    /// [`log_prob_without`](super::log_prob_without) them.
    ///
    /// Returns `None`, and changes nothing, if returning all log-probabilities is as fast; the search then calls
    /// [`log_probs`](Self::log_probs). This is the default implementation.
    fn top_k(
        &mut self,
        last_tokens: &[u32],
        k: usize,
        without: Option<&[u32]>,
    ) -> Option<Vec<Vec<ScoredToken>>> {
        let _ = (last_tokens, k, without);
        None
    }

    /// Keeps the given rows, in the given order; a row may be given more than once, or not at all.
    fn select(&mut self, rows: &[usize]);
}

/// Implements [`NextToken`] for a pointer to a model.
macro_rules! forward {
    () => {
        fn n_rows(&self) -> usize {
            (**self).n_rows()
        }

        fn vocab_size(&self) -> usize {
            (**self).vocab_size()
        }

        fn log_probs(&mut self, last_tokens: &[u32]) -> Vec<f32> {
            (**self).log_probs(last_tokens)
        }

        fn log_probs_with_attention(&mut self, last_tokens: &[u32]) -> (Vec<f32>, Vec<Vec<f32>>) {
            (**self).log_probs_with_attention(last_tokens)
        }

        fn top_k(
            &mut self,
            last_tokens: &[u32],
            k: usize,
            without: Option<&[u32]>,
        ) -> Option<Vec<Vec<ScoredToken>>> {
            (**self).top_k(last_tokens, k, without)
        }

        fn select(&mut self, rows: &[usize]) {
            (**self).select(rows);
        }
    };
}

impl<M: NextToken + ?Sized> NextToken for Box<M> {
    forward!();
}

impl<M: NextToken + ?Sized> NextToken for &mut M {
    forward!();
}

/// A token that may be generated, with its log-probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoredToken {
    /// The token id.
    pub id: u32,
    /// The log-probability, in nats; not finite if no token has a finite one.
    pub log_prob: f32,
}

impl ScoredToken {
    /// The result for a row in which no token has a finite log-probability.
    pub const NONE: Self = Self {
        id: EOS,
        log_prob: f32::NEG_INFINITY,
    };
}

/// Keeps the given rows of a model; does not call it if that changes nothing.
pub(super) fn select_rows(model: &mut impl NextToken, rows: &[usize]) {
    let in_order = rows.iter().enumerate().all(|(row, from)| row == *from);
    if !in_order || rows.len() != model.n_rows() {
        model.select(rows);
    }
}

pub(super) fn best_of_row(log_probs: &[f32]) -> ScoredToken {
    let mut best = ScoredToken::NONE;
    for (id, log_prob) in (0..).zip(log_probs) {
        if *log_prob > best.log_prob && !NEVER_GENERATED.contains(&id) {
            best = ScoredToken {
                id,
                log_prob: *log_prob,
            };
        }
    }
    best
}

/// A model without a cache: a function returns the log-probabilities of the next token, given all tokens so far.
///
/// For models that are not networks: tables, n-grams, another program. It calls the function once for every row of a
/// step.
///
/// # Example
///
/// ```
/// use transformer_text::EOS;
/// use transformer_search::{PrefixScorer, Request, Search, beam_search};
///
/// // Tokens 4 and 5 are equally likely at first; after one of them, the end is.
/// let score = |tokens: &[u32]| {
///     let mut log_probs = vec![f32::NEG_INFINITY; 6];
///     match tokens {
///         [] => log_probs[4..].fill(0.5_f32.ln()),
///         _ => log_probs[EOS as usize] = 0.0,
///     }
///     log_probs
/// };
/// let mut model = PrefixScorer::new(1, 6, score);
/// let found = beam_search(&mut model, &[Request::up_to(3)], &Search { n_best: 2, ..Search::default() });
/// assert_eq!((&found[0][0].ids[..], &found[0][1].ids[..]), (&[4][..], &[5][..]));
/// ```
#[derive(Clone, Debug)]
pub struct PrefixScorer<F> {
    vocab_size: usize,
    score: F,
    /// The tokens of each row so far, without BOS.
    rows: Vec<Vec<u32>>,
}

impl<F: FnMut(&[u32]) -> Vec<f32>> PrefixScorer<F> {
    /// Creates a model with `n_rows` empty rows.
    ///
    /// `score` receives the tokens of a row without BOS, and returns `vocab_size` natural logarithms of probabilities.
    /// A step panics if it returns more or fewer.
    pub fn new(n_rows: usize, vocab_size: usize, score: F) -> Self {
        Self {
            vocab_size,
            score,
            rows: vec![Vec::new(); n_rows],
        }
    }
}

impl<F: FnMut(&[u32]) -> Vec<f32>> NextToken for PrefixScorer<F> {
    fn n_rows(&self) -> usize {
        self.rows.len()
    }

    fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    fn log_probs(&mut self, last_tokens: &[u32]) -> Vec<f32> {
        let mut log_probs = Vec::with_capacity(self.rows.len() * self.vocab_size);
        for (row, token) in self.rows.iter_mut().zip(last_tokens) {
            row.extend((*token != BOS).then_some(*token));
            let scores = (self.score)(row);
            let (found, expected) = (scores.len(), self.vocab_size);
            assert_eq!(found, expected, "one log-probability for each token");
            log_probs.extend(scores);
        }
        log_probs
    }

    fn select(&mut self, rows: &[usize]) {
        self.rows = rows.iter().map(|row| self.rows[*row].clone()).collect();
    }
}

/// Passes every call on to a model, and records it.
///
/// For displays and tests: each step stores `n_rows · vocab_size` numbers. Every step asks the model for all
/// log-probabilities, never only for the likeliest tokens ([`NextToken::top_k`]), which many
/// models compute in another way. Both ways have the same definition, so a search over a recorder finds the same as
/// over the model alone, except that log-probabilities may differ by rounding, and so may the order of tokens that are
/// equally likely up to rounding. The time of a step differs from that of the model alone.
///
/// # Example
///
/// ```
/// use transformer_text::EOS;
/// use transformer_search::{PrefixScorer, Recorder, Request, Search, greedy_search};
///
/// // A model that says 5, then ends: of the tokens 0 to 5, the likeliest has the log-probability −0.1.
/// let score = |tokens: &[u32]| {
///     let mut log_probs = vec![-4.0; 6];
///     log_probs[if tokens.is_empty() { 5 } else { EOS as usize }] = -0.1;
///     log_probs
/// };
/// let mut model = Recorder::new(PrefixScorer::new(1, 6, score));
/// greedy_search(&mut model, &[Request::up_to(9)], &Search::default());
/// assert_eq!(model.steps().len(), 2);
/// assert_eq!(model.steps()[1].tokens, [5]);
/// ```
#[derive(Clone, Debug)]
pub struct Recorder<M> {
    model: M,
    /// The rows of the model since the last step: indices of that step's rows.
    rows: Vec<usize>,
    steps: Vec<SearchStep>,
}

/// A step of a search: the rows of the model, and its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchStep {
    /// For each row, the row of the previous step that it continues; in the first step, its own index.
    pub parents: Vec<usize>,
    /// The token that each row grew by; BOS in the first step.
    pub tokens: Vec<u32>,
    /// The log-probabilities of the next tokens, in nats: `n_rows · vocab_size`, row by row.
    pub log_probs: Vec<f32>,
}

impl<M: NextToken> Recorder<M> {
    /// Starts recording the calls of a model that no search has used yet.
    pub fn new(model: M) -> Self {
        Self {
            rows: (0..model.n_rows()).collect(),
            model,
            steps: Vec::new(),
        }
    }

    /// Returns the steps so far.
    pub fn steps(&self) -> &[SearchStep] {
        &self.steps
    }

    fn record(&mut self, tokens: &[u32], log_probs: &[f32]) {
        let next = (0..tokens.len()).collect();
        self.steps.push(SearchStep {
            parents: std::mem::replace(&mut self.rows, next),
            tokens: tokens.to_vec(),
            log_probs: log_probs.to_vec(),
        });
    }
}

impl<M: NextToken> NextToken for Recorder<M> {
    fn n_rows(&self) -> usize {
        self.model.n_rows()
    }

    fn vocab_size(&self) -> usize {
        self.model.vocab_size()
    }

    fn log_probs(&mut self, last_tokens: &[u32]) -> Vec<f32> {
        let log_probs = self.model.log_probs(last_tokens);
        self.record(last_tokens, &log_probs);
        log_probs
    }

    fn log_probs_with_attention(&mut self, last_tokens: &[u32]) -> (Vec<f32>, Vec<Vec<f32>>) {
        let (log_probs, attention) = self.model.log_probs_with_attention(last_tokens);
        self.record(last_tokens, &log_probs);
        (log_probs, attention)
    }

    fn select(&mut self, rows: &[usize]) {
        self.rows = rows.iter().map(|row| self.rows[*row]).collect();
        self.model.select(rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Table;
    use crate::{Ensemble, EnsembleMean, Request, Search};

    #[test]
    fn special_tokens_are_skipped_and_ties_go_to_the_lower_id() {
        let best = best_of_row(&[0.0, 0.0, 0.0, -3.0, -2.0, -2.0]);
        assert_eq!(
            best,
            ScoredToken {
                id: 4,
                log_prob: -2.0
            }
        );
    }

    #[test]
    fn models_of_two_types_form_an_ensemble() {
        let table = Table::chain(&[5, 4, EOS]);
        let other: Box<dyn NextToken> = Box::new(Ensemble::new(
            vec![Table::chain(&[5, 4, EOS])],
            EnsembleMean::Probs,
        ));
        let members: Vec<Box<dyn NextToken>> = vec![Box::new(table), other];
        let mut both = Ensemble::new(members, EnsembleMean::Probs);
        let found = Search::greedy().run(&mut &mut both, &[Request::up_to(9)]);
        assert_eq!(found[0][0].ids, [5, 4]);
    }

    #[test]
    fn a_row_of_nan_has_no_finite_best() {
        assert!(!best_of_row(&[f32::NAN; 6]).log_prob.is_finite());
    }
}

#[cfg(test)]
mod prefix_scorer_tests {
    use super::*;
    use crate::tests::Table;
    use crate::{Request, Search, beam_search};

    proptest::proptest! {
        #[test]
        fn a_function_is_searched_as_the_model_that_it_describes(seed: u64) {
            let mut table = Table::random(seed, &[3], 7);
            let rows = table.clone();
            let score = |tokens: &[u32]| rows.row(3, &[&[BOS], tokens].concat());
            let mut function = PrefixScorer::new(1, 7, score);
            let search = Search { beam_size: 3, n_best: 3, ..Search::default() };
            let requests = [Request::up_to(5)];
            proptest::prop_assert_eq!(
                beam_search(&mut function, &requests, &search),
                beam_search(&mut table, &requests, &search)
            );
        }
    }
}

#[cfg(test)]
mod recorder_tests {
    use super::*;
    use crate::tests::Table;
    use crate::{Hypothesis, Request, Search, beam_search};

    const VOCAB: usize = 7;

    fn search() -> Search {
        Search {
            beam_size: 3,
            n_best: 3,
            ..Search::default()
        }
    }

    fn recorded(seed: u64) -> (Recorder<Table>, Vec<Vec<Hypothesis>>) {
        let mut model = Recorder::new(Table::random(seed, &[4, 9], VOCAB));
        let requests = [Request::up_to(6), Request::up_to(5)];
        let found = beam_search(&mut model, &requests, &search());
        (model, found)
    }

    /// Returns the tokens of every row at every step, from the records.
    fn prefixes(steps: &[SearchStep]) -> Vec<Vec<Vec<u32>>> {
        let mut all: Vec<Vec<Vec<u32>>> = Vec::new();
        for step in steps {
            let rows = step.parents.iter().zip(&step.tokens);
            let grown = rows.map(|(parent, token)| match all.last() {
                Some(before) => [&before[*parent][..], &[*token]].concat(),
                None => Vec::new(), // BOS is no part of a hypothesis
            });
            let grown = grown.collect();
            all.push(grown);
        }
        all
    }

    proptest::proptest! {
        #[test]
        fn a_recorded_search_finds_what_it_finds_without_the_recorder(seed: u64) {
            let requests = [Request::up_to(6), Request::up_to(5)];
            let mut alone = Table::random(seed, &[4, 9], VOCAB);
            proptest::prop_assert_eq!(
                recorded(seed).1,
                beam_search(&mut alone, &requests, &search())
            );
        }

        #[test]
        fn every_hypothesis_is_spelled_by_the_rows_of_its_steps(seed: u64) {
            let (model, found) = recorded(seed);
            let prefixes = prefixes(model.steps());
            for hypothesis in found.iter().flatten() {
                // A finished one ends with EOS, which no row grew by; one that was cut lacks the step after its last
                // token.
                let n_steps = hypothesis.ids.len() + usize::from(hypothesis.finished);
                for (n_tokens, rows) in prefixes.iter().enumerate().take(n_steps) {
                    let prefix = hypothesis.ids[..n_tokens].to_vec();
                    proptest::prop_assert!(rows.contains(&prefix), "{:?}: {:?}", prefix, rows);
                }
            }
        }
    }
}
