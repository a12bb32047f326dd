//! Beam search: several hypotheses side by side (§6.1).

use transformer_core::text::EOS;

use super::hypothesis::{Prefix, Step};
use super::next_token::keep;
use super::processors::{Prediction, Processors};
use super::{Best, Hypothesis, NEVER_GENERATED, NextToken, Request, Search, StopRule};

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
        let known = Known::ask(model, &active, &processors, search);
        let mut first_row = 0;
        rows.clear();
        let mut later = Vec::with_capacity(active.len());
        for mut sentence in active {
            let n_rows = sentence.running.len();
            let parents = sentence.advance(&known, first_row, search);
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
    step: Step,
    /// Of the prefix and the token.
    rank: f64,
}

/// Holds what a step knows about all rows.
#[derive(Debug)]
enum Known {
    /// The likeliest tokens of each: no other can be among the candidates.
    Few(Vec<Vec<Best>>),
    /// Everything.
    All(Prediction),
}

impl Known {
    /// Puts the last token of each running prefix into the model, and asks for no more than is needed.
    fn ask(
        model: &mut impl NextToken,
        active: &[Sentence<'_>],
        processors: &Processors<'_>,
        search: &Search,
    ) -> Self {
        let running = active.iter().flat_map(|sentence| {
            let prefixes = sentence.running.iter();
            prefixes.map(move |prefix| (sentence.request, prefix))
        });
        if processors.leave_all_as_it_is(running.clone())
            && active.iter().all(|sentence| sentence.forced().is_none())
        {
            let last_tokens = running.clone().map(|(_, prefix)| prefix.last_token());
            let last_tokens: Vec<u32> = last_tokens.collect();
            if let Some(few) = model.best_few(&last_tokens, n_candidates(search)) {
                return Self::Few(few);
            }
        }
        Self::All(processors.predict(model, running))
    }

    /// Returns what the model gives each token of a row, as far as that is known.
    fn log_probs(&self, row: usize) -> &[f32] {
        match self {
            Self::Few(_) => &[],
            Self::All(prediction) => prediction.log_probs(row),
        }
    }
}

/// Returns how many continuations of a sentence are looked at.
fn n_candidates(search: &Search) -> usize {
    search.beam_size.saturating_mul(2)
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

    /// Returns the token that must come next, if one must.
    fn forced(&self) -> Option<u32> {
        self.request.prefix.get(self.n_tokens).copied()
    }

    /// Grows all prefixes by one token, and returns which prefix each of the new ones grew from.
    ///
    /// The prefixes are in the model's rows from `first_row` on.
    fn advance(&mut self, known: &Known, first_row: usize, search: &Search) -> Vec<usize> {
        let forced = self.forced();
        self.n_tokens += 1;
        let Known::All(prediction) = known else {
            return self.branch(known, first_row, search);
        };
        for (row, prefix) in (first_row..).zip(&mut self.running) {
            if let Some(attention) = prediction.attention(row) {
                prefix.attend(attention);
            }
        }
        if let Some(id) = forced {
            self.force(id, prediction.log_probs(first_row), search);
            return vec![0; self.running.len()];
        }
        self.branch(known, first_row, search)
    }

    /// Grows the prefixes by their best continuations, and returns which prefix each grew from.
    fn branch(&mut self, known: &Known, first_row: usize, search: &Search) -> Vec<usize> {
        let beam_size = search.beam_size;
        let candidates = self.best_candidates(known, first_row, search);
        let mut parents = Vec::with_capacity(candidates.len().min(beam_size));
        let mut grown = Vec::with_capacity(candidates.len().min(beam_size));
        for (order, Candidate { parent, step, .. }) in candidates.into_iter().enumerate() {
            let prefix = &self.running[parent];
            if step.id != EOS {
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
            let best = self.running.first().cloned();
            let log_probs = known.log_probs(first_row);
            self.given_up = best.map(|prefix| prefix.give_up(log_probs, search));
        }
        self.running = grown;
        parents
    }

    /// Returns the likeliest continuations, the likeliest first.
    fn best_candidates(&self, known: &Known, first_row: usize, search: &Search) -> Vec<Candidate> {
        let rows = first_row..first_row + self.running.len();
        // More candidates than there are continuations need no room.
        let n_continuations = match known {
            Known::Few(few) => few[rows.clone()].iter().map(Vec::len).sum(),
            Known::All(prediction) => prediction.vocab_size() * rows.len(),
        };
        let mut best = Likeliest::new(n_candidates(search).min(n_continuations));
        for (row, (parent, prefix)) in rows.zip(self.running.iter().enumerate()) {
            match known {
                Known::Few(few) => {
                    for Best { id, log_prob } in few[row].iter().copied() {
                        best.offer(parent, prefix, id, log_prob, || log_prob);
                    }
                }
                Known::All(prediction) => {
                    let log_probs = prediction.log_probs(row);
                    for (id, rank) in (0..).zip(prediction.ranks(row)) {
                        best.offer(parent, prefix, id, *rank, || log_probs[id as usize]);
                    }
                }
            }
        }
        best.candidates
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

/// Keeps the `n` likeliest of all continuations that it is offered, the likeliest first, and of equally likely ones
/// what was offered first.
#[derive(Debug)]
struct Likeliest {
    n: usize,
    candidates: Vec<Candidate>,
    /// What a continuation has to exceed; only few do, so that one pass over the numbers suffices.
    threshold: f64,
}

impl Likeliest {
    fn new(n: usize) -> Self {
        Self {
            n,
            candidates: Vec::with_capacity(n + 1),
            threshold: f64::NEG_INFINITY,
        }
    }

    /// Takes a continuation if it is among the likeliest; only then its log-probability is looked up.
    #[inline]
    fn offer(
        &mut self,
        parent: usize,
        prefix: &Prefix,
        id: u32,
        rank: f32,
        log_prob: impl FnOnce() -> f32,
    ) {
        let sum = prefix.rank + f64::from(rank);
        if sum > self.threshold && !NEVER_GENERATED.contains(&id) {
            let log_prob = log_prob();
            let step = Step { id, log_prob, rank };
            let place = self.candidates.partition_point(|held| held.rank >= sum);
            let candidate = Candidate {
                parent,
                step,
                rank: sum,
            };
            self.candidates.insert(place, candidate);
            self.candidates.truncate(self.n);
            if self.candidates.len() == self.n {
                self.threshold = self.candidates[self.n - 1].rank;
            }
        }
    }
}
