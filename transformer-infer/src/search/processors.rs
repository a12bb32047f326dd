//! What changes the ranks of next tokens, whatever the model and whatever the search.
//!
//! The model's log-probabilities stay as they are; processors work on a copy that the search ranks by:
//! a repetition penalty lowers numbers, and a token that may not follow gets −∞. A forced prefix stands
//! above all of them ([`Request::prefix`]).

use transformer_core::text::EOS;

use super::hypothesis::Prefix;
use super::{AtLimit, NEVER_GENERATED, NextToken, Request, Search};

/// Holds what a search was asked to change.
#[derive(Debug)]
pub(super) struct Processors<'a> {
    search: &'a Search,
    /// Whether there is anything to change at any step, and not only at the last.
    are_needed: bool,
}

/// Holds what is known about the next token of every row.
#[derive(Debug)]
pub(super) struct Prediction {
    vocab_size: usize,
    /// What the model says.
    log_probs: Vec<f32>,
    /// What the search ranks by; empty if that is what the model says.
    ranks: Vec<f32>,
    /// What each row looked at in its source; empty unless a coverage penalty asks.
    attention: Vec<Vec<f32>>,
}

impl<'a> Processors<'a> {
    pub(super) fn new(search: &'a Search, requests: &[Request]) -> Self {
        let are_needed = !search.banned.is_empty()
            || search.no_repeat_ngram.is_some()
            || search.repetition_penalty != 1.0
            || search.renormalizes()
            || requests.iter().any(|request| request.min_len > 1);
        Self { search, are_needed }
    }

    /// Says whether the likeliest tokens are all that a search has to know of what follows.
    pub(super) fn leave_all_as_it_is<'p>(
        &self,
        rows: impl Iterator<Item = (&'p Request, &'p Prefix)>,
    ) -> bool {
        !self.change_any(rows) && self.search.coverage_penalty == 0.0
    }

    /// Says whether the ranks of any of these rows differ from what the model says.
    fn change_any<'p>(&self, mut rows: impl Iterator<Item = (&'p Request, &'p Prefix)>) -> bool {
        self.are_needed || rows.any(|(request, prefix)| self.must_end(&prefix.ids, request))
    }

    /// Says whether nothing but EOS may follow, since the limit leaves no room.
    fn must_end(&self, ids: &[u32], request: &Request) -> bool {
        self.search.at_limit != AtLimit::Cut && ids.len() + 1 == request.max_len
    }

    /// Puts the last token of each row into the model, and returns what may follow.
    pub(super) fn predict<'p>(
        &self,
        model: &mut impl NextToken,
        rows: impl Iterator<Item = (&'p Request, &'p Prefix)> + Clone,
    ) -> Prediction {
        let last_tokens = rows.clone().map(|(_, prefix)| prefix.last_token());
        let last_tokens: Vec<u32> = last_tokens.collect();
        let vocab_size = model.vocab_size();
        let (log_probs, attention) = if self.search.coverage_penalty == 0.0 {
            (model.log_probs(&last_tokens), Vec::new())
        } else {
            model.log_probs_with_attention(&last_tokens)
        };
        let mut ranks = Vec::new();
        if self.change_any(rows.clone()) {
            ranks.clone_from(&log_probs);
            for ((request, prefix), ranks) in rows.zip(ranks.chunks_exact_mut(vocab_size)) {
                self.process(ranks, &prefix.ids, request);
            }
        }
        Prediction {
            vocab_size,
            log_probs,
            ranks,
            attention,
        }
    }

    /// Changes the ranks of what may follow `ids`, which come as the model's log-probabilities.
    ///
    /// Where no token is left that may follow, EOS may, whatever forbids it.
    fn process(&self, ranks: &mut [f32], ids: &[u32], request: &Request) {
        self.apply_rules(ranks, ids, request);
        if self.search.renormalizes() {
            share_out(ranks);
        }
    }

    fn apply_rules(&self, ranks: &mut [f32], ids: &[u32], request: &Request) {
        let eos = ranks.get(EOS as usize).copied();
        if let (true, Some(eos)) = (self.must_end(ids, request), eos) {
            ranks.fill(f32::NEG_INFINITY);
            let is_free = self.search.at_limit == AtLimit::FreeEnd && !eos.is_nan();
            ranks[EOS as usize] = if is_free { 0.0 } else { eos };
            return;
        }
        penalize_repetition(ranks, ids, self.search.repetition_penalty as f32);
        for sequence in &self.search.banned {
            if let Some((last, before)) = sequence.split_last()
                && ids.ends_with(before)
            {
                forbid(ranks, *last);
            }
        }
        if let Some(n) = self.search.no_repeat_ngram {
            forbid_repeated_ngrams(ranks, ids, n);
        }
        if ids.len() + 1 < request.min_len.min(request.max_len) {
            forbid(ranks, EOS);
        }
        let mut ranked = (0..).zip(ranks.iter());
        let any = ranked.any(|(id, rank)| rank.is_finite() && !NEVER_GENERATED.contains(&id));
        if let (false, Some(eos)) = (any, eos) {
            ranks[EOS as usize] = eos;
        }
    }
}

impl Prediction {
    /// Returns what the model gives each token of a row.
    pub(super) fn log_probs(&self, row: usize) -> &[f32] {
        &self.log_probs[row * self.vocab_size..(row + 1) * self.vocab_size]
    }

    /// Returns what the search ranks the tokens of a row by.
    pub(super) fn ranks(&self, row: usize) -> &[f32] {
        let ranks = if self.ranks.is_empty() {
            &self.log_probs
        } else {
            &self.ranks
        };
        &ranks[row * self.vocab_size..(row + 1) * self.vocab_size]
    }

    /// Returns what a row looked at, if anybody asked.
    pub(super) fn attention(&self, row: usize) -> Option<&[f32]> {
        self.attention.get(row).map(Vec::as_slice)
    }

    pub(super) fn vocab_size(&self) -> usize {
        self.vocab_size
    }
}

/// Makes ranks the logarithms of shares in what may follow.
fn share_out(ranks: &mut [f32]) {
    for id in NEVER_GENERATED {
        forbid(ranks, id);
    }
    let sum: f64 = ranks.iter().map(|rank| f64::from(*rank).exp()).sum();
    let total = sum.ln();
    if total.is_finite() {
        for rank in ranks {
            *rank = (f64::from(*rank) - total) as f32;
        }
    }
}

fn forbid(ranks: &mut [f32], id: u32) {
    // The vocabulary of another model may be smaller than what was banned.
    if let Some(rank) = ranks.get_mut(id as usize) {
        *rank = f32::NEG_INFINITY;
    }
}

/// Multiplies by θ, once for each token that is there.
fn penalize_repetition(ranks: &mut [f32], ids: &[u32], theta: f32) {
    if theta == 1.0 {
        return;
    }
    for (place, id) in ids.iter().enumerate() {
        if !ids[..place].contains(id) {
            ranks[*id as usize] *= theta;
        }
    }
}

/// Forbids what would complete an n-gram for the second time.
fn forbid_repeated_ngrams(ranks: &mut [f32], ids: &[u32], n: usize) {
    if ids.len() < n {
        return;
    }
    let open = &ids[ids.len() + 1 - n..];
    for ngram in ids.windows(n) {
        if ngram.starts_with(open) {
            forbid(ranks, ngram[n - 1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORBIDDEN: f32 = f32::NEG_INFINITY;

    /// Returns what becomes of eight tokens that all have −1, behind `ids`.
    fn processed(search: &Search, ids: &[u32], request: &Request) -> Vec<f32> {
        let mut ranks = vec![-1.0; 8];
        Processors::new(search, &[]).process(&mut ranks, ids, request);
        ranks.split_off(EOS as usize)
    }

    #[test]
    fn a_bigram_is_not_completed_twice() {
        let search = Search {
            no_repeat_ngram: Some(2),
            ..Search::default()
        };
        let ranks = processed(&search, &[4, 5, 4, 6, 4], &Request::up_to(9));
        assert_eq!(ranks, [-1.0, -1.0, FORBIDDEN, FORBIDDEN, -1.0]);
    }

    #[test]
    fn with_ngrams_of_one_no_token_comes_twice() {
        let search = Search {
            no_repeat_ngram: Some(1),
            ..Search::default()
        };
        let ranks = processed(&search, &[4, 7], &Request::up_to(9));
        assert_eq!(ranks, [-1.0, FORBIDDEN, -1.0, -1.0, FORBIDDEN]);
    }

    #[test]
    fn a_banned_sequence_is_not_completed_and_a_banned_token_never_comes() {
        let search = Search {
            banned: vec![vec![4, 5], vec![6, 7], vec![4], vec![99]],
            ..Search::default()
        };
        let ranks = processed(&search, &[6], &Request::up_to(9));
        assert_eq!(ranks, [-1.0, FORBIDDEN, -1.0, -1.0, FORBIDDEN]);
    }

    #[test]
    fn repeated_tokens_are_multiplied_once() {
        let search = Search {
            repetition_penalty: 1.5,
            ..Search::default()
        };
        let ranks = processed(&search, &[4, 6, 4], &Request::up_to(9));
        assert_eq!(ranks, [-1.0, -1.5, -1.0, -1.5, -1.0]);
    }

    #[test]
    fn eos_waits_for_the_shortest_length() {
        let request = Request {
            min_len: 3,
            ..Request::up_to(9)
        };
        assert_eq!(
            processed(&Search::default(), &[4], &request)[0],
            f32::NEG_INFINITY
        );
        assert_eq!(processed(&Search::default(), &[4, 4], &request)[0], -1.0);
    }

    #[test]
    fn a_shortest_length_beyond_the_longest_is_the_longest() {
        let request = Request {
            min_len: 30,
            ..Request::up_to(3)
        };
        assert_eq!(processed(&Search::default(), &[4, 4], &request)[0], -1.0);
    }

    #[test]
    fn at_the_limit_nothing_but_eos_follows_whatever_forbids_it() {
        for (at_limit, rank) in [(AtLimit::End, -1.0), (AtLimit::FreeEnd, 0.0)] {
            let search = Search {
                at_limit,
                banned: vec![vec![EOS]],
                ..Search::default()
            };
            let ranks = processed(&search, &[4, 5], &Request::up_to(3));
            assert_eq!(ranks, [rank, FORBIDDEN, FORBIDDEN, FORBIDDEN, FORBIDDEN]);
            let ranks = processed(&search, &[4], &Request::up_to(3));
            assert_eq!(ranks, [FORBIDDEN, -1.0, -1.0, -1.0, -1.0]);
        }
    }

    #[test]
    fn what_may_not_follow_is_shared_out_among_what_may() {
        let search = Search {
            banned: vec![vec![4], vec![5]],
            renormalize: true,
            ..Search::default()
        };
        let ranks = processed(&search, &[], &Request::up_to(9));
        let third = (1.0_f32 / 3.0).ln();
        for (rank, expected) in ranks
            .iter()
            .zip([third, FORBIDDEN, FORBIDDEN, third, third])
        {
            assert!(
                *rank == expected || (rank - expected).abs() < 1e-6,
                "{ranks:?}"
            );
        }
    }

    #[test]
    fn where_nothing_may_follow_eos_does() {
        let search = Search {
            banned: vec![vec![EOS], vec![4], vec![5], vec![6], vec![7]],
            ..Search::default()
        };
        let request = Request {
            min_len: 5,
            ..Request::up_to(9)
        };
        let ranks = processed(&search, &[4], &request);
        assert_eq!(ranks, [-1.0, FORBIDDEN, FORBIDDEN, FORBIDDEN, FORBIDDEN]);
    }
}
