//! [`Search::run`]: the search that the settings describe.

use super::{Hypothesis, NextToken, Request, Search, beam_search, greedy_search, sample};

impl Search {
    /// Searches for the outputs of all rows of a model, and returns the hypotheses of each row.
    ///
    /// Every row gets 1 to `n_best` hypotheses: the best first, or samples in the order in which they were drawn.
    /// [`request`](Self::request) makes the request of a row.
    ///
    /// # Panics
    ///
    /// Panics if the search is not [valid](Self::validate), if the number of requests is not the number of rows, or if
    /// a prefix has an id that is not in the vocabulary.
    pub fn run(&self, model: &mut impl NextToken, requests: &[Request]) -> Vec<Vec<Hypothesis>> {
        match &self.sampling {
            Some(sampling) => sample(model, requests, self, sampling),
            None if self.beam_size > 1 => beam_search(model, requests, self),
            None => {
                let found = greedy_search(model, requests, self);
                found.into_iter().map(|found| vec![found]).collect()
            }
        }
    }
}
