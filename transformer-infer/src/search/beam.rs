//! Beam search: several hypotheses side by side (§6.1).

use transformer_core::text::EOS;

use super::hypothesis::Prefix;
use super::{Hypothesis, NEVER_GENERATED, NextToken, Search};

/// Follows the `beam_size` likeliest prefixes of each row, and returns the best sequences found.
///
/// At each step the `2 · beam_size` likeliest continuations of a sentence are looked at, in order.
/// One that ends with EOS becomes a finished hypothesis if it is among the first `beam_size`; of the
/// others the first `beam_size` run on. So there are always enough to run on, and a beam of one takes
/// the tokens that [`greedy_search`](super::greedy_search) takes. Of the finished ones the
/// `beam_size` best by score are kept.
///
/// A sentence is done by the *present-length rule*: `beam_size` hypotheses are finished, and the best
/// running one, scored at the length it has now, would not be better than the worst of them. Without
/// a length penalty this loses nothing; with one it gives up only what would have to be saved by its
/// length. Sentences that are done leave the model. Those that reach their limit (`max_lens[i]`
/// generated tokens, EOS included) return their running prefixes as well, behind the finished ones.
///
/// Ties go to the better prefix, then to the lower id, so that results do not depend on chance.
///
/// # Panics
///
/// Panics if `max_lens` does not hold one limit for each row of the model.
pub fn beam_search(
    model: &mut impl NextToken,
    max_lens: &[usize],
    search: &Search,
) -> Vec<Vec<Hypothesis>> {
    assert_eq!(
        model.n_rows(),
        max_lens.len(),
        "each row needs one length limit"
    );
    let vocab_size = model.vocab_size();
    let mut found = vec![Vec::new(); max_lens.len()];
    let mut active: Vec<Sentence> = Vec::with_capacity(max_lens.len());
    let mut rows = Vec::new();
    for (index, max_len) in max_lens.iter().enumerate() {
        if *max_len == 0 {
            found[index].push(Prefix::new().cut(search.length_penalty));
        } else {
            active.push(Sentence::new(index, *max_len));
            rows.push(index);
        }
    }
    while !active.is_empty() {
        if rows.len() != model.n_rows() || rows.iter().enumerate().any(|(row, from)| row != *from) {
            model.select(&rows);
        }
        let prefixes = active.iter().flat_map(|sentence| &sentence.running);
        let last_tokens: Vec<u32> = prefixes.map(Prefix::last_token).collect();
        let log_probs = model.log_probs(&last_tokens);
        let mut first_row = 0;
        rows.clear();
        let mut later = Vec::with_capacity(active.len());
        for mut sentence in active {
            let n_rows = sentence.running.len();
            let scored = &log_probs[first_row * vocab_size..(first_row + n_rows) * vocab_size];
            let parents = sentence.advance(scored, vocab_size, search);
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
struct Sentence {
    /// The sentence's place among those given.
    index: usize,
    max_len: usize,
    /// Number of tokens in each running prefix.
    n_tokens: usize,
    /// The prefixes that may still grow, the likeliest first.
    running: Vec<Prefix>,
    /// The best finished hypotheses, the best first; at most `beam_size`.
    finished: Vec<Hypothesis>,
    /// Set when the model gave no continuation any probability.
    abandoned: Option<Hypothesis>,
}

/// Names one continuation: a running prefix and the token behind it.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    parent: usize,
    id: u32,
    /// Of the prefix and the token.
    log_prob: f64,
}

impl Sentence {
    fn new(index: usize, max_len: usize) -> Self {
        Self {
            index,
            max_len,
            n_tokens: 0,
            running: vec![Prefix::new()],
            finished: Vec::new(),
            abandoned: None,
        }
    }

    /// Grows all prefixes by one token, and returns which prefix each of the new ones grew from.
    fn advance(&mut self, log_probs: &[f32], vocab_size: usize, search: &Search) -> Vec<usize> {
        let beam_size = search.beam_size;
        // More candidates than there are continuations need no room.
        let n_candidates = beam_size.saturating_mul(2).min(log_probs.len());
        let candidates = best_candidates(&self.running, log_probs, vocab_size, n_candidates);
        let mut parents = Vec::with_capacity(candidates.len().min(beam_size));
        let mut grown = Vec::with_capacity(candidates.len().min(beam_size));
        for (
            rank,
            Candidate {
                parent,
                id,
                log_prob,
            },
        ) in candidates.into_iter().enumerate()
        {
            let prefix = &self.running[parent];
            if id != EOS {
                if grown.len() < beam_size {
                    grown.push(prefix.grown(id, log_prob));
                    parents.push(parent);
                }
            } else if rank < beam_size {
                let hypothesis = prefix.finish(log_prob, search.length_penalty);
                let place = self
                    .finished
                    .partition_point(|held| held.score >= hypothesis.score);
                self.finished.insert(place, hypothesis);
                self.finished.truncate(beam_size);
            }
        }
        if grown.is_empty() && self.finished.is_empty() {
            self.abandoned = self.running.first().cloned().map(Prefix::abandon);
        }
        self.running = grown;
        self.n_tokens += 1;
        parents
    }

    /// Applies the present-length rule and the length limit.
    fn is_done(&self, search: &Search) -> bool {
        let Some(likeliest) = self.running.first() else {
            return true;
        };
        if self.n_tokens == self.max_len {
            return true;
        }
        let present = search
            .length_penalty
            .score(likeliest.log_prob, self.n_tokens);
        self.finished.len() >= search.beam_size
            && self
                .finished
                .last()
                .is_some_and(|worst| present <= worst.score)
    }

    fn into_hypotheses(self, search: &Search) -> Vec<Hypothesis> {
        let cut = self
            .running
            .into_iter()
            .map(|prefix| prefix.cut(search.length_penalty));
        let at_limit = self.n_tokens == self.max_len;
        let cut = cut.filter(|_| at_limit);
        let all = self.finished.into_iter().chain(cut).chain(self.abandoned);
        all.take(search.n_best.max(1)).collect()
    }
}

/// Returns the `n` likeliest continuations, the likeliest first.
fn best_candidates(
    running: &[Prefix],
    log_probs: &[f32],
    vocab_size: usize,
    n: usize,
) -> Vec<Candidate> {
    let mut best: Vec<Candidate> = Vec::with_capacity(n + 1);
    // What a continuation has to exceed; only few do, so that one pass over the numbers suffices.
    let mut threshold = f64::NEG_INFINITY;
    for (parent, (prefix, row)) in running
        .iter()
        .zip(log_probs.chunks_exact(vocab_size))
        .enumerate()
    {
        for (id, log_prob) in (0..).zip(row) {
            let log_prob = prefix.log_prob + f64::from(*log_prob);
            if log_prob > threshold && !NEVER_GENERATED.contains(&id) {
                let place = best.partition_point(|held| held.log_prob >= log_prob);
                best.insert(
                    place,
                    Candidate {
                        parent,
                        id,
                        log_prob,
                    },
                );
                best.truncate(n);
                if best.len() == n {
                    threshold = best[n - 1].log_prob;
                }
            }
        }
    }
    best
}
