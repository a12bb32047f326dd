//! Greedy search: the likeliest token at each step.

use super::running::{Kind, RunningSearch};
use super::{Hypothesis, NextToken, Request, Search, beam_search};

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
