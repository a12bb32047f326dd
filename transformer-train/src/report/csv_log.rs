//! The curve of a run as a table: one row for each interval and split, kept in the run's folder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use burn_train::logger::{InMemoryMetricLogger, MetricLogger};
use burn_train::metric::store::{EpochSummary, MetricsUpdate, Split};
use burn_train::metric::{MetricDefinition, MetricId, NumericEntry};
use transformer_core::directory::replace_file;

use crate::config::TrainingSettings;

/// Writes every metric's value over an interval to `metrics.csv`, in long form: `update,split,metric,value`.
///
/// What Burn's strategies ask for again is kept in memory, by Burn's own logger.
pub(crate) struct CsvLog {
    file: File,
    training: TrainingSettings,
    names: BTreeMap<String, MetricId>,
    memory: InMemoryMetricLogger,
}

impl CsvLog {
    /// Begins the table, or goes on with the rows of the first `n_done` updates.
    pub(crate) fn open(
        folder: &Path,
        name: &str,
        training: &TrainingSettings,
        n_done: u64,
    ) -> io::Result<Self> {
        let path = folder.join(name);
        let before = match n_done {
            0 => String::new(),
            _ => String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned(),
        };
        let update_of = |row: &&str| row.split(',').next()?.parse::<u64>().ok();
        let kept = before
            .lines()
            .filter(|row| update_of(row).is_some_and(|update| update <= n_done));
        let mut table = "update,split,metric,value\n".to_owned();
        for row in kept {
            table.push_str(row);
            table.push('\n');
        }
        replace_file(folder, name, table.as_bytes())?;
        let file = File::options().append(true).open(path)?;
        let memory = InMemoryMetricLogger::new();
        Ok(Self {
            file,
            training: training.clone(),
            names: BTreeMap::new(),
            memory,
        })
    }

    fn rows(&self, update: &MetricsUpdate, interval: usize, split: &Split) -> String {
        let done = self.training.updates_after(interval);
        let finals = update.entries_numeric.iter().filter_map(|numeric| {
            let Some(NumericEntry::Final(value)) = numeric.numeric_entry else {
                return None;
            };
            let name = self
                .names
                .iter()
                .find(|(_, id)| **id == numeric.entry.metric_id)?
                .0;
            Some(format!("{done},{split},{name},{value}\n"))
        });
        finals.collect()
    }
}

impl MetricLogger for CsvLog {
    fn log(&mut self, update: MetricsUpdate, interval: usize, split: &Split) {
        let rows = self.rows(&update, interval, split);
        // A curve that cannot be written is no reason to lose a training run; the checkpoint, which
        // goes to the same disk, reports a full one.
        let _ = self.file.write_all(rows.as_bytes());
        self.memory.log(update, interval, split);
    }

    fn read_numeric(
        &mut self,
        name: &str,
        interval: usize,
        split: &Split,
    ) -> Result<Vec<NumericEntry>, String> {
        self.memory.read_numeric(name, interval, split)
    }

    fn log_metric_definition(&mut self, definition: MetricDefinition) {
        self.names
            .insert(definition.name.to_string(), definition.metric_id.clone());
        self.memory.log_metric_definition(definition);
    }

    fn log_epoch_summary(&mut self, summary: EpochSummary) {
        self.memory.log_epoch_summary(summary);
    }
}
