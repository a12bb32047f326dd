//! The files in a run's folder that show its progress: `metrics.csv`, `samples.tsv`, `curve.svg` and TensorBoard's
//! event file; and the history of validations.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use burn_train::logger::MetricLogger;
use burn_train::metric::store::{EpochSummary, MetricsUpdate, Split};
use burn_train::metric::{MetricDefinition, MetricId, NumericEntry};
use transformer_core::directory::replace_file;
use transformer_core::regular_file;

use super::curve::curve;
use super::event_log::EventLog;
use crate::config::TrainingSettings;
use crate::optim::Schedule;
use crate::validation::{BLEU, CHRF, COMMAND, History, PERPLEXITY, Samples, Validation};

pub(crate) const METRICS_FILE: &str = "metrics.csv";

pub(crate) const SAMPLES_FILE: &str = "samples.tsv";

pub(crate) const CURVE_FILE: &str = "curve.svg";

/// Writes the value of every metric over an interval to `metrics.csv`, as `update,split,metric,value`.
///
/// Each validation also appends the sample translations to `samples.tsv` and draws `curve.svg` from the table. The
/// event file, if any, gets the metrics and the samples too.
///
/// It also adds every validation to the [`History`], from which checkpoints are chosen and runs ended early. It stores
/// nothing for Burn's own strategies; those of this crate read the history.
pub(crate) struct CsvLog {
    folder: PathBuf,
    file: File,
    /// Contents of `metrics.csv`.
    table: String,
    samples: Samples,
    samples_file: File,
    training: TrainingSettings,
    schedule: Schedule,
    history: History,
    events: Option<EventLog>,
    names: BTreeMap<String, MetricId>,
}

impl CsvLog {
    /// Opens the tables: empty ones, or on resuming with the rows of the first `n_done` updates.
    pub(crate) fn open(
        folder: &Path,
        training: &TrainingSettings,
        schedule: Schedule,
        n_done: u64,
        samples: Samples,
        history: History,
    ) -> io::Result<Self> {
        let (file, table) = open_table(folder, METRICS_FILE, "update,split,metric,value", n_done)?;
        let heading = "update\tsource\treference\ttranslation";
        let (samples_file, _) = open_table(folder, SAMPLES_FILE, heading, n_done)?;
        Ok(Self {
            folder: folder.to_owned(),
            file,
            table,
            samples,
            samples_file,
            training: training.clone(),
            schedule,
            history,
            events: None,
            names: BTreeMap::new(),
        })
    }

    /// Also writes an event file. If `is_empty`, it first gets the rows of `metrics.csv`.
    pub(crate) fn with_events(mut self, events: EventLog, is_empty: bool) -> Self {
        if is_empty {
            for (update, split, metric, value) in rows(&self.table) {
                let scalar = (format!("{split}/{metric}"), value);
                events.write_scalars(update, std::iter::once(scalar));
            }
        }
        self.events = Some(events);
        self
    }

    fn write_samples(&mut self, n_done: u64) {
        let samples = self.samples.latest();
        if let Some(events) = &self.events {
            events.write_samples(n_done, &samples);
        }
        let rows: String = samples
            .iter()
            .map(|it| {
                format!(
                    "{n_done}\t{}\t{}\t{}\n",
                    it.src, it.reference, it.translation
                )
            })
            .collect();
        let _ = self.samples_file.write_all(rows.as_bytes());
    }

    fn finals<'a>(&'a self, update: &'a MetricsUpdate) -> impl Iterator<Item = (&'a str, f64)> {
        update.entries_numeric.iter().filter_map(|numeric| {
            let Some(NumericEntry::Final(value)) = numeric.numeric_entry else {
                return None;
            };
            let name = self
                .names
                .iter()
                .find(|(_, id)| **id == numeric.entry.metric_id)?
                .0;
            Some((name.as_str(), value))
        })
    }

    fn add_to_history(&self, update: &MetricsUpdate, interval: usize) {
        let value = |name| self.finals(update).find(|it| it.0 == name).map(|it| it.1);
        if let [Some(perplexity), Some(bleu), Some(chrf)] = [PERPLEXITY, BLEU, CHRF].map(value) {
            let scores = [bleu, chrf];
            let validation = Validation::new(interval, perplexity, scores, value(COMMAND));
            self.history.add(validation);
        }
    }

    /// Draws the training curves. A failure to write them is ignored, as for the tables.
    fn draw(&self) {
        let title = self.folder.file_name().unwrap_or(self.folder.as_os_str());
        let rate = |update| self.schedule.learning_rate(update);
        let svg = curve(&self.table, &title.to_string_lossy(), rate);
        let _ = replace_file(&self.folder, CURVE_FILE, svg.as_bytes());
    }
}

/// Parses the rows of `metrics.csv`: update, split, metric and value.
pub(super) fn rows(table: &str) -> impl Iterator<Item = (u64, &str, &str, f64)> {
    table.lines().filter_map(|row| {
        let mut columns = row.split(',');
        let update = columns.next()?.parse().ok()?;
        let (split, metric) = (columns.next()?, columns.next()?);
        Some((update, split, metric, columns.next()?.parse().ok()?))
    })
}

/// Opens a table with rows that start with a number of updates, and keeps those of the first `n_done` updates. Returns
/// the file, in append mode, and its contents.
fn open_table(folder: &Path, name: &str, heading: &str, n_done: u64) -> io::Result<(File, String)> {
    let path = folder.join(name);
    let before = match n_done {
        0 => String::new(),
        _ => String::from_utf8_lossy(&regular_file::read(&path, u64::MAX).unwrap_or_default())
            .into_owned(),
    };
    let update_of = |row: &&str| row.split([',', '\t']).next()?.parse::<u64>().ok();
    let kept = before
        .lines()
        .filter(|row| update_of(row).is_some_and(|update| update <= n_done));
    let mut table = format!("{heading}\n");
    for row in kept {
        table.push_str(row);
        table.push('\n');
    }
    replace_file(folder, name, table.as_bytes())?;
    let file = File::options().append(true).open(path)?;
    Ok((file, table))
}

impl MetricLogger for CsvLog {
    fn log(&mut self, update: MetricsUpdate, interval: usize, split: &Split) {
        if *split == Split::Valid {
            self.add_to_history(&update, interval);
        }
        let n_done = self.training.updates_after(interval);
        let rows: String = self
            .finals(&update)
            .map(|(name, value)| format!("{n_done},{split},{name},{value}\n"))
            .collect();
        if rows.is_empty() {
            return; // The interval is not complete.
        }
        self.table.push_str(&rows);
        if let Some(events) = &self.events {
            let tagged = |(name, value)| (format!("{split}/{name}"), value);
            events.write_scalars(n_done, self.finals(&update).map(tagged));
        }
        if *split == Split::Valid {
            self.write_samples(n_done);
            self.draw();
        }
        // A failure to write the table must not end the training. If the disk is full, writing the checkpoint reports
        // it.
        let _ = self.file.write_all(rows.as_bytes());
    }

    fn read_numeric(
        &mut self,
        _name: &str,
        _interval: usize,
        _split: &Split,
    ) -> Result<Vec<NumericEntry>, String> {
        Ok(Vec::new())
    }

    fn log_metric_definition(&mut self, definition: MetricDefinition) {
        self.names
            .insert(definition.name.to_string(), definition.metric_id);
    }

    fn log_epoch_summary(&mut self, _summary: EpochSummary) {}
}
