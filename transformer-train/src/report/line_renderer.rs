//! One line per interval, for output that is not a terminal.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use burn_train::logger::{EvaluationProgressLogger, TrainingProgressLogger};
use burn_train::metric::{MetricDefinition, MetricId};
use burn_train::renderer::{
    EvaluationName, MetricState, MetricsRenderer, MetricsRendererEvaluation,
    MetricsRendererTraining,
};
use derive_new::new;

use crate::config::TrainingSettings;
use crate::progress::DeferredLog;
use crate::validation::{
    BLEU, CHRF, COMMAND, EXACT_MATCH, GRADIENT_NORM, LEARNING_RATE, LOSS, PADDING, PERPLEXITY,
    SPEED, Samples, number_of_corpus, of_corpus,
};

/// Formats one line when an interval has been validated, to be logged when its checkpoint is saved.
#[derive(new)]
#[new(visibility = "pub(crate)")]
pub(crate) struct LineRenderer {
    deferred: DeferredLog,
    training: TrainingSettings,
    n_done_before: u64,
    time_before: Duration,
    samples: Samples,
    #[new(value = "Instant::now()")]
    started: Instant,
    #[new(default)]
    names: HashMap<MetricId, String>,
    #[new(default)]
    train: HashMap<String, f64>,
    #[new(default)]
    valid: HashMap<String, f64>,
}

impl LineRenderer {
    fn line(&self, interval: usize) -> String {
        let done = self.training.updates_after(interval);
        let n_updates = self.training.updates;
        let elapsed = self.started.elapsed();
        let done_by_process = done.saturating_sub(self.n_done_before).max(1);
        let left = elapsed.mul_f64((n_updates - done) as f64 / done_by_process as f64);
        let elapsed = self.time_before + elapsed;
        let value =
            |split: &HashMap<String, f64>, name: &str| split.get(name).copied().unwrap_or(f64::NAN);
        let command = self.valid.get(COMMAND);
        let command = command.map_or_else(String::new, |score| format!("  command {score:.4}"));
        format!(
            "update {done}/{total}  loss {loss:.3}  ppl {ppl:.2}  valid ppl {valid_ppl:.2}  \
             BLEU {bleu:.1}  chrF {chrf:.1}  exact {exact:.1}%{command}  {speed:.0} tok/s  padding {padding:.1}%  \
             norm {norm:.2}  lr {lr:.2e}  \
             {elapsed} gone, {left} left",
            total = n_updates,
            loss = value(&self.train, LOSS),
            ppl = value(&self.train, PERPLEXITY),
            valid_ppl = value(&self.valid, PERPLEXITY),
            bleu = value(&self.valid, BLEU),
            chrf = value(&self.valid, CHRF),
            exact = value(&self.valid, EXACT_MATCH),
            speed = value(&self.train, SPEED),
            padding = value(&self.train, PADDING),
            norm = value(&self.train, GRADIENT_NORM),
            lr = value(&self.train, LEARNING_RATE),
            elapsed = minutes(elapsed),
            left = minutes(left),
        )
    }

    fn lines_of_corpora(&self) -> String {
        let mut lines = BTreeMap::new();
        for (name, perplexity) in &self.valid {
            let Some(number) = number_of_corpus(PERPLEXITY, name) else {
                continue;
            };
            let value = |name| self.valid.get(&of_corpus(name, number)).copied();
            let [bleu, chrf] = [BLEU, CHRF].map(|name| value(name).unwrap_or(f64::NAN));
            lines.insert(
                number,
                format!(
                    "\n  corpus {number:<4}  valid ppl {perplexity:.2}  BLEU {bleu:.1}  chrF {chrf:.1}"
                ),
            );
        }
        lines.into_values().collect()
    }

    /// Stores the latest value of a metric. The last value is that of the whole interval.
    fn store(
        names: &HashMap<MetricId, String>,
        split: &mut HashMap<String, f64>,
        state: MetricState,
    ) {
        let MetricState::Numeric(entry, Some(value)) = state else {
            return;
        };
        let Some(name) = names.get(&entry.metric_id) else {
            return;
        };
        split.insert(name.clone(), value.current());
    }
}

/// Formats a duration as `1h02m`, `3m20s` or `45s`.
pub(crate) fn minutes(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h{minutes:02}m"),
    }
}

impl MetricsRendererTraining for LineRenderer {
    fn update_train(&mut self, state: MetricState) {
        Self::store(&self.names, &mut self.train, state);
    }

    fn update_valid(&mut self, state: MetricState) {
        Self::store(&self.names, &mut self.valid, state);
    }
}

impl TrainingProgressLogger for LineRenderer {
    fn start(&mut self, _: usize, _: usize, _: Option<usize>, _: Option<&str>) {
        self.started = Instant::now();
    }

    fn update_epoch(&mut self, interval: usize) {
        let mut block = self.line(interval);
        block.push_str(&self.lines_of_corpora());
        for sample in self.samples.latest() {
            for line in sample.lines() {
                block.push_str(&format!("\n  {line}"));
            }
        }
        self.deferred.push(block);
    }

    fn start_split(&mut self, _: &str, _: usize) {}

    fn update_split(&mut self, _: usize) {}

    fn end_split(&mut self) {}

    fn end(&mut self) {}

    fn log_event_training(&mut self, _: String) {}
}

impl EvaluationProgressLogger for LineRenderer {
    fn start_global_progress(&mut self, _: usize) {}

    fn start_test(&mut self, _: &str, _: usize) {}

    fn update_test_progress(&mut self, _: usize) {}

    fn end_test(&mut self) {}

    fn end_global_progress(&mut self) {}

    fn log_event_evaluation(&mut self, _: String) {}
}

impl MetricsRendererEvaluation for LineRenderer {
    fn update_test(&mut self, _: EvaluationName, _: MetricState) {}
}

impl MetricsRenderer for LineRenderer {
    fn manual_close(&mut self) {}

    fn register_metric(&mut self, definition: MetricDefinition) {
        self.names
            .insert(definition.metric_id, definition.name.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_their_two_largest_units() {
        let formatted = [5, 200, 3720].map(|seconds| minutes(Duration::from_secs(seconds)));
        assert_eq!(formatted, ["5s", "3m20s", "1h02m"]);
    }
}
