//! [`Recorder`]: a model that records the calls of a search, to show how the search proceeded.

use super::NextToken;

/// Passes every call on to a model, and records it.
///
/// For displays and tests: each step stores `n_rows · vocab_size` numbers. Every step asks the model for all
/// log-probabilities, never only for the likeliest tokens ([`NextToken::best`], [`NextToken::top_k`]), which many
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
