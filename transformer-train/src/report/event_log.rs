//! The event file of a run, which TensorBoard and similar programs show during training.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::Tensor;
use parking_lot::Mutex;
use transformer_core::{Transformer, regular_file};

use super::event::{Histogram, Value, read_record, record, restart, step_of, summary, version};
use crate::validation::Sample;

/// The parts of an event file's name before and after its time. TensorBoard reads files with `tfevents` in their name,
/// and W&B those with a time after it.
const BEFORE: &str = "events.out.tfevents.";
const BEHIND: &str = ".transformer-train";

const UNFINISHED: &str = ".unfinished-events";

/// The event file of a run, open for writing; clones share it.
#[derive(Clone)]
pub(crate) struct EventLog(Arc<Mutex<Option<File>>>);

/// Returns whether a file of a run's folder has the name of an event file, finished or not.
pub(crate) fn is_event_file(name: &str) -> bool {
    time_in(name).is_some() || name == UNFINISHED
}

/// Returns the time in the name of an event file, in seconds since 1970.
fn time_in(name: &str) -> Option<u64> {
    let time = name.strip_prefix(BEFORE)?.strip_suffix(BEHIND)?;
    time.parse().ok()
}

impl EventLog {
    /// Opens the event file of a run: an empty one, or on resuming the one with the events of the
    /// first `n_done` updates. Returns whether it is empty.
    ///
    /// A run has one event file. Events of later updates, and everything after a truncated event, are dropped: a new
    /// file then replaces the old one, and a TensorBoard that shows the run starts over with it. If the program is
    /// killed in between, both files exist, and the newer one counts.
    pub(crate) fn open(folder: &Path, n_done: u64) -> io::Result<(Self, bool)> {
        let mut files = event_files(folder);
        let newest = files.pop();
        let before = newest.as_ref().map_or(0, |(time, _)| *time);
        // A file that cannot be read is replaced by an empty one, like the tables of the run.
        let readable = newest.filter(|(_, path)| n_done > 0 && regular_file::open(path).is_ok());
        let is_empty = readable.is_none();
        let path = match readable {
            Some((_, path)) if is_kept(&path, n_done)? => path,
            Some((_, path)) => rewritten(folder, before, Some((&path, n_done)))?,
            None => rewritten(folder, before, None)?,
        };
        for (_, other) in event_files(folder) {
            if other != path {
                let _ = fs::remove_file(other);
            }
        }
        let file = File::options().append(true).open(path)?;
        Ok((Self(Arc::new(Mutex::new(Some(file)))), is_empty))
    }

    pub(crate) fn write_scalars(&self, step: u64, scalars: impl Iterator<Item = (String, f64)>) {
        let values = scalars.map(|(tag, value)| Value::scalar(tag, value));
        self.write(step, values.collect());
    }

    /// Writes a text, which is shown unchanged.
    pub(crate) fn write_text(&self, step: u64, tag: &str, text: &str) {
        self.write(step, vec![Value::text(tag.to_owned(), as_code(text))]);
    }

    pub(crate) fn write_samples(&self, step: u64, samples: &[Sample]) {
        let value = |(index, sample): (usize, &Sample)| {
            let text = as_code(&sample.lines().join("\n"));
            Value::text(format!("samples/{}", index + 1), text)
        };
        self.write(step, samples.iter().enumerate().map(value).collect());
    }

    pub(crate) fn write_histograms(&self, step: u64, model: &Transformer) {
        let mut histograms = Histograms::default();
        model.visit(&mut histograms);
        self.write(step, histograms.values);
    }

    fn write(&self, step: u64, values: Vec<Value>) {
        if values.is_empty() {
            return;
        }
        let mut file = self.0.lock();
        let event = record(&summary(step, values));
        // A failure must not end the training. Nothing after a truncated event can be read, so no further event is
        // written.
        if file
            .as_mut()
            .is_some_and(|file| file.write_all(&event).is_err())
        {
            *file = None;
        }
    }
}

/// Returns the event files of a folder with the times in their names, in ascending order.
fn event_files(folder: &Path) -> Vec<(u64, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let timed =
        entries.filter_map(|entry| Some((time_in(entry.file_name().to_str()?)?, entry.path())));
    let mut files: Vec<(u64, PathBuf)> = timed.collect();
    files.sort_unstable();
    files
}

/// Returns whether an event file is intact and has events of the first `n_done` updates only.
fn is_kept(path: &Path, n_done: u64) -> io::Result<bool> {
    let file = regular_file::open(path)?;
    let mut n_bytes = file.metadata()?.len();
    let mut reader = BufReader::new(file);
    while let Some(event) = read_record(&mut reader)? {
        n_bytes = n_bytes.saturating_sub(record(&event).len() as u64);
        if step_of(&event).is_none_or(|step| step > n_done) {
            return Ok(false);
        }
    }
    Ok(n_bytes == 0)
}

/// Writes an event file with the events of the first updates in another file. The time in its name is later than
/// `before`. Returns its path.
fn rewritten(folder: &Path, before: u64, events: Option<(&Path, u64)>) -> io::Result<PathBuf> {
    let unfinished = folder.join(UNFINISHED);
    let mut file = BufWriter::new(File::create(&unfinished)?);
    file.write_all(&record(&version()))?;
    if let Some((path, n_done)) = events {
        file.write_all(&record(&restart()))?;
        let mut reader = BufReader::new(regular_file::open(path)?);
        while let Some(event) = read_record(&mut reader)? {
            // Those of step 0 are written above.
            if step_of(&event).is_some_and(|step| (1..=n_done).contains(&step)) {
                file.write_all(&record(&event))?;
            }
        }
    }
    file.into_inner()?.sync_all()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    // Readers take the files of a run in the order of their names, regardless of the clock.
    let time = now.map_or(0, |now| now.as_secs()).max(before + 1);
    let path = folder.join(format!("{BEFORE}{time:010}{BEHIND}"));
    fs::rename(unfinished, &path)?;
    Ok(path)
}

/// Returns text as Markdown that shows it unchanged.
fn as_code(text: &str) -> String {
    let lines = text.lines().map(|line| format!("    {line}\n"));
    lines.collect()
}

#[derive(Default)]
struct Histograms {
    path: Vec<String>,
    values: Vec<Value>,
}

impl ModuleVisitor for Histograms {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let values: Vec<f32> = param.val().into_data().iter::<f32>().collect();
        if let Some(histogram) = Histogram::of(&values) {
            let tag = format!("weights/{}", self.path.join("."));
            self.values.push(Value::histogram(tag, histogram));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: &str = "Train/Loss";

    fn write(events: &EventLog, step: u64) {
        events.write_scalars(step, std::iter::once((TAG.to_owned(), 0.5)));
    }

    /// Returns the only event file of a folder.
    fn only_file(folder: &Path) -> PathBuf {
        let mut files = event_files(folder);
        assert_eq!(files.len(), 1);
        files.remove(0).1
    }

    /// Returns the steps of the events of a folder with values, and checks that its file is intact.
    fn steps(folder: &Path) -> io::Result<Vec<u64>> {
        let path = only_file(folder);
        assert!(is_kept(&path, u64::MAX)?);
        let mut reader = BufReader::new(File::open(path)?);
        let mut steps = Vec::new();
        while let Some(event) = read_record(&mut reader)? {
            steps.extend(step_of(&event).filter(|step| *step > 0));
        }
        Ok(steps)
    }

    #[test]
    fn a_run_killed_at_any_byte_resumes_without_gaps_and_duplicates() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (events, is_empty) = EventLog::open(folder.path(), 0)?;
        assert!(is_empty);
        write(&events, 10);
        write(&events, 20);
        let path = only_file(folder.path());
        let n_checkpointed = fs::read(&path)?.len();
        write(&events, 30);
        let whole = fs::read(&path)?;
        for n_bytes in n_checkpointed..=whole.len() {
            fs::remove_file(only_file(folder.path()))?;
            fs::write(&path, &whole[..n_bytes])?;
            let (events, is_empty) = EventLog::open(folder.path(), 20)?;
            assert!(!is_empty);
            write(&events, 30);
            assert_eq!(steps(folder.path())?, [10, 20, 30], "{n_bytes} bytes");
        }
        Ok(())
    }

    #[test]
    fn the_newer_of_two_files_counts() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (events, _) = EventLog::open(folder.path(), 0)?;
        write(&events, 10);
        write(&events, 20);
        let older = only_file(folder.path());
        let before = fs::read(&older)?;
        EventLog::open(folder.path(), 10)?;
        // As if the program had been killed before it removed the older file.
        fs::write(&older, before)?;
        EventLog::open(folder.path(), 20)?;
        assert_eq!(steps(folder.path())?, [10]);
        Ok(())
    }

    #[test]
    fn an_intact_file_goes_on_so_that_tensorboard_does_not_begin_again() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (events, _) = EventLog::open(folder.path(), 0)?;
        write(&events, 10);
        let path = only_file(folder.path());
        EventLog::open(folder.path(), 10)?;
        assert_eq!(only_file(folder.path()), path);
        Ok(())
    }

    #[test]
    fn a_new_run_in_the_folder_begins_an_empty_file() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (events, _) = EventLog::open(folder.path(), 0)?;
        write(&events, 10);
        EventLog::open(folder.path(), 0)?;
        assert_eq!(steps(folder.path())?, [] as [u64; 0]);
        Ok(())
    }
}
