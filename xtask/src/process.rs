//! Calls of cargo and of other programs.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Returns a call, in a folder, of the cargo that called this program, or else of the one that built it.
pub(crate) fn cargo(folder: &Path) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// Runs a program to its end, and fails if it fails.
pub(crate) fn call(command: &mut Command) -> Result<()> {
    let program = name(command);
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("{program} cannot be started"))?;
    ensure!(status.success(), "{program} ended with {status}");
    Ok(())
}

/// Runs a program to its end, and returns what it printed to standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let program = name(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{program} cannot be started"))?;
    ensure!(
        output.status.success(),
        "{program} ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn name(command: &Command) -> String {
    let program = Path::new(command.get_program());
    program
        .file_stem()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Returns the folder into which cargo builds.
pub(crate) fn target_folder(root: &Path) -> Result<PathBuf> {
    let text = output(cargo(root).args(["metadata", "--no-deps", "--format-version=1"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&text)?;
    let folder = metadata["target_directory"].as_str();
    Ok(PathBuf::from(
        folder.context("cargo metadata names no target folder")?,
    ))
}
