//! The score of `validation.command` as a metric of the Learner.

use std::sync::Arc;

use burn::tensor::TensorReadError;
use burn_train::metric::{
    Metric, MetricAttributes, MetricMetadata, Numeric, NumericAttributes, NumericEntry,
    SerializedEntry,
};

use super::batch_metrics::BatchMetrics;
use super::names::COMMAND;
use crate::validation::external_scorer::{ExternalScorer, ScoreError};

/// Called with the reason why the translations of an interval have no score.
pub(crate) type OnScoreError = Arc<dyn Fn(ScoreError) + Send + Sync>;

/// The score that the user's command prints for all translations of an interval; NaN if the command failed.
#[derive(Clone)]
pub(crate) struct CommandMetric {
    name: Arc<String>,
    scorer: ExternalScorer,
    on_error: OnScoreError,
    /// The translations of the interval, with the positions of their pairs.
    texts: Vec<(usize, String)>,
    score: f64,
}

impl CommandMetric {
    pub(crate) fn new(scorer: ExternalScorer, on_error: OnScoreError) -> Self {
        Self {
            name: Arc::new(COMMAND.to_owned()),
            scorer,
            on_error,
            texts: Vec::new(),
            score: f64::NAN,
        }
    }
}

impl Metric for CommandMetric {
    type Input = BatchMetrics;

    fn name(&self) -> Arc<String> {
        Arc::clone(&self.name)
    }

    fn attributes(&self) -> MetricAttributes {
        NumericAttributes {
            unit: None,
            higher_is_better: true,
        }
        .into()
    }

    fn update(
        &mut self,
        batch: &BatchMetrics,
        _metadata: &MetricMetadata,
    ) -> Result<SerializedEntry, TensorReadError> {
        self.texts.extend(batch.translations.texts.iter().cloned());
        Ok(SerializedEntry::new(
            format!("{}: after all pairs", self.name),
            "NaN".to_owned(),
        ))
    }

    /// Runs the command; the Learner calls this once, at the end of an interval.
    fn compute(&mut self) -> Result<SerializedEntry, TensorReadError> {
        self.texts.sort_unstable();
        let texts: Vec<&str> = self.texts.iter().map(|(_, text)| text.as_str()).collect();
        self.score = self.scorer.score(&texts).unwrap_or_else(|error| {
            (self.on_error)(error);
            f64::NAN
        });
        let Self { name, score, .. } = self;
        Ok(SerializedEntry::new(
            format!("{name}: {score:.4}"),
            score.to_string(),
        ))
    }

    fn clear(&mut self) {
        self.texts.clear();
    }
}

impl Numeric for CommandMetric {
    fn value(&self) -> Option<NumericEntry> {
        None
    }

    fn running_value(&self) -> Option<NumericEntry> {
        None
    }

    fn final_value(&self) -> NumericEntry {
        NumericEntry::Final(self.score)
    }
}
