//! [`PrefixScorer`]: a model as a function of the tokens so far.

use transformer_text::BOS;

use super::NextToken;

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

#[cfg(test)]
mod tests {
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
