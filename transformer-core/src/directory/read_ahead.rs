//! [`ReadAhead`]: the weights of a model, read on another thread while this one does other work.

use std::panic;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::stored_weights::ParsedRecord;
use super::{DirectoryError, FileEntry, ModelFiles};

/// The thread that reads a file, until its content is taken; `None` if the operating system cannot start one, and then
/// the content is read where it is needed.
#[derive(Debug, Clone)]
pub(super) struct ReadAhead(Arc<Mutex<Option<Reading>>>);

type Reading = JoinHandle<Result<ParsedRecord, DirectoryError>>;

impl ReadAhead {
    /// Starts to read the file.
    pub(super) fn start(entry: &FileEntry, files: &ModelFiles) -> Self {
        let (entry, files) = (entry.clone(), files.clone());
        let reading = thread::Builder::new().spawn(move || entry.read_record(&files));
        Self(Arc::new(Mutex::new(reading.ok())))
    }

    /// Waits for the [record](FileEntry::read_record); `None` if it was already taken, or if no thread reads it.
    pub(super) fn take(&self) -> Option<Result<ParsedRecord, DirectoryError>> {
        let mut reading = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let content = reading.take()?.join();
        Some(content.unwrap_or_else(|payload| panic::resume_unwind(payload)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_can_be_taken_once() -> std::io::Result<()> {
        let directory = tempfile::tempdir()?;
        std::fs::write(directory.path().join("weights"), b"content")?;
        let entry = FileEntry::new("weights", b"content");
        let reading = ReadAhead::start(&entry, &directory.path().into());
        let record = reading.take().and_then(Result::ok);
        assert!(record.is_some_and(|record| record.is_err()));
        assert!(reading.take().is_none());
        Ok(())
    }
}
