//! Greedy search: the likeliest token at each step.

use transformer_core::text::EOS;

use super::hypothesis::Prefix;
use super::{Hypothesis, LengthPenalty, NextToken};

/// Takes the likeliest token at each step, and returns the sequence of each row.
///
/// Row `i` generates at most `max_lens[i]` tokens, EOS included. The length penalty decides nothing
/// here; it only enters the reported score. Rows that are done leave the model.
///
/// # Panics
///
/// Panics if `max_lens` does not hold one limit for each row of the model.
pub fn greedy_search(
    model: &mut impl NextToken,
    max_lens: &[usize],
    penalty: LengthPenalty,
) -> Vec<Hypothesis> {
    assert_eq!(
        model.n_rows(),
        max_lens.len(),
        "each row needs one length limit"
    );
    let mut found: Vec<Option<Hypothesis>> = vec![None; max_lens.len()];
    let mut running: Vec<(usize, Prefix)> = (0..max_lens.len())
        .map(|sentence| (sentence, Prefix::new()))
        .collect();
    loop {
        let mut rows = Vec::with_capacity(running.len());
        let mut later = Vec::with_capacity(running.len());
        for (row, (sentence, prefix)) in running.into_iter().enumerate() {
            if found[sentence].is_some() {
                continue;
            }
            if prefix.ids.len() == max_lens[sentence] {
                found[sentence] = Some(prefix.cut(penalty));
                continue;
            }
            rows.push(row);
            later.push((sentence, prefix));
        }
        running = later;
        if running.is_empty() {
            break;
        }
        if rows.len() < model.n_rows() {
            model.select(&rows);
        }
        let last_tokens: Vec<u32> = running
            .iter()
            .map(|(_, prefix)| prefix.last_token())
            .collect();
        for ((sentence, prefix), best) in running.iter_mut().zip(model.best(&last_tokens)) {
            let log_prob = prefix.log_prob + f64::from(best.log_prob);
            if !best.log_prob.is_finite() {
                found[*sentence] = Some(prefix.clone().abandon());
            } else if best.id == EOS {
                found[*sentence] = Some(prefix.finish(log_prob, penalty));
            } else {
                prefix.ids.push(best.id);
                prefix.log_prob = log_prob;
            }
        }
    }
    found.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::table::Table;

    const NONE: LengthPenalty = LengthPenalty::None;

    #[test]
    fn the_likeliest_tokens_are_taken_until_eos() {
        let mut table = Table::chain(&[5, 4, EOS]);
        let found = greedy_search(&mut table, &[9], NONE);
        assert_eq!(found[0].ids, [5, 4]);
        assert!(found[0].finished);
        assert!((found[0].log_prob - 3.0 * Table::chain_log_prob()).abs() < 1e-6);
    }

    #[test]
    fn a_limit_of_nothing_generates_nothing() {
        let found = greedy_search(&mut Table::chain(&[5, 4, EOS]), &[0], NONE);
        let nothing = Hypothesis {
            finished: false,
            ..Hypothesis::empty()
        };
        assert_eq!(found, [nothing]);
    }

    #[test]
    fn a_limit_of_one_leaves_room_for_eos_or_one_token() {
        let ends = greedy_search(&mut Table::chain(&[EOS]), &[1], NONE);
        assert_eq!(
            (ends[0].ids.as_slice(), ends[0].finished),
            ([].as_slice(), true)
        );
        let cut = greedy_search(&mut Table::chain(&[5, 4, EOS]), &[1], NONE);
        assert_eq!(
            (cut[0].ids.as_slice(), cut[0].finished),
            ([5].as_slice(), false)
        );
    }

    #[test]
    fn a_model_of_nan_is_told_by_the_score() {
        let found = greedy_search(&mut Table::of_nan(2), &[3, 3], NONE);
        assert!(found.iter().all(|hypothesis| hypothesis.log_prob.is_nan()));
    }
}
