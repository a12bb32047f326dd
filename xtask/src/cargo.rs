//! Calls of cargo.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Returns a call, in a folder, of the cargo that called this program.
pub(crate) fn cargo(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// Runs a call to its end, and fails if cargo fails.
pub(crate) fn call(command: &mut Command) -> Result<()> {
    let status = command.status().context("cargo cannot be started")?;
    ensure!(status.success(), "cargo ended with {status}");
    Ok(())
}
