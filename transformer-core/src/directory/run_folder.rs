//! The folder of a training run, as far as others must know it.

use std::fs;
use std::path::Path;

/// The file by which the folder of a training run is known.
const SETTINGS_OF_A_RUN: &str = "experiment.toml";

/// The folders in it that a run writes into, whenever it goes on.
const FOLDERS_OF_A_RUN: [&str; 2] = ["model", "checkpoints"];

/// Says whether a path is the folder of a training run, or the place of its model or of its checkpoints, where
/// nothing else may be written.
pub fn belongs_to_a_run(path: &Path) -> bool {
    // `.` within such a folder is the folder, too.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_run = |path: &Path| path.join(SETTINGS_OF_A_RUN).exists();
    let is_part = FOLDERS_OF_A_RUN.iter().any(|name| path.ends_with(name));
    is_run(&path) || (is_part && path.parent().is_some_and(is_run))
}
