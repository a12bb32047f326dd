//! Greedy search, beam search (§6.1) and sampling; [`Search::run`]: the search of the settings.

use super::phrase_beam::width;
use super::phrase_tracker::RequiredPhrases;
use super::running::{Kind, RunningSearch};
use super::{Hypothesis, NextToken, Phrase, Request, Sampling, Search, SearchError};

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

/// Keeps the `beam_size` likeliest prefixes of each row at each step, and returns the best sequences found.
///
/// Each step ranks the `2 · beam_size` likeliest continuations of a sentence. A continuation that ends with EOS becomes
/// a finished hypothesis if it is among the first `beam_size`; the first `beam_size` of the others stay in the beam. So
/// the beam is always full, and a beam of one chooses the same tokens as [`greedy_search`](super::greedy_search). The
/// `beam_size` finished hypotheses with the best scores are kept.
///
/// A sentence ends by the [`StopRule`](super::StopRule) of the search, and its rows leave the model. A sentence that
/// reaches its limit (`requests[i].max_len` generated tokens, including EOS) also returns its unfinished prefixes,
/// after the finished hypotheses; by [`AtLimit`](super::AtLimit) they compete, or EOS is their last token. A prefix
/// without any allowed continuation is dropped; if that leaves no hypothesis, the best such prefix is returned, cut.
///
/// If the output of a sentence must contain [phrases](Request::phrases), its beam is wider by two prefixes for each
/// token of them, at most by 32: it also keeps the best prefix for every number of tokens that are still required. An
/// output lacks a required phrase only if the model computes a probability of 0 or NaN. Even a beam of one then ends
/// with the [`StopRule`](super::StopRule), as a wider one does.
///
/// Ties go to the better prefix, then to the lower id, so that results are deterministic.
///
/// # Panics
///
/// Panics if the search is not [valid](Search::validate), also for [each request](Search::check_request), if the number
/// of requests is not the number of rows, or if a prefix or a phrase has an id that is not in the vocabulary.
pub fn beam_search(
    model: &mut impl NextToken,
    requests: &[Request],
    search: &Search,
) -> Vec<Vec<Hypothesis>> {
    search.assert_valid_for(requests);
    RunningSearch::run(model, requests, search, Kind::Beam, search.n_best.max(1))
}

/// Chooses the likeliest token at each step, and returns the sequence of each row.
///
/// Row `i` follows `requests[i]`. The length and coverage penalties change only the reported score. Finished rows leave
/// the model. Ties go to the lower id.
///
/// Rows with phrases use a [`beam_search`] with a beam of one, which equals greedy search for the other rows.
///
/// # Panics
///
/// Panics as [`beam_search`] does.
pub fn greedy_search(
    model: &mut impl NextToken,
    requests: &[Request],
    search: &Search,
) -> Vec<Hypothesis> {
    search.assert_valid_for(requests);
    if requests.iter().any(|request| !request.phrases.is_empty()) {
        let search = Search {
            beam_size: 1,
            n_best: 1,
            ..search.clone()
        };
        return beam_search(model, requests, &search).concat();
    }
    RunningSearch::run(model, requests, search, Kind::Greedy, 1).concat()
}

/// Draws `search.n_best` samples (at least one) for each row, and returns them in the order of drawing.
///
/// Samples may be equal. The first samples do not depend on how many follow.
///
/// # Panics
///
/// Panics if the search is not [valid](Search::validate), if a request has [phrases](Request::phrases), if the number
/// of requests is not the number of rows, or if a prefix has an id that is not in the vocabulary.
pub fn sample(
    model: &mut impl NextToken,
    requests: &[Request],
    search: &Search,
    sampling: &Sampling,
) -> Vec<Vec<Hypothesis>> {
    let n_samples = search.n_best.max(1);
    let settings = Search {
        n_best: n_samples,
        sampling: Some(*sampling),
        ..search.clone()
    };
    settings.assert_valid_for(requests);
    let kind = Kind::Sampling(*sampling);
    RunningSearch::run(model, requests, search, kind, n_samples)
}

#[cfg(test)]
mod tests {
    use transformer_text::EOS;

    use super::*;
    use crate::LengthPenalty;
    use crate::tests::Table;

    fn greedy(table: &mut Table, max_lens: &[usize]) -> Vec<Hypothesis> {
        let requests: Vec<Request> = max_lens.iter().map(|len| Request::up_to(*len)).collect();
        let search = Search {
            length_penalty: LengthPenalty::None,
            ..Search::greedy()
        };
        greedy_search(table, &requests, &search)
    }

    #[test]
    fn the_likeliest_tokens_are_chosen_until_eos() {
        let found = greedy(&mut Table::chain(&[5, 4, EOS]), &[9]);
        assert_eq!(found[0].ids, [5, 4]);
        assert!(found[0].finished);
        assert!((found[0].log_prob - 3.0 * Table::chain_log_prob()).abs() < 1e-6);
    }

    #[test]
    fn a_limit_of_zero_generates_nothing() {
        let nothing = Hypothesis {
            finished: false,
            ..Hypothesis::empty()
        };
        assert_eq!(greedy(&mut Table::chain(&[5, 4, EOS]), &[0]), [nothing]);
    }

    #[test]
    fn a_limit_of_one_leaves_room_for_eos_or_one_token() {
        let ends = greedy(&mut Table::chain(&[EOS]), &[1]);
        assert_eq!(
            (ends[0].ids.as_slice(), ends[0].finished),
            ([].as_slice(), true)
        );
        let cut = greedy(&mut Table::chain(&[5, 4, EOS]), &[1]);
        assert_eq!(
            (cut[0].ids.as_slice(), cut[0].finished),
            ([5].as_slice(), false)
        );
    }

    #[test]
    fn a_model_that_computes_nan_has_a_nan_log_prob() {
        let found = greedy(&mut Table::of_nan(2), &[3, 3]);
        assert!(found.iter().all(|hypothesis| hypothesis.log_prob.is_nan()));
    }
}
