//! What a search needs from a model.

use transformer_core::cpu::Normalizer;
use transformer_core::text::{BOS, EOS, PAD, UNK};

/// The tokens that no search ever generates.
///
/// PAD and BOS are no text. UNK stands for text that the tokenizer cannot spell, so there is nothing
/// to print for it. Their probability is left where the model put it: it is not shared out among the
/// other tokens, and scores are those of the full softmax.
pub const NEVER_GENERATED: [u32; 3] = [PAD, UNK, BOS];

/// Tokens that are looked at together for whether one of them is among the likeliest.
const CHUNK: usize = 64;

/// Scores the next token of every row of a batch.
///
/// A row is a sequence that grows by one token at each step. The model remembers what the rows hold;
/// the search says which token each of them grows by and which rows to keep.
pub trait NextToken {
    /// Returns the number of rows.
    fn n_rows(&self) -> usize;

    /// Returns the number of tokens that are scored, special ones included.
    fn vocab_size(&self) -> usize;

    /// Puts `last_tokens[i]` behind row `i`, and returns the log-probabilities of what may follow.
    ///
    /// The first call gives BOS to every row. The numbers are natural logarithms of the softmax over
    /// the whole vocabulary, in one `Vec` of `n_rows · vocab_size` numbers, row after row.
    fn log_probs(&mut self, last_tokens: &[u32]) -> Vec<f32>;

    /// Like [`log_probs`](Self::log_probs), and returns as well how much attention each row paid to the
    /// tokens of its source: one weight for each of them, in sum 1.
    ///
    /// Only a coverage penalty asks. A model that attends to nothing returns no weights, as this does
    /// by itself, and is never penalized.
    fn log_probs_with_attention(&mut self, last_tokens: &[u32]) -> (Vec<f32>, Vec<Vec<f32>>) {
        let nothing = vec![Vec::new(); last_tokens.len()];
        (self.log_probs(last_tokens), nothing)
    }

    /// Like [`log_probs`](Self::log_probs), but returns only the likeliest token of each row, the one
    /// with the lowest id if there are several.
    ///
    /// A model on a device of its own can answer it with less to copy.
    fn best(&mut self, last_tokens: &[u32]) -> Vec<Best> {
        let vocab_size = self.vocab_size();
        self.log_probs(last_tokens)
            .chunks_exact(vocab_size)
            .map(best_of_row)
            .collect()
    }

    /// Like [`best`](Self::best), but returns the `n` likeliest tokens of each row, the likeliest first, and of
    /// equally likely ones the lower id first; fewer where fewer have a finite log-probability.
    ///
    /// Returns `None`, and does nothing, if to return all log-probabilities costs no more, as it does by itself: a
    /// beam search then asks for those.
    fn best_few(&mut self, last_tokens: &[u32], n: usize) -> Option<Vec<Vec<Best>>> {
        let _ = (last_tokens, n);
        None
    }

    /// Keeps the given rows, in the given order; a row may be kept more than once, or not at all.
    fn select(&mut self, rows: &[usize]);
}

/// Implements [`NextToken`] for what points to a model.
macro_rules! forward {
    () => {
        fn n_rows(&self) -> usize {
            (**self).n_rows()
        }

        fn vocab_size(&self) -> usize {
            (**self).vocab_size()
        }

        fn log_probs(&mut self, last_tokens: &[u32]) -> Vec<f32> {
            (**self).log_probs(last_tokens)
        }

        fn log_probs_with_attention(&mut self, last_tokens: &[u32]) -> (Vec<f32>, Vec<Vec<f32>>) {
            (**self).log_probs_with_attention(last_tokens)
        }

        fn best(&mut self, last_tokens: &[u32]) -> Vec<Best> {
            (**self).best(last_tokens)
        }

        fn best_few(&mut self, last_tokens: &[u32], n: usize) -> Option<Vec<Vec<Best>>> {
            (**self).best_few(last_tokens, n)
        }

        fn select(&mut self, rows: &[usize]) {
            (**self).select(rows);
        }
    };
}

impl<M: NextToken + ?Sized> NextToken for Box<M> {
    forward!();
}

impl<M: NextToken + ?Sized> NextToken for &mut M {
    forward!();
}

/// Holds the likeliest next token of a row, among those that may be generated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// The token.
    pub id: u32,
    /// Its log-probability, in nats; not finite if no token has one.
    pub log_prob: f32,
}

impl Best {
    /// What there is where no token has a finite log-probability.
    pub(crate) const NONE: Self = Self {
        id: EOS,
        log_prob: f32::NEG_INFINITY,
    };
}

/// Keeps the given rows of a model, which has nothing to do if they are all and in order.
pub(super) fn keep(model: &mut impl NextToken, rows: &[usize]) {
    let in_order = rows.iter().enumerate().all(|(row, from)| row == *from);
    if !in_order || rows.len() != model.n_rows() {
        model.select(rows);
    }
}

/// Returns the likeliest token of a row.
pub(super) fn best_of_row(log_probs: &[f32]) -> Best {
    let mut best = Best::NONE;
    for (id, log_prob) in (0..).zip(log_probs) {
        if *log_prob > best.log_prob && !NEVER_GENERATED.contains(&id) {
            best = Best {
                id,
                log_prob: *log_prob,
            };
        }
    }
    best
}

/// Returns the `n` likeliest tokens of a row, as [`NextToken::best_few`] orders them, given its logits and what turns
/// them into log-probabilities.
pub(crate) fn best_few_of_row(logits: &[f32], normalizer: Normalizer, n: usize) -> Vec<Best> {
    let mut best: Vec<Best> = Vec::with_capacity(n.min(logits.len()) + 1);
    // What a token has to exceed; few do, and chunks without one are passed over at once.
    let mut threshold = f32::NEG_INFINITY;
    for (index, chunk) in logits.chunks(CHUNK).enumerate() {
        let is_above = |above: bool, logit: &f32| above | (normalizer.log_prob(*logit) > threshold);
        if !chunk.iter().fold(false, is_above) {
            continue;
        }
        for (id, logit) in ((index * CHUNK) as u32..).zip(chunk) {
            let log_prob = normalizer.log_prob(*logit);
            if log_prob > threshold && log_prob.is_finite() && !NEVER_GENERATED.contains(&id) {
                let place = best.partition_point(|held| held.log_prob >= log_prob);
                best.insert(place, Best { id, log_prob });
                best.truncate(n);
                if best.len() == n {
                    threshold = best.last().map_or(f32::INFINITY, |last| last.log_prob);
                }
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::tests::Table;
    use crate::search::{Ensemble, EnsembleMean, Request, Search};

    #[test]
    fn special_tokens_are_passed_over_and_ties_go_to_the_lower_id() {
        let best = best_of_row(&[0.0, 0.0, 0.0, -3.0, -2.0, -2.0]);
        assert_eq!(
            best,
            Best {
                id: 4,
                log_prob: -2.0
            }
        );
    }

    #[test]
    fn models_of_two_kinds_predict_together() {
        let table = Table::chain(&[5, 4, EOS]);
        let other: Box<dyn NextToken> = Box::new(Ensemble::new(
            vec![Table::chain(&[5, 4, EOS])],
            EnsembleMean::Probs,
        ));
        let members: Vec<Box<dyn NextToken>> = vec![Box::new(table), other];
        let mut both = Ensemble::new(members, EnsembleMean::Probs);
        let found = Search::greedy().run(&mut &mut both, &[Request::up_to(9)]);
        assert_eq!(found[0][0].ids, [5, 4]);
    }

    #[test]
    fn the_best_few_come_in_order_and_only_those_that_are_finite() {
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
        let ids = |n: usize| -> Vec<u32> {
            let best = best_few_of_row(&row, Normalizer::default(), n);
            best.iter().map(|best| best.id).collect()
        };
        assert!(ids(0).is_empty());
        assert_eq!(ids(2), [6, 4]);
        assert_eq!(ids(9), [6, 4, 7, 3]);
    }

    proptest::proptest! {
        #[test]
        fn the_best_few_are_the_first_of_all_sorted(
            // Few values, so that some are equal.
            row in proptest::collection::vec(-40_i8..0, 1..400), n in 0_usize..12,
        ) {
            let logits: Vec<f32> = row.iter().copied().map(f32::from).collect();
            let mut ids: Vec<u32> = (EOS..row.len() as u32).collect();
            ids.sort_by_key(|id| -row[*id as usize]);
            ids.truncate(n);
            let found = best_few_of_row(&logits, Normalizer::default(), n);
            proptest::prop_assert_eq!(found.iter().map(|best| best.id).collect::<Vec<_>>(), ids);
            let of = |id: u32| f32::from(row[id as usize]);
            proptest::prop_assert!(found.iter().all(|best| best.log_prob == of(best.id)));
        }
    }

    #[test]
    fn a_row_of_nan_has_no_finite_best() {
        assert!(!best_of_row(&[f32::NAN; 6]).log_prob.is_finite());
    }
}
