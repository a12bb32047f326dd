//! Recognizes the folder of a training run, in which nothing else may be written.

use std::fs;
use std::path::Path;

/// The file that identifies the folder of a training run.
const SETTINGS: &str = "experiment.toml";

/// The folders inside it for the model, the checkpoints and the command that scores translations.
const WRITTEN: [&str; 3] = ["model", "checkpoints", "validation"];

/// Returns whether a path is the folder of a training run, or one of the folders that the run writes.
///
/// A run writes these folders whenever it resumes, so other files in them would be lost or in its way.
pub fn belongs_to_a_run(path: &Path) -> bool {
    // Another spelling of the path, such as `.`, is the same folder.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_run = |path: &Path| path.join(SETTINGS).exists();
    let is_written = WRITTEN.iter().any(|name| path.ends_with(name));
    is_run(&path) || (is_written && path.parent().is_some_and(is_run))
}
