//! [`Search::run`]: the search of the settings, and its requirements for requests with phrases.

use super::phrase_beam::width;
use super::phrase_tracker::RequiredPhrases;
use super::{
    Hypothesis, NextToken, Phrase, Request, Search, SearchError, beam_search, greedy_search, sample,
};

impl Search {
    /// Searches for the outputs of all rows of a model, and returns the hypotheses of each row.
    ///
    /// Every row gets 1 to `n_best` hypotheses: the best first, or samples in the order of drawing.
    /// [`request`](Self::request) makes the request of a row.
    ///
    /// # Panics
    ///
    /// Panics if the search is not [valid](Self::validate), also for [each request](Self::check_request), if the number
    /// of requests is not the number of rows, or if a prefix or a phrase has an id that is not in the vocabulary.
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

    /// Returns the largest number of rows of a model that a source with required phrases needs.
    ///
    /// # Panics
    ///
    /// Panics if a phrase [cannot be written everywhere](Self::check_request).
    pub fn n_rows_with(&self, phrases: &[Phrase]) -> usize {
        if phrases.is_empty() {
            return self.n_rows();
        }
        width(self, &RequiredPhrases::new(phrases))
    }

    /// Checks the phrases of a request, and that the search can require them.
    ///
    /// # Errors
    ///
    /// Returns a [`SearchError`] if a phrase cannot be written everywhere, or if there are phrases and the search draws
    /// samples.
    pub fn check_request(&self, request: &Request) -> Result<(), SearchError> {
        let phrases = &request.phrases;
        if !phrases.is_empty() && self.sampling.is_some() {
            return Err(SearchError::SampledPhrases);
        }
        match phrases.iter().position(|it| it.n_tokens().is_none()) {
            Some(index) => Err(SearchError::Phrase {
                position: index + 1,
            }),
            None => Ok(()),
        }
    }

    /// # Panics
    ///
    /// Panics if the search is not [valid](Self::validate), also for [each request](Self::check_request).
    pub(super) fn assert_valid_for(&self, requests: &[Request]) {
        self.assert_valid();
        for request in requests {
            if let Err(error) = self.check_request(request) {
                panic!("{error}");
            }
        }
    }
}
