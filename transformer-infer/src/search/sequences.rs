//! The loop of greedy search and of sampling: each row grows by one token per step, independently of the others.

use transformer_core::text::EOS;

use super::hypothesis::{Prefix, Step};
use super::next_token::{best_of_row, select_rows};
use super::processors::{Prediction, Processors};
use super::{Hypothesis, NextToken, Request, Sampling, ScoredToken, Search};

/// How the next token of a row is chosen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice<'a> {
    /// The token with the highest score.
    Best,
    /// A token sampled by its probability, with the number of samples of each row.
    Sampled(&'a Sampling, usize),
}

/// The prediction of one step for all rows.
#[derive(Debug)]
enum Predicted {
    /// Only the likeliest token of each row.
    Best(Vec<ScoredToken>),
    /// The scores of the whole vocabulary.
    All(Prediction),
}

/// A sequence that is being generated.
#[derive(Debug)]
struct Sequence<'a> {
    /// Index of its hypothesis in the result.
    index: usize,
    /// Number of the sample of its row, from 0.
    sample: usize,
    request: &'a Request,
    prefix: Prefix,
}

/// Generates all sequences, and returns their hypotheses: all samples of the first row, then those of the next.
///
/// Rows that are done leave the model.
///
/// # Panics
///
/// Panics if the number of requests is not the number of rows.
pub(super) fn generate(
    model: &mut impl NextToken,
    requests: &[Request],
    search: &Search,
    choice: Choice<'_>,
) -> Vec<Hypothesis> {
    assert_eq!(model.n_rows(), requests.len(), "each row needs one request");
    let n_samples = match choice {
        Choice::Best => 1,
        Choice::Sampled(_, n_samples) => n_samples.max(1),
    };
    let processors = Processors::new(search);
    let mut found: Vec<Option<Hypothesis>> = vec![None; requests.len() * n_samples];
    let mut sequences = Vec::with_capacity(found.len());
    let mut rows = Vec::with_capacity(found.len());
    for (row, request) in requests.iter().enumerate() {
        for sample in 0..n_samples {
            let index = row * n_samples + sample;
            if request.max_len == 0 {
                found[index] = Some(Prefix::default().cut(search));
                continue;
            }
            rows.push(row);
            sequences.push(Sequence {
                index,
                sample,
                request,
                prefix: Prefix::default(),
            });
        }
    }
    while !sequences.is_empty() {
        select_rows(model, &rows);
        rows.clear();
        let prefixes = sequences.iter().map(|it| (it.request, &it.prefix));
        let best = match choice {
            Choice::Best => processors.best(model, prefixes.clone()),
            Choice::Sampled(..) => None,
        };
        let predicted = match best {
            Some(best) => Predicted::Best(best),
            None => Predicted::All(processors.predict(model, prefixes)),
        };
        let mut unfinished = Vec::with_capacity(sequences.len());
        for (row, mut sequence) in sequences.into_iter().enumerate() {
            let ended = match &predicted {
                Predicted::Best(best) => sequence.follow(best[row], search),
                Predicted::All(prediction) => sequence.choose(prediction, row, search, choice),
            };
            match ended {
                Some(hypothesis) => found[sequence.index] = Some(hypothesis),
                None => {
                    rows.push(row);
                    unfinished.push(sequence);
                }
            }
        }
        sequences = unfinished;
    }
    found.into_iter().flatten().collect()
}

impl Sequence<'_> {
    /// Returns the next token of the forced prefix, if the sequence is still inside of it.
    fn forced(&self) -> Option<u32> {
        self.request.prefix.get(self.prefix.ids.len()).copied()
    }

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
        choice: Choice<'_>,
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
        let step = match (self.forced(), choice) {
            (Some(id), _) => Some(unchanged(id)),
            (None, Choice::Best) => Some(best_of_row(scores))
                .filter(|best| best.log_prob.is_finite())
                .map(|best| Step {
                    score: best.log_prob,
                    ..unchanged(best.id)
                }),
            (None, Choice::Sampled(sampling, _)) => {
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
