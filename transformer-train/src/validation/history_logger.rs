//! Writes the history of validations from the metrics that Burn's Learner computes.

use std::sync::Arc;

use burn_train::logger::MetricLogger;
use burn_train::metric::store::{Aggregate, EpochSummary, EventStoreClient, MetricsUpdate, Split};
use burn_train::metric::{Metric, MetricDefinition, MetricId, NumericEntry};

use super::history::{History, Validation};
use super::metrics::{COMMAND, PERPLEXITY};

/// Burn's logger that adds every validation to the [`History`], from which checkpoints are chosen and runs ended early.
///
/// It stores nothing for Burn's own strategies; those of this crate read the history.
pub(crate) struct HistoryLogger {
    history: History,
    perplexity: MetricId,
    bleu: MetricId,
    chrf: MetricId,
    command: MetricId,
}

impl HistoryLogger {
    /// Recognizes the values of these metrics, which are registered with the Learner; the command's is registered only
    /// if there is a command.
    pub(crate) fn new(
        history: History,
        perplexity: &impl Metric,
        bleu: &impl Metric,
        chrf: &impl Metric,
    ) -> Self {
        Self {
            history,
            perplexity: MetricId::new(perplexity.name()),
            bleu: MetricId::new(bleu.name()),
            chrf: MetricId::new(chrf.name()),
            command: MetricId::new(Arc::new(COMMAND.to_owned())),
        }
    }
}

impl MetricLogger for HistoryLogger {
    fn log(&mut self, update: MetricsUpdate, interval: usize, split: &Split) {
        if *split != Split::Valid {
            return;
        }
        let final_value = |id: &MetricId| {
            let mut entries = update.entries_numeric.iter();
            entries.find_map(|numeric| match numeric.numeric_entry {
                Some(NumericEntry::Final(value)) if numeric.entry.metric_id == *id => Some(value),
                _ => None,
            })
        };
        let values = [&self.perplexity, &self.bleu, &self.chrf].map(final_value);
        if let [Some(perplexity), Some(bleu), Some(chrf)] = values {
            let command = final_value(&self.command);
            let validation = Validation::new(interval, perplexity, [bleu, chrf], command);
            self.history.add(validation);
        }
    }

    fn read_numeric(
        &mut self,
        _name: &str,
        _interval: usize,
        _split: &Split,
    ) -> Result<Vec<NumericEntry>, String> {
        Ok(Vec::new())
    }

    fn log_metric_definition(&mut self, _definition: MetricDefinition) {}

    fn log_epoch_summary(&mut self, _summary: EpochSummary) {}
}

/// Waits until the validation of an interval is in the [`History`].
///
/// Burn's event store calls its loggers on its own thread, and before it asks a strategy it only ensures that all
/// events are queued. It handles events and queries in order, so any query returns after the events before it; the
/// answer to this one is not used. A signal of the [`HistoryLogger`] would be more direct, but would never come for a
/// validation that failed.
pub(crate) fn wait_for_validation(store: &EventStoreClient, interval: usize) {
    let _ = store.find_metric(PERPLEXITY, interval, Aggregate::Mean, &Split::Valid);
}
