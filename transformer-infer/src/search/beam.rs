//! Beam search: several hypotheses in parallel (§6.1).

use transformer_core::text::EOS;

use super::hypothesis::{Prefix, Step};
use super::next_token::select_rows;
use super::processors::{Prediction, Processors};
use super::{Hypothesis, NEVER_GENERATED, NextToken, Request, ScoredToken, Search, StopRule};

/// Keeps the `beam_size` likeliest prefixes of each row at each step, and returns the best sequences found.
///
/// Each step ranks the `2 · beam_size` likeliest continuations of a sentence. One that ends with EOS becomes a
/// finished hypothesis if it is among the first `beam_size`; the first `beam_size` of the others stay in the beam.
/// So the beam is always full, and a beam of one chooses the tokens that [`greedy_search`](super::greedy_search)
/// chooses. The `beam_size` finished hypotheses with the best scores are kept.
///
/// A sentence ends by the [`StopRule`] of the search, and its rows leave the model. One that reaches its limit
/// (`requests[i].max_len` generated tokens, EOS included) also returns its unfinished prefixes, after the finished
/// hypotheses, unless [`AtLimit`](super::AtLimit) makes EOS their last token. A prefix without any allowed
/// continuation is dropped; if that leaves no hypothesis, the best such prefix is returned, cut.
///
/// Ties go to the better prefix, then to the lower id, so that results are deterministic.
///
/// # Panics
///
/// Panics if the search is not [valid](Search::validate), if the number of requests is not the number of rows, or if
/// a prefix has an id that is not in the vocabulary.
pub fn beam_search(
    model: &mut impl NextToken,
    requests: &[Request],
    search: &Search,
) -> Vec<Vec<Hypothesis>> {
    search.assert_valid();
    assert_eq!(model.n_rows(), requests.len(), "each row needs one request");
    let processors = Processors::new(search);
    let mut found = vec![Vec::new(); requests.len()];
    let mut active: Vec<Sentence<'_>> = Vec::with_capacity(requests.len());
    let mut rows = Vec::new();
    for (index, request) in requests.iter().enumerate() {
        if request.max_len == 0 {
            found[index].push(Prefix::default().cut(search));
        } else {
            active.push(Sentence::new(index, request));
            rows.push(index);
        }
    }
    while !active.is_empty() {
        select_rows(model, &rows);
        let predicted = Predicted::of(model, &active, &processors, search);
        let mut first_row = 0;
        rows.clear();
        let mut unfinished = Vec::with_capacity(active.len());
        for mut sentence in active {
            let n_rows = sentence.beam.len();
            let parents = sentence.advance(&predicted, first_row, search);
            if sentence.is_done(search) {
                let index = sentence.index;
                found[index] = sentence.into_hypotheses(search);
            } else {
                rows.extend(parents.into_iter().map(|parent| first_row + parent));
                unfinished.push(sentence);
            }
            first_row += n_rows;
        }
        active = unfinished;
    }
    found
}

/// The state of the search of one sentence.
struct Sentence<'a> {
    /// Index of its request.
    index: usize,
    request: &'a Request,
    /// Number of tokens in each prefix of the beam.
    n_tokens: usize,
    /// The beam: unfinished prefixes, the likeliest first.
    beam: Vec<Prefix>,
    /// The best finished hypotheses, the best first; at most `beam_size`.
    finished: Vec<Hypothesis>,
    /// Set if no prefix has an allowed continuation, and no hypothesis is finished.
    given_up: Option<Hypothesis>,
}

/// A continuation: a prefix of the beam and a next token.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// Index of the prefix in the beam.
    parent: usize,
    step: Step,
    /// Sum of the scores of all tokens of the prefix and of this one.
    score_sum: f64,
}

/// The prediction of one step for all rows.
#[derive(Debug)]
enum Predicted {
    /// The likeliest tokens of each row, which include all candidates.
    TopK(Vec<Vec<ScoredToken>>),
    /// The scores of the whole vocabulary.
    All(Prediction),
}

impl Predicted {
    /// Runs the model on the last token of each prefix, and reads no more than the search needs.
    fn of(
        model: &mut impl NextToken,
        active: &[Sentence<'_>],
        processors: &Processors<'_>,
        search: &Search,
    ) -> Self {
        let prefixes = active.iter().flat_map(|sentence| {
            let beam = sentence.beam.iter();
            beam.map(move |prefix| (sentence.request, prefix))
        });
        match processors.top_k(model, prefixes.clone(), n_candidates(search)) {
            Some(top_k) => Self::TopK(top_k),
            None => Self::All(processors.predict(model, prefixes)),
        }
    }

    /// Returns the model's log-probability of each token of a row, if all were read.
    fn log_probs(&self, row: usize) -> &[f32] {
        match self {
            Self::TopK(_) => &[],
            Self::All(prediction) => prediction.log_probs(row),
        }
    }
}

/// Returns the number of continuations that a step ranks for each sentence.
fn n_candidates(search: &Search) -> usize {
    search.beam_size.saturating_mul(2)
}

impl<'a> Sentence<'a> {
    fn new(index: usize, request: &'a Request) -> Self {
        Self {
            index,
            request,
            n_tokens: 0,
            beam: vec![Prefix::default()],
            finished: Vec::new(),
            given_up: None,
        }
    }

    /// Returns the next token of the forced prefix, if the sentence is still inside of it.
    fn forced(&self) -> Option<u32> {
        self.request.prefix.get(self.n_tokens).copied()
    }

    /// Appends one token to all prefixes, and returns for each new prefix the index of its parent.
    ///
    /// The prefixes are the rows of the model from `first_row` on.
    fn advance(&mut self, predicted: &Predicted, first_row: usize, search: &Search) -> Vec<usize> {
        let forced = self.forced();
        self.n_tokens += 1;
        let Predicted::All(prediction) = predicted else {
            return self.branch(predicted, first_row, search);
        };
        for (row, prefix) in (first_row..).zip(&mut self.beam) {
            if let Some(attention) = prediction.attention(row) {
                prefix.attend(attention);
            }
        }
        if let Some(id) = forced {
            self.force(id, prediction.log_probs(first_row), search);
            return vec![0; self.beam.len()];
        }
        self.branch(predicted, first_row, search)
    }

    /// Replaces the beam by the best continuations, and returns for each the index of its parent.
    fn branch(&mut self, predicted: &Predicted, first_row: usize, search: &Search) -> Vec<usize> {
        let beam_size = search.beam_size;
        let candidates = self.best_candidates(predicted, first_row, search);
        let mut parents = Vec::with_capacity(candidates.len().min(beam_size));
        let mut grown = Vec::with_capacity(candidates.len().min(beam_size));
        for (order, Candidate { parent, step, .. }) in candidates.into_iter().enumerate() {
            let prefix = &self.beam[parent];
            if step.id != EOS {
                if grown.len() < beam_size {
                    grown.push(prefix.grown(step));
                    parents.push(parent);
                }
            } else if order < beam_size {
                let hypothesis = prefix.finish(step, search);
                let index = self
                    .finished
                    .partition_point(|other| other.score >= hypothesis.score);
                self.finished.insert(index, hypothesis);
                self.finished.truncate(beam_size);
            }
        }
        if grown.is_empty() && self.finished.is_empty() {
            let best = self.beam.first().cloned();
            let log_probs = predicted.log_probs(first_row);
            self.given_up = best.map(|prefix| prefix.give_up(log_probs, search));
        }
        self.beam = grown;
        parents
    }

    /// Returns the likeliest continuations, the likeliest first.
    fn best_candidates(
        &self,
        predicted: &Predicted,
        first_row: usize,
        search: &Search,
    ) -> Vec<Candidate> {
        let rows = first_row..first_row + self.beam.len();
        let n_continuations = match predicted {
            Predicted::TopK(top_k) => top_k[rows.clone()].iter().map(Vec::len).sum(),
            Predicted::All(prediction) => prediction.vocab_size() * rows.len(),
        };
        let mut best = Likeliest::new(n_candidates(search).min(n_continuations));
        for (row, (parent, prefix)) in rows.zip(self.beam.iter().enumerate()) {
            match predicted {
                Predicted::TopK(top_k) => {
                    for ScoredToken { id, log_prob } in top_k[row].iter().copied() {
                        best.offer(parent, prefix, id, log_prob, || log_prob);
                    }
                }
                Predicted::All(prediction) => {
                    let log_probs = prediction.log_probs(row);
                    for (id, score) in (0..).zip(prediction.scores(row)) {
                        best.offer(parent, prefix, id, *score, || log_probs[id as usize]);
                    }
                }
            }
        }
        best.candidates
    }

    /// Appends a token of the forced prefix to the only prefix of the beam.
    fn force(&mut self, id: u32, log_probs: &[f32], search: &Search) {
        let log_prob = log_probs[id as usize];
        let step = Step {
            id,
            log_prob,
            score: log_prob,
        };
        if id == EOS {
            let ended = self.beam.iter().map(|prefix| prefix.finish(step, search));
            self.finished = ended.collect();
            self.beam.clear();
        }
        for prefix in &mut self.beam {
            prefix.push(step);
        }
    }

    /// Applies the stop rule and the length limit.
    fn is_done(&self, search: &Search) -> bool {
        let Some(likeliest) = self.beam.first() else {
            return true;
        };
        if self.n_tokens == self.request.max_len {
            return true;
        }
        let Some(worst) = self.finished.get(search.beam_size.max(1) - 1) else {
            return false;
        };
        // Sums of scores only fall, and the coverage penalty is at best 0.
        let best_at = |len: usize| search.length_penalty.score(likeliest.score_sum, len);
        search.beam_size <= 1
            || match search.stop {
                StopRule::PresentLength => best_at(self.n_tokens) <= worst.score,
                StopRule::BeamFinished => true,
                StopRule::Never => best_at(self.request.max_len) <= worst.score,
            }
    }

    fn into_hypotheses(self, search: &Search) -> Vec<Hypothesis> {
        let at_limit = self.n_tokens == self.request.max_len;
        let cut = self.beam.into_iter().map(|prefix| prefix.cut(search));
        let mut cut: Vec<Hypothesis> = cut.filter(|_| at_limit).collect();
        // The beam is in this order but for the coverage penalty.
        cut.sort_by(|a, b| b.score.total_cmp(&a.score));
        let all = self.finished.into_iter().chain(cut).chain(self.given_up);
        all.take(search.n_best.max(1)).collect()
    }
}

/// Collects the `n` likeliest of the continuations that it is offered, in order; ties go to the one offered first.
#[derive(Debug)]
struct Likeliest {
    n: usize,
    candidates: Vec<Candidate>,
    /// The sum of scores that a continuation has to exceed; only few do.
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

    /// Inserts a continuation if it is among the likeliest, and only then looks up its log-probability.
    #[inline]
    fn offer(
        &mut self,
        parent: usize,
        prefix: &Prefix,
        id: u32,
        score: f32,
        log_prob: impl FnOnce() -> f32,
    ) {
        let score_sum = prefix.score_sum + f64::from(score);
        if score_sum > self.threshold && !NEVER_GENERATED.contains(&id) {
            let step = Step {
                id,
                log_prob: log_prob(),
                score,
            };
            let index = self
                .candidates
                .partition_point(|other| other.score_sum >= score_sum);
            let candidate = Candidate {
                parent,
                step,
                score_sum,
            };
            self.candidates.insert(index, candidate);
            self.candidates.truncate(self.n);
            if self.candidates.len() == self.n {
                self.threshold = self.candidates[self.n - 1].score_sum;
            }
        }
    }
}
