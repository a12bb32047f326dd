//! The validations of a run: which was the best, and whether it is time to stop.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::config::{BestBy, TrainingSettings};

/// Holds what a validation found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Validation {
    /// Number of the interval after which it was, from 1.
    pub(crate) interval: usize,
    pub(crate) perplexity: f64,
    pub(crate) bleu: f64,
    pub(crate) chrf: f64,
}

impl Validation {
    /// Rounds the scores to a millionth, so that they are the same when they are read from a state's JSON.
    pub(crate) fn new(interval: usize, perplexity: f64, bleu: f64, chrf: f64) -> Self {
        let rounded = |score: f64| (score.clamp(-1e9, 1e9) * 1e6).round() / 1e6;
        Self {
            interval,
            perplexity: rounded(perplexity),
            bleu: rounded(bleu),
            chrf: rounded(chrf),
        }
    }

    /// Returns a number that is the higher the better.
    fn worth(&self, by: BestBy) -> f64 {
        match by {
            BestBy::Loss => -self.perplexity,
            BestBy::Bleu => self.bleu,
            BestBy::Chrf => self.chrf,
        }
    }
}

/// Collects the validations of a run; its clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct History(Arc<Mutex<BTreeMap<usize, Validation>>>);

impl History {
    /// Begins with the validations of a run that goes on.
    pub(crate) fn new(validations: &[Validation]) -> Self {
        let history = Self::default();
        validations.iter().for_each(|it| history.add(*it));
        history
    }

    pub(crate) fn add(&self, validation: Validation) {
        let mut validations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        validations.insert(validation.interval, validation);
    }

    /// Returns the validations up to this interval, in order.
    pub(crate) fn up_to(&self, interval: usize) -> Vec<Validation> {
        let validations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        validations.range(..=interval).map(|(_, it)| *it).collect()
    }
}

/// Returns the intervals of the best validations, at most so many, the best first; of equals the earlier.
pub(crate) fn best(validations: &[Validation], by: BestBy, n_most: usize) -> Vec<usize> {
    let mut ranked: Vec<&Validation> = validations.iter().collect();
    ranked.sort_by(|a, b| b.worth(by).total_cmp(&a.worth(by)));
    ranked.iter().take(n_most).map(|it| it.interval).collect()
}

/// Says whether so many validations in a row were no better than the best before that patience is at its
/// end.
pub(crate) fn is_out_of_patience(validations: &[Validation], training: &TrainingSettings) -> bool {
    let Some(patience) = training.patience else {
        return false;
    };
    let best = best(validations, training.best_by, 1);
    let since = validations
        .iter()
        .filter(|it| best.iter().any(|best| it.interval > *best));
    since.count() as u64 >= patience
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Validations of these perplexities and BLEU scores.
    fn validations(scores: &[(f64, f64)]) -> Vec<Validation> {
        let validation = |(index, (perplexity, bleu)): (usize, &(f64, f64))| Validation {
            interval: index + 1,
            perplexity: *perplexity,
            bleu: *bleu,
            chrf: 0.0,
        };
        scores.iter().enumerate().map(validation).collect()
    }

    const SCORES: [(f64, f64); 4] = [(9.0, 1.0), (5.0, 7.0), (6.0, 8.0), (5.0, 7.5)];

    #[test]
    fn the_lowest_loss_is_the_best_and_of_equals_the_earlier() {
        assert_eq!(best(&validations(&SCORES), BestBy::Loss, 3), [2, 4, 3]);
    }

    #[test]
    fn the_highest_bleu_is_the_best() {
        assert_eq!(best(&validations(&SCORES), BestBy::Bleu, 2), [3, 4]);
    }

    /// Says whether a run of these validations ends with this patience.
    fn ends(scores: &[(f64, f64)], patience: u64) -> bool {
        let training = TrainingSettings {
            patience: Some(patience),
            ..TrainingSettings::default()
        };
        is_out_of_patience(&validations(scores), &training)
    }

    #[test]
    fn patience_ends_after_so_many_validations_without_a_better_one() {
        assert!(!ends(&SCORES[..3], 2));
        assert!(ends(&SCORES, 2));
        assert!(!ends(&SCORES, 3));
    }

    #[test]
    fn a_better_validation_renews_patience() {
        let better = [&SCORES[..3], &[(4.0, 0.0)]].concat();
        assert!(!ends(&better, 1));
    }

    #[test]
    fn a_score_is_the_same_when_its_state_is_read() {
        let written = Validation::new(7, 100.0 / 3.0, 27.123_456_789, f64::INFINITY);
        let json = serde_json::to_string(&written).expect("numbers can be written");
        assert_eq!(
            serde_json::from_str::<Validation>(&json).ok(),
            Some(written)
        );
    }

    #[test]
    fn a_validation_that_is_no_number_is_not_the_best() {
        let scores = [(f64::INFINITY, 0.0), (5.0, 0.0)];
        assert_eq!(best(&validations(&scores), BestBy::Loss, 1), [2]);
    }
}
