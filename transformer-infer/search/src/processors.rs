//! Processors of the scores of next tokens, for every model and every search.
//!
//! The model's log-probabilities stay unchanged. Processors change a copy, the scores that the search compares:
//! a repetition penalty lowers them, and a forbidden token gets −∞. A forced prefix takes precedence over all of
//! them ([`Request::prefix`]).

use transformer_text::EOS;

use super::hypothesis::{Prefix, Step};
use super::renormalize::log_sum_without;
use super::{AtLimit, NEVER_GENERATED, NextToken, Request, ScoredToken, Search, log_prob_without};

#[derive(Debug)]
pub(super) struct Processors<'a> {
    search: &'a Search,
    /// True if a setting of the search forbids tokens, or changes scores, depending on the tokens so far.
    has_rules: bool,
}

#[derive(Debug)]
pub(super) struct Prediction {
    pub(super) vocab_size: usize,
    log_probs: Vec<f32>,
    /// The scores that the search compares; empty if they are the log-probabilities.
    scores: Vec<f32>,
    /// The attention of each row to its source; empty without a coverage penalty.
    attention: Vec<Vec<f32>>,
}

impl<'a> Processors<'a> {
    pub(super) fn new(search: &'a Search) -> Self {
        let has_rules = !search.banned.is_empty()
            || search.no_repeat_ngram.is_some()
            || search.repetition_penalty != 1.0;
        Self { search, has_rules }
    }

    /// Runs the model on the last token of each row, and returns the `k` likeliest allowed tokens of each. Returns
    /// `None`, without running the model, if the search needs more than these, or if the model returns all
    /// log-probabilities as fast.
    pub(super) fn top_k<'p>(
        &self,
        model: &mut impl NextToken,
        rows: impl Iterator<Item = (&'p Request, &'p Prefix)> + Clone,
        k: usize,
    ) -> Option<Vec<Vec<Step>>> {
        if !self.need_only_likeliest(rows.clone()) {
            return None;
        }
        let last_tokens = rows.clone().map(|(_, prefix)| prefix.last_token());
        let last_tokens: Vec<u32> = last_tokens.collect();
        // One more token, if EOS is forbidden.
        let n_forbidden = usize::from(rows.clone().any(is_too_short));
        let n_likeliest = k.saturating_add(n_forbidden);
        let without = self.search.renormalizes().then_some(&NEVER_GENERATED[..]);
        let likeliest = model.top_k(&last_tokens, n_likeliest, without)?;
        let steps = rows.zip(likeliest).map(|(row, mut likeliest)| {
            let log_allowed = match without {
                Some(_) => likeliest.pop().map_or(0.0, |allowed| allowed.log_prob),
                None => 0.0,
            };
            // Without another token, EOS is allowed.
            if is_too_short(row) && likeliest.len() > 1 {
                likeliest.retain(|token| token.id != EOS);
            }
            likeliest.truncate(k);
            let step = |token: ScoredToken| Step {
                score: shifted(token.log_prob, log_allowed),
                ..Step::from(token)
            };
            likeliest.into_iter().map(step).collect()
        });
        Some(steps.collect())
    }

    /// Returns whether the search needs only the likeliest tokens of these rows: all scores of a row change by
    /// the same amount, if at all, except that of EOS below the minimum length; no token or phrase is forced, and no
    /// attention is needed. Below the minimum length, renormalization leaves EOS out, too, and needs all scores.
    fn need_only_likeliest<'p>(
        &self,
        mut rows: impl Iterator<Item = (&'p Request, &'p Prefix)>,
    ) -> bool {
        !self.has_rules
            && self.search.coverage_penalty == 0.0
            && !rows.any(|(request, prefix)| {
                self.must_end(&prefix.ids, request)
                    || (self.search.renormalizes() && ends_too_early(&prefix.ids, request))
                    || request.prefix.len() > prefix.ids.len()
                    || !request.phrases.is_empty()
            })
    }

    /// Returns whether the scores of any of these rows may differ from the model's log-probabilities.
    fn change_any<'p>(&self, mut rows: impl Iterator<Item = (&'p Request, &'p Prefix)>) -> bool {
        self.has_rules
            || self.search.renormalizes()
            || rows.any(|(request, prefix)| {
                self.must_end(&prefix.ids, request) || is_too_short((request, prefix))
            })
    }

    /// Returns whether the next token must be EOS because it is the last one within the limit.
    fn must_end(&self, ids: &[u32], request: &Request) -> bool {
        self.search.at_limit.forces_eos() && ids.len() + 1 == request.max_len
    }

    /// Runs the model on the last token of each row, and returns the processed prediction.
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
        let mut scores = Vec::new();
        if self.change_any(rows.clone()) {
            scores.clone_from(&log_probs);
            for ((request, prefix), scores) in rows.zip(scores.chunks_exact_mut(vocab_size)) {
                self.process(scores, &prefix.ids, request);
            }
        }
        Prediction {
            vocab_size,
            log_probs,
            scores,
            attention,
        }
    }

    /// Turns the log-probabilities of the tokens after `ids` into scores. If every token is forbidden, EOS is allowed.
    fn process(&self, scores: &mut [f32], ids: &[u32], request: &Request) {
        self.apply_rules(scores, ids, request);
        if !self.search.renormalizes() {
            return;
        }
        let changes_any = self.has_rules || self.must_end(ids, request);
        let log_allowed = if changes_any || ends_too_early(ids, request) {
            log_sum_without(scores.iter().copied(), &NEVER_GENERATED)
        } else {
            // As in `top_k`, with the same bits.
            log_prob_without(&scores.iter().copied(), &NEVER_GENERATED)
        };
        for id in NEVER_GENERATED {
            forbid(scores, id);
        }
        for score in scores {
            *score = shifted(*score, log_allowed);
        }
    }

    fn apply_rules(&self, scores: &mut [f32], ids: &[u32], request: &Request) {
        let eos = scores.get(EOS as usize).copied();
        if let (true, Some(eos)) = (self.must_end(ids, request), eos) {
            scores.fill(f32::NEG_INFINITY);
            let is_free = self.search.at_limit == AtLimit::FreeEnd && !eos.is_nan();
            scores[EOS as usize] = if is_free { 0.0 } else { eos };
            return;
        }
        penalize_repetition(scores, ids, self.search.repetition_penalty as f32);
        for sequence in &self.search.banned {
            if let Some((last, before)) = sequence.split_last()
                && ids.ends_with(before)
            {
                forbid(scores, *last);
            }
        }
        if let Some(n) = self.search.no_repeat_ngram {
            forbid_repeated_ngrams(scores, ids, n);
        }
        if ends_too_early(ids, request) {
            forbid(scores, EOS);
        }
        let mut scored = (0..).zip(scores.iter());
        let is_any_left =
            scored.any(|(id, score)| score.is_finite() && !NEVER_GENERATED.contains(&id));
        if let (false, Some(eos)) = (is_any_left, eos) {
            scores[EOS as usize] = eos;
        }
    }
}

impl Prediction {
    pub(super) fn log_probs(&self, row: usize) -> &[f32] {
        &self.log_probs[row * self.vocab_size..(row + 1) * self.vocab_size]
    }

    pub(super) fn scores(&self, row: usize) -> &[f32] {
        let scores = if self.scores.is_empty() {
            &self.log_probs
        } else {
            &self.scores
        };
        &scores[row * self.vocab_size..(row + 1) * self.vocab_size]
    }

    pub(super) fn attention(&self, row: usize) -> Option<&[f32]> {
        self.attention.get(row).map(Vec::as_slice)
    }
}

/// Returns the score among the allowed tokens, if their total probability has a finite logarithm.
fn shifted(score: f32, log_allowed: f32) -> f32 {
    if log_allowed.is_finite() {
        score - log_allowed
    } else {
        score
    }
}

/// Returns whether EOS after `ids` would come before the minimum length.
fn ends_too_early(ids: &[u32], request: &Request) -> bool {
    ids.len() + 1 < request.min_len.min(request.max_len)
}

fn is_too_short((request, prefix): (&Request, &Prefix)) -> bool {
    ends_too_early(&prefix.ids, request)
}

fn forbid(scores: &mut [f32], id: u32) {
    // A banned id may be outside of a smaller vocabulary.
    if let Some(score) = scores.get_mut(id as usize) {
        *score = f32::NEG_INFINITY;
    }
}

/// Multiplies the score of every token in `ids` by θ, once.
fn penalize_repetition(scores: &mut [f32], ids: &[u32], theta: f32) {
    if theta == 1.0 {
        return;
    }
    for (index, id) in ids.iter().enumerate() {
        if !ids[..index].contains(id) {
            scores[*id as usize] *= theta;
        }
    }
}

/// Forbids the tokens that would complete an n-gram for the second time.
fn forbid_repeated_ngrams(scores: &mut [f32], ids: &[u32], n: usize) {
    if ids.len() < n {
        return;
    }
    let last = &ids[ids.len() + 1 - n..];
    for ngram in ids.windows(n) {
        if ngram.starts_with(last) {
            forbid(scores, ngram[n - 1]);
        }
    }
}

#[derive(Debug)]
pub(super) enum Predicted {
    /// The likeliest tokens of each row, including all that can be chosen.
    TopK(Vec<Vec<Step>>),
    All(Prediction),
}

impl Predicted {
    /// Returns the model's log-probability of each token of a row, if all were read.
    pub(super) fn log_probs(&self, row: usize) -> &[f32] {
        match self {
            Self::TopK(_) => &[],
            Self::All(prediction) => prediction.log_probs(row),
        }
    }

    /// Returns the likeliest tokens of a row; empty if all tokens were read.
    pub(super) fn likeliest(&self, row: usize) -> &[Step] {
        match self {
            Self::TopK(top_k) => &top_k[row],
            Self::All(_) => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORBIDDEN: f32 = f32::NEG_INFINITY;

    /// Returns the scores after `ids` of the tokens from EOS on, if the model gives each of 8 tokens −1.
    fn processed(search: &Search, ids: &[u32], request: &Request) -> Vec<f32> {
        let mut scores = vec![-1.0; 8];
        Processors::new(search).process(&mut scores, ids, request);
        scores.split_off(EOS as usize)
    }

    #[test]
    fn a_bigram_is_not_completed_twice() {
        let search = Search {
            no_repeat_ngram: Some(2),
            ..Search::default()
        };
        let scores = processed(&search, &[4, 5, 4, 6, 4], &Request::up_to(9));
        assert_eq!(scores, [-1.0, -1.0, FORBIDDEN, FORBIDDEN, -1.0]);
    }

    #[test]
    fn with_ngrams_of_length_one_no_token_is_repeated() {
        let search = Search {
            no_repeat_ngram: Some(1),
            ..Search::default()
        };
        let scores = processed(&search, &[4, 7], &Request::up_to(9));
        assert_eq!(scores, [-1.0, FORBIDDEN, -1.0, -1.0, FORBIDDEN]);
    }

    #[test]
    fn a_banned_sequence_is_not_completed_and_a_banned_token_is_forbidden() {
        let search = Search {
            banned: vec![vec![4, 5], vec![6, 7], vec![4], vec![99]],
            ..Search::default()
        };
        let scores = processed(&search, &[6], &Request::up_to(9));
        assert_eq!(scores, [-1.0, FORBIDDEN, -1.0, -1.0, FORBIDDEN]);
    }

    #[test]
    fn the_repetition_penalty_applies_once_per_token() {
        let search = Search {
            repetition_penalty: 1.5,
            ..Search::default()
        };
        let scores = processed(&search, &[4, 6, 4], &Request::up_to(9));
        assert_eq!(scores, [-1.0, -1.5, -1.0, -1.5, -1.0]);
    }

    #[test]
    fn eos_is_forbidden_below_the_minimum_length() {
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
    fn a_minimum_length_above_the_maximum_counts_as_the_maximum() {
        let request = Request {
            min_len: 30,
            ..Request::up_to(3)
        };
        assert_eq!(processed(&Search::default(), &[4, 4], &request)[0], -1.0);
    }

    #[test]
    fn at_the_limit_eos_is_the_only_token_even_if_it_is_banned() {
        for (at_limit, eos) in [(AtLimit::End, -1.0), (AtLimit::FreeEnd, 0.0)] {
            let search = Search {
                at_limit,
                banned: vec![vec![EOS]],
                ..Search::default()
            };
            let scores = processed(&search, &[4, 5], &Request::up_to(3));
            assert_eq!(scores, [eos, FORBIDDEN, FORBIDDEN, FORBIDDEN, FORBIDDEN]);
            let scores = processed(&search, &[4], &Request::up_to(3));
            assert_eq!(scores, [FORBIDDEN, -1.0, -1.0, -1.0, -1.0]);
        }
    }

    #[test]
    fn renormalized_probabilities_of_the_allowed_tokens_sum_to_one() {
        let search = Search {
            banned: vec![vec![4], vec![5]],
            renormalize: true,
            ..Search::default()
        };
        let scores = processed(&search, &[], &Request::up_to(9));
        let third = (1.0_f32 / 3.0).ln();
        for (score, expected) in scores
            .iter()
            .zip([third, FORBIDDEN, FORBIDDEN, third, third])
        {
            assert!(
                *score == expected || (score - expected).abs() < 1e-6,
                "{scores:?}"
            );
        }
    }

    #[test]
    fn eos_is_allowed_if_every_token_is_forbidden() {
        let search = Search {
            banned: vec![vec![EOS], vec![4], vec![5], vec![6], vec![7]],
            ..Search::default()
        };
        let request = Request {
            min_len: 5,
            ..Request::up_to(9)
        };
        let scores = processed(&search, &[4], &request);
        assert_eq!(scores, [-1.0, FORBIDDEN, FORBIDDEN, FORBIDDEN, FORBIDDEN]);
    }
}
