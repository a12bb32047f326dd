//! Beam search: several hypotheses side by side (§6.1).

use transformer_core::text::EOS;

use super::hypothesis::{Prefix, Step};
use super::next_token::keep;
use super::processors::{Prediction, Processors};
use super::{Hypothesis, NEVER_GENERATED, NextToken, Request, Search, StopRule};

/// Follows the `beam_size` likeliest prefixes of each row, and returns the best sequences found.
///
/// At each step the `2 · beam_size` likeliest continuations of a sentence are looked at, in order.
/// One that ends with EOS becomes a finished hypothesis if it is among the first `beam_size`; of the
/// others the first `beam_size` run on. So there are always enough to run on, and a beam of one takes
/// the tokens that [`greedy_search`](super::greedy_search) takes. Of the finished ones the
/// `beam_size` best by score are kept.
///
/// A sentence is done by the [`StopRule`] of the search, and leaves the model. Those that reach their
/// limit (`requests[i].max_len` generated tokens, EOS included) return their running prefixes as well,
/// behind the finished ones, unless [`AtLimit`](super::AtLimit) makes EOS their last token. A prefix that nothing can follow is dropped; where this leaves no
/// hypothesis at all, the best such prefix is cut where it stands.
///
/// Ties go to the better prefix, then to the lower id, so that results do not depend on chance.
///
/// # Panics
///
/// Panics if the search is not [valid](Search::validate), if there is not one request for each row of the
/// model, or if a prefix has an id that is not in the vocabulary.
pub fn beam_search(
    model: &mut impl NextToken,
    requests: &[Request],
    search: &Search,
) -> Vec<Vec<Hypothesis>> {
    search.assert_valid();
    assert_eq!(model.n_rows(), requests.len(), "each row needs one request");
    let processors = Processors::new(search, requests);
    let mut found = vec![Vec::new(); requests.len()];
    let mut active: Vec<Sentence<'_>> = Vec::with_capacity(requests.len());
    let mut rows = Vec::new();
    for (index, request) in requests.iter().enumerate() {
        if request.max_len == 0 {
            found[index].push(Prefix::new().cut(search));
        } else {
            active.push(Sentence::new(index, request));
            rows.push(index);
        }
    }
    while !active.is_empty() {
        keep(model, &rows);
        let running = active.iter().flat_map(|sentence| {
            let prefixes = sentence.running.iter();
            prefixes.map(move |prefix| (sentence.request, prefix))
        });
        let prediction = processors.predict(model, running);
        let mut first_row = 0;
        rows.clear();
        let mut later = Vec::with_capacity(active.len());
        for mut sentence in active {
            let n_rows = sentence.running.len();
            let parents = sentence.advance(&prediction, first_row, search);
            if sentence.is_done(search) {
                let index = sentence.index;
                found[index] = sentence.into_hypotheses(search);
            } else {
                rows.extend(parents.into_iter().map(|parent| first_row + parent));
                later.push(sentence);
            }
            first_row += n_rows;
        }
        active = later;
    }
    found
}

/// Holds the search for one sentence.
struct Sentence<'a> {
    /// The sentence's place among those given.
    index: usize,
    request: &'a Request,
    /// Number of tokens in each running prefix.
    n_tokens: usize,
    /// The prefixes that may still grow, the likeliest first.
    running: Vec<Prefix>,
    /// The best finished hypotheses, the best first; at most `beam_size`.
    finished: Vec<Hypothesis>,
    /// Set when nothing can follow any prefix, and nothing is finished.
    given_up: Option<Hypothesis>,
}

/// Names one continuation: a running prefix and the token behind it.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    parent: usize,
    id: u32,
    /// Of the prefix and the token.
    rank: f64,
}

impl<'a> Sentence<'a> {
    fn new(index: usize, request: &'a Request) -> Self {
        Self {
            index,
            request,
            n_tokens: 0,
            running: vec![Prefix::new()],
            finished: Vec::new(),
            given_up: None,
        }
    }

    /// Grows all prefixes by one token, and returns which prefix each of the new ones grew from.
    ///
    /// The prefixes are in the model's rows from `first_row` on.
    fn advance(
        &mut self,
        prediction: &Prediction,
        first_row: usize,
        search: &Search,
    ) -> Vec<usize> {
        for (row, prefix) in (first_row..).zip(&mut self.running) {
            if let Some(attention) = prediction.attention(row) {
                prefix.attend(attention);
            }
        }
        let forced = self.request.prefix.get(self.n_tokens).copied();
        self.n_tokens += 1;
        if let Some(id) = forced {
            self.force(id, prediction.log_probs(first_row), search);
            return vec![0; self.running.len()];
        }
        self.branch(prediction, first_row, search)
    }

    /// Grows the prefixes by their best continuations, and returns which prefix each grew from.
    fn branch(&mut self, prediction: &Prediction, first_row: usize, search: &Search) -> Vec<usize> {
        let beam_size = search.beam_size;
        let ranks = prediction.ranks(first_row, self.running.len());
        // More candidates than there are continuations need no room.
        let n_candidates = beam_size.saturating_mul(2).min(ranks.len());
        let vocab_size = prediction.vocab_size();
        let candidates = best_candidates(&self.running, ranks, vocab_size, n_candidates);
        let mut parents = Vec::with_capacity(candidates.len().min(beam_size));
        let mut grown = Vec::with_capacity(candidates.len().min(beam_size));
        for (order, Candidate { parent, id, .. }) in candidates.into_iter().enumerate() {
            let prefix = &self.running[parent];
            let step = Step {
                id,
                log_prob: prediction.log_probs(first_row + parent)[id as usize],
                rank: ranks[parent * vocab_size + id as usize],
            };
            if id != EOS {
                if grown.len() < beam_size {
                    grown.push(prefix.grown(step));
                    parents.push(parent);
                }
            } else if order < beam_size {
                let hypothesis = prefix.finish(step, search);
                let place = self
                    .finished
                    .partition_point(|held| held.score >= hypothesis.score);
                self.finished.insert(place, hypothesis);
                self.finished.truncate(beam_size);
            }
        }
        if grown.is_empty() && self.finished.is_empty() {
            let log_probs = prediction.log_probs(first_row);
            let best = self.running.first().cloned();
            self.given_up = best.map(|prefix| prefix.give_up(log_probs, search));
        }
        self.running = grown;
        parents
    }

    /// Grows the one prefix that there is by the token that must come next.
    fn force(&mut self, id: u32, log_probs: &[f32], search: &Search) {
        let log_prob = log_probs[id as usize];
        let step = Step {
            id,
            log_prob,
            rank: log_prob,
        };
        if id == EOS {
            let ended = self
                .running
                .iter()
                .map(|prefix| prefix.finish(step, search));
            self.finished = ended.collect();
            self.running.clear();
        }
        for prefix in &mut self.running {
            prefix.push(step);
        }
    }

    /// Applies the stop rule and the length limit.
    fn is_done(&self, search: &Search) -> bool {
        let Some(likeliest) = self.running.first() else {
            return true;
        };
        if self.n_tokens == self.request.max_len {
            return true;
        }
        let Some(worst) = self.finished.get(search.beam_size.max(1) - 1) else {
            return false;
        };
        // Ranks only fall. Coverage is at best complete, which is 0.
        let best_at = |len: usize| search.length_penalty.score(likeliest.rank, len);
        search.beam_size <= 1
            || match search.stop {
                StopRule::PresentLength => best_at(self.n_tokens) <= worst.score,
                StopRule::BeamFinished => true,
                StopRule::Never => best_at(self.request.max_len) <= worst.score,
            }
    }

    fn into_hypotheses(self, search: &Search) -> Vec<Hypothesis> {
        let at_limit = self.n_tokens == self.request.max_len;
        let cut = self.running.into_iter().map(|prefix| prefix.cut(search));
        let mut cut: Vec<Hypothesis> = cut.filter(|_| at_limit).collect();
        // All are of one length, but not of one coverage.
        cut.sort_by(|a, b| b.score.total_cmp(&a.score));
        let all = self.finished.into_iter().chain(cut).chain(self.given_up);
        all.take(search.n_best.max(1)).collect()
    }
}

/// Returns the `n` likeliest continuations, the likeliest first.
fn best_candidates(
    running: &[Prefix],
    ranks: &[f32],
    vocab_size: usize,
    n: usize,
) -> Vec<Candidate> {
    let mut best: Vec<Candidate> = Vec::with_capacity(n + 1);
    // What a continuation has to exceed; only few do, so that one pass over the numbers suffices.
    let mut threshold = f64::NEG_INFINITY;
    for (parent, (prefix, row)) in running
        .iter()
        .zip(ranks.chunks_exact(vocab_size))
        .enumerate()
    {
        for (id, rank) in (0..).zip(row) {
            let rank = prefix.rank + f64::from(*rank);
            if rank > threshold && !NEVER_GENERATED.contains(&id) {
                let place = best.partition_point(|held| held.rank >= rank);
                best.insert(place, Candidate { parent, id, rank });
                best.truncate(n);
                if best.len() == n {
                    threshold = best[n - 1].rank;
                }
            }
        }
    }
    best
}
