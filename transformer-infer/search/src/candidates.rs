//! [`Candidate`]: a continuation of a prefix, and the choice of the likeliest ones.

use transformer_text::EOS;

use super::NEVER_GENERATED;
use super::hypothesis::{Prefix, Step};

/// Maximum number of candidates for which memory is reserved in advance.
const MOST_RESERVED: usize = 64;

/// A continuation: a prefix of the beam and a next token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Index of the prefix in the beam.
    pub(super) parent: usize,
    pub(super) step: Step,
    /// Sum of the scores of all tokens of the prefix and of this token.
    pub(super) score_sum: f64,
}

/// The continuations that a step of a beam search chooses.
#[derive(Debug)]
pub(super) struct Chosen {
    /// Continuations that end with EOS, the likeliest first.
    pub(super) finished: Vec<Candidate>,
    /// The other continuations, which become the beam, the likeliest first.
    pub(super) unfinished: Vec<Candidate>,
}

impl Chosen {
    /// Chooses from candidates, the likeliest first: those among the first `beam_size` that end with EOS, and the first
    /// `beam_size` of the others.
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
