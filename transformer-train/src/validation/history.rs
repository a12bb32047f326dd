//! The history of a run's validations: the best one, and whether patience is used up.

use std::collections::BTreeMap;
use std::sync::Arc;

use burn_train::metric::store::{Aggregate, EventStoreClient, Split};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::metrics::PERPLEXITY;
use crate::config::{BestBy, TrainingSettings};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Validation {
    /// Number of the interval before the validation, from 1.
    pub(crate) interval: usize,
    pub(crate) perplexity: f64,
    pub(crate) bleu: f64,
    pub(crate) chrf: f64,
    /// The score that `validation.command` printed; `None` without a command, or if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<f64>,
}

impl Validation {
    /// Rounds the scores to a millionth, so that they are equal when read back from the JSON of a state. A NaN score of
    /// the command becomes `None`.
    pub(crate) fn new(
        interval: usize,
        perplexity: f64,
        [bleu, chrf]: [f64; 2],
        command: Option<f64>,
    ) -> Self {
        let rounded = |score: f64| (score.clamp(-1e9, 1e9) * 1e6).round() / 1e6;
        Self {
            interval,
            perplexity: rounded(perplexity),
            bleu: rounded(bleu),
            chrf: rounded(chrf),
            command: command.filter(|score| !score.is_nan()).map(rounded),
        }
    }

    /// Returns the score to compare validations by, if there is one; higher is better.
    fn score(&self, by: BestBy) -> Option<f64> {
        match by {
            BestBy::Loss => Some(-self.perplexity),
            BestBy::Bleu => Some(self.bleu),
            BestBy::Chrf => Some(self.chrf),
            BestBy::Command => self.command,
        }
    }
}

/// The validations of a run; clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct History(Arc<Mutex<BTreeMap<usize, Validation>>>);

impl History {
    pub(crate) fn new(validations: &[Validation]) -> Self {
        let history = Self::default();
        validations.iter().for_each(|it| history.add(*it));
        history
    }

    pub(crate) fn add(&self, validation: Validation) {
        self.0.lock().insert(validation.interval, validation);
    }

    /// Returns the validations up to this interval, in ascending order.
    pub(crate) fn up_to(&self, interval: usize) -> Vec<Validation> {
        let validations = self.0.lock();
        validations.range(..=interval).map(|(_, it)| *it).collect()
    }
}

/// Returns the intervals of the best validations with a score, at most `max_intervals`, the best first. Of equal ones
/// that with the lower perplexity comes first, then the earlier.
pub(crate) fn best(validations: &[Validation], by: BestBy, max_intervals: usize) -> Vec<usize> {
    let scored = validations
        .iter()
        .filter_map(|it| Some((it.score(by)?, it)));
    let mut ranked: Vec<(f64, &Validation)> = scored.collect();
    ranked.sort_by(|(score, a), (other, b)| {
        let by_score = other.total_cmp(score);
        by_score.then(a.perplexity.total_cmp(&b.perplexity))
    });
    let intervals = ranked.into_iter().map(|(_, it)| it.interval);
    intervals.take(max_intervals).collect()
}

/// Returns whether patience is used up: that many validations with a score since the best one were no better.
pub(crate) fn is_out_of_patience(validations: &[Validation], training: &TrainingSettings) -> bool {
    let Some(patience) = training.patience else {
        return false;
    };
    let best = best(validations, training.best_by, 1);
    let since = validations
        .iter()
        .filter(|it| it.score(training.best_by).is_some())
        .filter(|it| best.iter().any(|best| it.interval > *best));
    since.count() as u64 >= patience
}

/// Waits until the validation of an interval is in the [`History`].
///
/// Burn's event store calls its loggers on its own thread, and before it asks a strategy it only ensures that all
/// events are queued. It handles events and queries in order, so any query returns after the events before it; the
/// answer to this one is not used. A signal of the logger would be more direct, but would never come for a validation
/// that failed.
pub(crate) fn wait_for_validation(store: &EventStoreClient, interval: usize) {
    let _ = store.find_metric(PERPLEXITY, interval, Aggregate::Mean, &Split::Valid);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns validations with these perplexities and BLEU scores.
    fn validations(scores: &[(f64, f64)]) -> Vec<Validation> {
        let validation = |(index, (perplexity, bleu)): (usize, &(f64, f64))| Validation {
            interval: index + 1,
            perplexity: *perplexity,
            bleu: *bleu,
            chrf: 0.0,
            command: None,
        };
        scores.iter().enumerate().map(validation).collect()
    }

    const SCORES: [(f64, f64); 4] = [(9.0, 1.0), (5.0, 7.0), (6.0, 8.0), (5.0, 7.5)];

    #[test]
    fn the_lowest_loss_is_the_best_and_of_equal_ones_the_earlier() {
        assert_eq!(best(&validations(&SCORES), BestBy::Loss, 3), [2, 4, 3]);
    }

    #[test]
    fn the_highest_bleu_is_the_best() {
        assert_eq!(best(&validations(&SCORES), BestBy::Bleu, 2), [3, 4]);
    }

    #[test]
    fn a_validation_whose_command_failed_is_never_the_best() {
        let scored = |interval, command| Validation::new(interval, 2.0, [0.0; 2], command);
        let validations = [
            scored(1, Some(f64::NAN)),
            scored(2, Some(-3.0)),
            scored(3, None),
        ];
        assert_eq!(best(&validations, BestBy::Command, 3), [2]);
    }

    #[test]
    fn of_equal_scores_that_with_the_lower_perplexity_is_the_best() {
        let scores = [(9.0, 0.0), (5.0, 0.0), (6.0, 0.0)];
        assert_eq!(best(&validations(&scores), BestBy::Bleu, 3), [2, 3, 1]);
    }

    /// Returns whether a run with these validations ends with this patience, of this measure.
    fn ends_by(best_by: BestBy, validations: &[Validation], patience: u64) -> bool {
        let training = TrainingSettings {
            best_by,
            patience: Some(patience),
            ..TrainingSettings::default()
        };
        is_out_of_patience(validations, &training)
    }

    fn ends(scores: &[(f64, f64)], patience: u64) -> bool {
        ends_by(BestBy::Loss, &validations(scores), patience)
    }

    #[test]
    fn a_validation_whose_command_failed_uses_up_no_patience() {
        let of_commands = |commands: &[Option<f64>]| -> Vec<Validation> {
            let scored = |(&command, interval)| Validation::new(interval, 2.0, [0.0; 2], command);
            commands.iter().zip(1..).map(scored).collect()
        };
        let ends = |commands: &[Option<f64>]| ends_by(BestBy::Command, &of_commands(commands), 2);
        assert!(!ends(&[None; 4]));
        assert!(!ends(&[Some(1.0), Some(0.5), None, None]));
        assert!(ends(&[Some(1.0), Some(0.5), None, Some(0.0)]));
    }

    #[test]
    fn patience_goes_on_while_equal_scores_have_a_falling_perplexity() {
        let falling = validations(&[(9.0, 0.0), (8.0, 0.0), (7.0, 0.0)]);
        assert!(!ends_by(BestBy::Bleu, &falling, 1));
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
    fn a_score_is_equal_when_read_back_from_json() {
        let written = Validation::new(
            7,
            100.0 / 3.0,
            [27.123_456_789, f64::INFINITY],
            Some(1.0 / 3.0),
        );
        let json = serde_json::to_string(&written).expect("numbers can be written");
        assert_eq!(
            serde_json::from_str::<Validation>(&json).ok(),
            Some(written)
        );
    }

    #[test]
    fn an_infinite_perplexity_is_not_the_best() {
        let scores = [(f64::INFINITY, 0.0), (5.0, 0.0)];
        assert_eq!(best(&validations(&scores), BestBy::Loss, 1), [2]);
    }
}
