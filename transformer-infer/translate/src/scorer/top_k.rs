//! The likeliest tokens of rows of logits in CPU memory.

use transformer_core::cpu::{LogitSummary, summarize_logits};
use transformer_search::{NEVER_GENERATED, ScoredToken};

/// Returns the `k` likeliest tokens of a row in the order of
/// [`NextToken::top_k`](transformer_search::NextToken::top_k), given its logits and their summary.
pub(crate) fn top_k_of_row(logits: &[f32], summary: &LogitSummary, k: usize) -> Vec<ScoredToken> {
    let mut best: Vec<ScoredToken> = Vec::with_capacity(k.min(logits.len()) + 1);
    if k == 0 {
        return best;
    }
    // The log-probability that a token has to exceed.
    let mut threshold = f32::NEG_INFINITY;
    let n_largest = k.saturating_add(NEVER_GENERATED.len());
    for (first, chunk) in summary.chunks_with_largest(logits, n_largest) {
        for (id, logit) in (first as u32..).zip(chunk) {
            let log_prob = summary.log_prob(*logit);
            if log_prob > threshold && log_prob.is_finite() && !NEVER_GENERATED.contains(&id) {
                let index = best.partition_point(|other| other.log_prob >= log_prob);
                best.insert(index, ScoredToken { id, log_prob });
                best.truncate(k);
                if best.len() == k {
                    threshold = best.last().map_or(f32::INFINITY, |last| last.log_prob);
                }
            }
        }
    }
    best
}

/// Returns the `k` likeliest tokens of each row, the likeliest first.
pub(super) fn top_k_of_rows(logits: &[f32], vocab_size: usize, k: usize) -> Vec<Vec<ScoredToken>> {
    let summaries = summarize_logits(logits, vocab_size);
    logits
        .chunks(vocab_size)
        .zip(&summaries)
        .map(|(row, summary)| top_k_of_row(row, summary, k))
        .collect()
}

/// Returns the likeliest token of each row.
pub(super) fn best_of_rows(logits: &[f32], vocab_size: usize) -> Vec<ScoredToken> {
    let best = top_k_of_rows(logits, vocab_size, 1).into_iter();
    best.map(|row| row.first().copied().unwrap_or(ScoredToken::NONE))
        .collect()
}

#[cfg(test)]
mod tests {
    use transformer_core::text::EOS;

    use super::*;

    #[test]
    fn the_likeliest_tokens_are_in_order_and_finite() {
        let row = [
            0.0,
            0.0,
            0.0,
            -3.0,
            -2.0,
            f32::NAN,
            -1.0,
            -2.0,
            f32::NEG_INFINITY,
        ];
        let ids = |k: usize| -> Vec<u32> {
            let best = top_k_of_row(&row, &LogitSummary::of_log_probs(&row), k);
            best.iter().map(|best| best.id).collect()
        };
        assert!(ids(0).is_empty());
        assert_eq!(ids(2), [6, 4]);
        assert_eq!(ids(9), [6, 4, 7, 3]);
    }

    proptest::proptest! {
        #[test]
        fn the_likeliest_tokens_are_the_first_of_the_sorted_vocabulary(
            // Few values, so that some are equal.
            row in proptest::collection::vec(-40_i8..0, 1..1000), k in 0_usize..12,
        ) {
            let logits: Vec<f32> = row.iter().copied().map(f32::from).collect();
            let mut ids: Vec<u32> = (EOS..row.len() as u32).collect();
            ids.sort_by_key(|id| -row[*id as usize]);
            ids.truncate(k);
            let found = top_k_of_row(&logits, &LogitSummary::of_log_probs(&logits), k);
            proptest::prop_assert_eq!(found.iter().map(|best| best.id).collect::<Vec<_>>(), ids);
            let of = |id: u32| f32::from(row[id as usize]);
            proptest::prop_assert!(found.iter().all(|best| best.log_prob == of(best.id)));
        }
    }
}
