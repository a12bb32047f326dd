//! [`Beam`]: the beam of one sentence, and its progress in a step; [`Candidate`]: a continuation of one of its prefixes.

use transformer_text::EOS;

use super::hypothesis::{Prefix, Step};
use super::phrase_beam::{PhraseBeam, n_phrases_met};
use super::processors::Predicted;
use super::{AtLimit, Hypothesis, NEVER_GENERATED, Request, Search, StopRule};

/// Maximum number of candidates for which memory is reserved in advance.
const MOST_RESERVED: usize = 64;

#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Index of the prefix in the beam.
    pub(super) parent: usize,
    pub(super) step: Step,
    pub(super) score_sum: f64,
}

#[derive(Debug)]
pub(super) struct Chosen {
    /// Continuations that end with EOS, the likeliest first.
    pub(super) finished: Vec<Candidate>,
    /// The other continuations, which become the beam, the likeliest first.
    pub(super) unfinished: Vec<Candidate>,
}

impl Chosen {
    /// Chooses from candidates, the likeliest first: those among the first `beam_size` that end, and as many of the others.
    pub(super) fn of(candidates: Vec<Candidate>, beam_size: usize) -> Self {
        let mut chosen = Self {
            finished: Vec::new(),
            unfinished: Vec::with_capacity(candidates.len().min(beam_size)),
        };
        for (order, candidate) in candidates.into_iter().enumerate() {
            if candidate.step.id != EOS {
                if chosen.unfinished.len() < beam_size {
                    chosen.unfinished.push(candidate);
                }
            } else if order < beam_size {
                chosen.finished.push(candidate);
            }
        }
        chosen
    }
}

/// Collects the `n` likeliest of the offered continuations, in order; ties go to the one offered first.
#[derive(Debug)]
pub(super) struct Likeliest {
    n: usize,
    pub(super) candidates: Vec<Candidate>,
    /// The sum of scores that a continuation has to exceed; only a few do.
    pub(super) threshold: f64,
}

impl Likeliest {
    pub(super) fn new(n: usize) -> Self {
        Self {
            n,
            candidates: Vec::with_capacity(n.min(MOST_RESERVED) + 1),
            threshold: f64::NEG_INFINITY,
        }
    }

    /// Inserts a continuation if it is among the likeliest, and only then looks up its log-probability.
    #[inline]
    pub(super) fn offer(
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
            let is_better = |other: &Candidate| other.score_sum >= score_sum;
            let index = self.candidates.partition_point(is_better);
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

/// Returns the number of continuations that a step ranks for each sentence.
pub(super) fn n_candidates(search: &Search) -> usize {
    search.beam_size.saturating_mul(2)
}

#[derive(Debug)]
pub(super) struct Beam {
    pub(super) request: Request,
    n_best: usize,
    /// Number of tokens in each prefix of the beam.
    n_tokens: usize,
    /// The beam: unfinished prefixes, the likeliest first; one for each row of the model.
    pub(super) beam: Vec<Prefix>,
    phrases: Option<PhraseBeam>,
    /// The best finished hypotheses, the best first; at most `beam_size`.
    finished: Vec<Hypothesis>,
    /// Number of hypotheses that the last step finished.
    n_just_finished: usize,
    /// Set if no prefix has an allowed continuation and no hypothesis is finished.
    given_up: Option<Hypothesis>,
}

impl Beam {
    pub(super) fn new(request: Request, n_best: usize, search: &Search) -> Self {
        Self {
            n_best,
            n_tokens: 0,
            beam: vec![Prefix::default()],
            phrases: PhraseBeam::new(&request, search),
            finished: Vec::new(),
            n_just_finished: 0,
            given_up: None,
            request,
        }
    }

    /// Appends one token to all prefixes, the rows of the model from `first_row` on; returns the parent of each new prefix.
    pub(super) fn advance(
        &mut self,
        predicted: &Predicted,
        first_row: usize,
        search: &Search,
    ) -> Vec<usize> {
        let position = self.n_tokens;
        self.n_tokens += 1;
        self.n_just_finished = 0;
        let Predicted::All(prediction) = predicted else {
            return self.branch(predicted, first_row, search);
        };
        for (row, prefix) in (first_row..).zip(&mut self.beam) {
            if let Some(attention) = prediction.attention(row) {
                prefix.attend(attention);
            }
        }
        let log_probs = prediction.log_probs(first_row);
        if let Some(step) = self.request.forced(position, log_probs) {
            self.force(step, search);
            return vec![0; self.beam.len()];
        }
        self.branch(predicted, first_row, search)
    }

    /// Replaces the beam by the best continuations, and returns for each the index of its parent.
    fn branch(&mut self, predicted: &Predicted, first_row: usize, search: &Search) -> Vec<usize> {
        let beam_size = search.beam_size;
        let chosen = match (&mut self.phrases, predicted) {
            (Some(phrases), Predicted::All(prediction)) => {
                let (beam, n_tokens) = (&self.beam, self.n_tokens);
                phrases.choose(beam, n_tokens, prediction, first_row, search)
            }
            _ => self.choose(predicted, first_row, search),
        };
        self.n_just_finished = chosen.finished.len();
        for candidate in chosen.finished {
            let hypothesis = self.beam[candidate.parent].finish(candidate.step, search);
            let is_better = |other: &Hypothesis| other.score >= hypothesis.score;
            let index = self.finished.partition_point(is_better);
            self.finished.insert(index, hypothesis);
            self.finished.truncate(beam_size);
        }
        if chosen.unfinished.is_empty() && self.finished.is_empty() {
            let best = self.beam.first().cloned();
            let log_probs = predicted.log_probs(first_row);
            self.given_up = best.map(|prefix| prefix.give_up(log_probs, search));
        }
        let unfinished = chosen.unfinished.iter();
        let grown = |it: &Candidate| self.beam[it.parent].grown(it.step);
        self.beam = unfinished.clone().map(grown).collect();
        unfinished.map(|it| it.parent).collect()
    }

    fn choose(&self, predicted: &Predicted, first_row: usize, search: &Search) -> Chosen {
        let rows = first_row..first_row + self.beam.len();
        let n_continuations = match predicted {
            Predicted::TopK(top_k) => top_k[rows.clone()].iter().map(Vec::len).sum(),
            Predicted::All(prediction) => prediction.vocab_size * rows.len(),
        };
        let mut best = Likeliest::new(n_candidates(search).min(n_continuations));
        for (row, (parent, prefix)) in rows.zip(self.beam.iter().enumerate()) {
            if let Predicted::All(prediction) = predicted {
                let log_probs = prediction.log_probs(row);
                for (id, score) in (0..).zip(prediction.scores(row)) {
                    best.offer(parent, prefix, id, *score, || log_probs[id as usize]);
                }
            }
            for step in predicted.likeliest(row) {
                best.offer(parent, prefix, step.id, step.score, || step.log_prob);
            }
        }
        Chosen::of(best.candidates, search.beam_size)
    }

    /// Appends a token of the forced prefix to the only prefix of the beam.
    fn force(&mut self, step: Step, search: &Search) {
        if step.id == EOS {
            let ended = self.beam.iter().map(|prefix| prefix.finish(step, search));
            self.finished = ended.collect();
            self.beam.clear();
        }
        for prefix in &mut self.beam {
            prefix.push(step);
        }
        if let Some(phrases) = &mut self.phrases {
            phrases.force(step.id);
        }
    }

    pub(super) fn is_done(&self, search: &Search) -> bool {
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
        let is_greedy = search.beam_size <= 1 && self.phrases.is_none();
        is_greedy
            || match search.stop {
                StopRule::PresentLength => best_at(self.n_tokens) <= worst.score,
                StopRule::BeamFinished => true,
                StopRule::Never => best_at(self.request.max_len) <= worst.score,
            }
    }

    pub(super) fn into_hypotheses(self, search: &Search) -> Vec<Hypothesis> {
        let at_limit = self.n_tokens == self.request.max_len;
        let cut = self.beam.into_iter().map(|prefix| prefix.cut(search));
        let mut cut: Vec<Hypothesis> = cut.filter(|_| at_limit).collect();
        let mut all = self.finished;
        if search.at_limit == AtLimit::Compete {
            // With phrases, all of the wider beam competes.
            if self.phrases.is_none() {
                // Only the best continuations of the last step compete, finished or not.
                cut.truncate(search.beam_size.max(1).saturating_sub(self.n_just_finished));
            }
            all.append(&mut cut);
            all.sort_by(|a, b| b.score.total_cmp(&a.score));
            all.truncate(search.beam_size.max(1));
        }
        // The beam is in this order, except for the coverage penalty.
        cut.sort_by(|a, b| b.score.total_cmp(&a.score));
        let best = all.into_iter().chain(cut).chain(self.given_up);
        let best = best.take(self.n_best);
        let phrases = &self.request.phrases;
        best.map(|hypothesis| Hypothesis {
            n_phrases_met: match phrases.is_empty() {
                true => 0,
                false => n_phrases_met(phrases, &hypothesis.ids),
            },
            ..hypothesis
        })
        .collect()
    }
}
