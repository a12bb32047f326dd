//! [`Sequences`]: greedy search and sampling, in which every sequence grows independently of the others.

use transformer_text::EOS;

use super::hypothesis::{Prefix, Step};
use super::next_token::best_of_row;
use super::processors::{Predicted, Prediction};
use super::{Hypothesis, Request, Sampling, ScoredToken, Search};

/// The sequences of one sentence: the samples, or the one that greedy search finds.
#[derive(Debug)]
pub(super) struct Sequences {
    pub(super) request: Request,
    /// The unfinished sequences: one for each row of the model.
    pub(super) prefixes: Vec<Prefix>,
    /// For each of them, the number of the sample, from 0.
    samples: Vec<usize>,
    /// The result of each sample.
    found: Vec<Option<Hypothesis>>,
}

impl Sequences {
    pub(super) fn new(request: Request, n_samples: usize) -> Self {
        Self {
            request,
            prefixes: vec![Prefix::default(); n_samples],
            samples: (0..n_samples).collect(),
            found: vec![None; n_samples],
        }
    }

    /// Returns the tokens of the sequence; `None` if there are several.
    pub(super) fn only(&self) -> Option<&[u32]> {
        match (self.prefixes.as_slice(), self.found.len()) {
            ([prefix], 1) => Some(&prefix.ids),
            _ => None,
        }
    }

    /// Appends one token to all sequences, and returns the former index of each unfinished one.
    ///
    /// The sequences are the rows of the model starting at `first_row`. Without `sampling`, the likeliest token is
    /// chosen.
    pub(super) fn advance(
        &mut self,
        predicted: &Predicted,
        first_row: usize,
        search: &Search,
        sampling: Option<&Sampling>,
    ) -> Vec<usize> {
        let mut parents = Vec::with_capacity(self.prefixes.len());
        for index in 0..self.prefixes.len() {
            let mut sequence = Sequence {
                sample: self.samples[index],
                request: &self.request,
                prefix: &mut self.prefixes[index],
            };
            let row = first_row + index;
            let ended = match predicted {
                Predicted::All(prediction) => sequence.choose(prediction, row, search, sampling),
                Predicted::Best(_) | Predicted::TopK(_) => {
                    let likeliest = predicted.likeliest(row).first().copied();
                    sequence.follow(likeliest.unwrap_or(ScoredToken::NONE), search)
                }
            };
            match ended {
                Some(hypothesis) => self.found[self.samples[index]] = Some(hypothesis),
                None => parents.push(index),
            }
        }
        if parents.len() < self.prefixes.len() {
            let mut is_left = (0..self.prefixes.len()).map(|index| parents.contains(&index));
            self.prefixes.retain(|_| is_left.next().unwrap_or(true));
            self.samples = parents.iter().map(|index| self.samples[*index]).collect();
        }
        parents
    }

    /// Returns the results, in the order of the samples.
    pub(super) fn into_hypotheses(self) -> Vec<Hypothesis> {
        self.found.into_iter().flatten().collect()
    }
}

/// A sequence that is being generated.
struct Sequence<'a> {
    sample: usize,
    request: &'a Request,
    prefix: &'a mut Prefix,
}

impl Sequence<'_> {
    /// Appends the likeliest token; returns the hypothesis if the sequence ends.
    fn follow(&mut self, best: ScoredToken, search: &Search) -> Option<Hypothesis> {
        if !best.log_prob.is_finite() {
            return Some(self.prefix.clone().give_up(&[], search));
        }
        let step = Step {
            id: best.id,
            log_prob: best.log_prob,
            score: best.log_prob,
        };
        self.grow(step, search)
    }

    /// Chooses a token from the prediction and appends it; returns the hypothesis if the sequence ends.
    fn choose(
        &mut self,
        prediction: &Prediction,
        row: usize,
        search: &Search,
        sampling: Option<&Sampling>,
    ) -> Option<Hypothesis> {
        if let Some(attention) = prediction.attention(row) {
            self.prefix.attend(attention);
        }
        let (log_probs, scores) = (prediction.log_probs(row), prediction.scores(row));
        let unchanged = |id: u32| Step {
            id,
            log_prob: log_probs[id as usize],
            score: log_probs[id as usize],
        };
        let forced = self.request.forced(self.prefix.ids.len(), log_probs);
        let step = match (forced, sampling) {
            (Some(step), _) => Some(step),
            (None, None) => Some(best_of_row(scores))
                .filter(|best| best.log_prob.is_finite())
                .map(|best| Step {
                    score: best.log_prob,
                    ..unchanged(best.id)
                }),
            (None, Some(sampling)) => {
                let (index, step) = (self.request.index, self.prefix.ids.len());
                let draw = [index, self.sample as u64, step as u64];
                sampling.draw(scores, draw).map(unchanged)
            }
        };
        match step {
            Some(step) => self.grow(step, search),
            None => Some(self.prefix.clone().give_up(log_probs, search)),
        }
    }

    fn grow(&mut self, step: Step, search: &Search) -> Option<Hypothesis> {
        if step.id == EOS {
            return Some(self.prefix.finish(step, search));
        }
        self.prefix.push(step);
        let is_full = self.prefix.ids.len() == self.request.max_len;
        is_full.then(|| self.prefix.clone().cut(search))
    }
}
