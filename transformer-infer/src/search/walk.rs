//! What greedy search and sampling share: rows that grow by one token at a time, each by itself.

use transformer_core::text::EOS;

use super::hypothesis::{Prefix, Step};
use super::next_token::{best_of_row, keep};
use super::processors::{Prediction, Processors};
use super::{Best, Hypothesis, NextToken, Request, Sampling, Search};

/// Says how the next token of a row is chosen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice<'a> {
    /// The one that ranks highest.
    Best,
    /// One drawn by its probability, for each of so many samples of a row.
    Drawn(&'a Sampling, usize),
}

/// Holds what a step knows about all rows.
#[derive(Debug)]
enum Known {
    /// The likeliest token of each.
    Best(Vec<Best>),
    /// Everything.
    All(Prediction),
}

/// Holds one sequence on its way.
#[derive(Debug)]
struct Walker<'a> {
    /// Where its hypothesis goes.
    place: usize,
    /// Which sample of its row it is, counted from 0.
    sample: usize,
    request: &'a Request,
    prefix: Prefix,
}

/// Grows all rows to their ends, and returns their hypotheses: row after row, and sample after sample.
///
/// Rows that are done leave the model.
///
/// # Panics
///
/// Panics if there is not one request for each row of the model.
pub(super) fn walk(
    model: &mut impl NextToken,
    requests: &[Request],
    search: &Search,
    choice: Choice<'_>,
) -> Vec<Hypothesis> {
    assert_eq!(model.n_rows(), requests.len(), "each row needs one request");
    let n_samples = match choice {
        Choice::Best => 1,
        Choice::Drawn(_, n_samples) => n_samples.max(1),
    };
    let processors = Processors::new(search, requests);
    let mut found: Vec<Option<Hypothesis>> = vec![None; requests.len() * n_samples];
    let mut walkers = Vec::with_capacity(found.len());
    let mut rows = Vec::with_capacity(found.len());
    for (row, request) in requests.iter().enumerate() {
        for sample in 0..n_samples {
            let place = row * n_samples + sample;
            if request.max_len == 0 {
                found[place] = Some(Prefix::new().cut(search));
                continue;
            }
            rows.push(row);
            walkers.push(Walker {
                place,
                sample,
                request,
                prefix: Prefix::new(),
            });
        }
    }
    while !walkers.is_empty() {
        keep(model, &rows);
        rows.clear();
        let asked = walkers.iter().map(|it| (it.request, &it.prefix));
        let known = if matches!(choice, Choice::Best)
            && processors.leave_all_as_it_is(asked.clone())
            && walkers.iter().all(|walker| walker.forced().is_none())
        {
            let last_tokens = walkers.iter().map(|walker| walker.prefix.last_token());
            Known::Best(model.best(&last_tokens.collect::<Vec<_>>()))
        } else {
            Known::All(processors.predict(model, asked))
        };
        let mut later = Vec::with_capacity(walkers.len());
        for (row, mut walker) in walkers.into_iter().enumerate() {
            let ended = match &known {
                Known::Best(best) => walker.follow(best[row], search),
                Known::All(prediction) => walker.choose(prediction, row, search, choice),
            };
            match ended {
                Some(hypothesis) => found[walker.place] = Some(hypothesis),
                None => {
                    rows.push(row);
                    later.push(walker);
                }
            }
        }
        walkers = later;
    }
    found.into_iter().flatten().collect()
}

impl Walker<'_> {
    /// Returns the token that must come next, if one must.
    fn forced(&self) -> Option<u32> {
        self.request.prefix.get(self.prefix.ids.len()).copied()
    }

    /// Grows by the likeliest token; returns the hypothesis if this ends it.
    fn follow(&mut self, best: Best, search: &Search) -> Option<Hypothesis> {
        if !best.log_prob.is_finite() {
            return Some(self.prefix.clone().give_up(&[], search));
        }
        let step = Step {
            id: best.id,
            log_prob: best.log_prob,
            rank: best.log_prob,
        };
        self.grow(step, search)
    }

    /// Grows by a token of what the model predicts; returns the hypothesis if this ends it.
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
        let (log_probs, ranks) = (prediction.log_probs(row), prediction.ranks(row));
        let unchanged = |id: u32| Step {
            id,
            log_prob: log_probs[id as usize],
            rank: log_probs[id as usize],
        };
        let step = match (self.forced(), choice) {
            (Some(id), _) => Some(unchanged(id)),
            (None, Choice::Best) => Some(best_of_row(ranks))
                .filter(|best| best.log_prob.is_finite())
                .map(|best| Step {
                    rank: best.log_prob,
                    ..unchanged(best.id)
                }),
            (None, Choice::Drawn(sampling, _)) => {
                let (place, step) = (self.request.place, self.prefix.ids.len());
                let at = [place, self.sample as u64, step as u64];
                sampling.draw(ranks, at).map(unchanged)
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
        let full = self.prefix.ids.len() == self.request.max_len;
        full.then(|| self.prefix.clone().cut(search))
    }
}
