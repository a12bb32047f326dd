//! The curve of a run as a table, one row for each interval and split, and as a picture, kept in its
//! folder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use burn_train::logger::MetricLogger;
use burn_train::metric::store::{EpochSummary, MetricsUpdate, Split};
use burn_train::metric::{MetricDefinition, MetricId, NumericEntry};
use transformer_core::directory::replace_file;

use super::curve::curve;
use crate::config::TrainingSettings;
use crate::optim::Schedule;
use crate::run::{CURVE, PICTURE, SAMPLES, Sample};
use crate::validation::{BLEU, CHRF, History, PERPLEXITY, Samples, Validation};

/// Writes every metric's value over an interval to `metrics.csv`, in long form: `update,split,metric,value`.
///
/// At each validation `samples.tsv` gets the sentences that are shown, for who has the dashboard or looks later, and
/// `curve.svg` is drawn anew from the table. Nothing is kept for Burn's strategies: ours ask the
/// [`History`].
pub(crate) struct CsvLog {
    folder: PathBuf,
    file: File,
    /// What the file holds.
    table: String,
    samples: Samples,
    samples_file: File,
    training: TrainingSettings,
    schedule: Schedule,
    names: BTreeMap<String, MetricId>,
    history: History,
}

impl CsvLog {
    /// Begins the tables, or goes on with the rows of the first `n_done` updates.
    pub(crate) fn open(
        folder: &Path,
        training: &TrainingSettings,
        schedule: Schedule,
        n_done: u64,
        history: History,
        samples: Samples,
    ) -> io::Result<Self> {
        let (file, table) = self::table(folder, CURVE, "update,split,metric,value", n_done)?;
        let heading = "update\tsource\treference\ttranslation";
        let (samples_file, _) = self::table(folder, SAMPLES, heading, n_done)?;
        Ok(Self {
            folder: folder.to_owned(),
            file,
            table,
            samples,
            samples_file,
            training: training.clone(),
            schedule,
            names: BTreeMap::new(),
            history,
        })
    }

    /// Writes the sentences that are shown, as the model translates them after so many updates.
    fn write_samples(&mut self, done: u64) {
        let rows: String = self
            .samples
            .latest()
            .iter()
            .map(|sample| {
                let Sample {
                    src,
                    reference,
                    translation,
                } = sample;
                format!("{done}\t{src}\t{reference}\t{translation}\n")
            })
            .collect();
        let _ = self.samples_file.write_all(rows.as_bytes());
    }

    /// Returns the values over an interval, by the names of their metrics.
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

    /// Draws the picture; as with the table, nothing is lost if it cannot be written.
    fn draw(&self) {
        let title = self.folder.file_name().unwrap_or(self.folder.as_os_str());
        let rate = |update| self.schedule.learning_rate(update);
        let svg = curve(&self.table, &title.to_string_lossy(), rate);
        let _ = replace_file(&self.folder, PICTURE, svg.as_bytes());
    }

    /// Remembers what a validation found.
    fn remember(&self, update: &MetricsUpdate, interval: usize) {
        let finals: BTreeMap<&str, f64> = self.finals(update).collect();
        let [perplexity, bleu, chrf] = [PERPLEXITY, BLEU, CHRF].map(|name| finals.get(name));
        if let (Some(perplexity), Some(bleu), Some(chrf)) = (perplexity, bleu, chrf) {
            let validation = Validation::new(interval, *perplexity, *bleu, *chrf);
            self.history.add(validation);
        }
    }
}

/// Begins a table of which each row begins with a number of updates, or goes on with the rows of the first `n_done`.
/// Returns the file, to be written at its end, and what it holds.
fn table(folder: &Path, name: &str, heading: &str, n_done: u64) -> io::Result<(File, String)> {
    let path = folder.join(name);
    let before = match n_done {
        0 => String::new(),
        _ => String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned(),
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
        let done = self.training.updates_after(interval);
        let rows: String = self
            .finals(&update)
            .map(|(name, value)| format!("{done},{split},{name},{value}\n"))
            .collect();
        if rows.is_empty() {
            return; // within an interval
        }
        self.table.push_str(&rows);
        if *split == Split::Valid {
            self.remember(&update, interval);
            self.write_samples(done);
            self.draw();
        }
        // A curve that cannot be written is no reason to lose a training run; the checkpoint, which
        // goes to the same disk, reports a full one.
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
