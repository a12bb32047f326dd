//! Beam search: several hypotheses in parallel (§6.1).

use super::running::{Kind, RunningSearch};
use super::{Hypothesis, NextToken, Request, Search};

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
