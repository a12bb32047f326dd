//! [`sample`]: tokens drawn by their probability instead of searched for.

use super::running::{Kind, RunningSearch};
use super::{Hypothesis, NextToken, Request, Sampling, Search};

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
