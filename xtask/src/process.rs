//! Calls of cargo and of other programs.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use walkdir::{DirEntry, WalkDir};

/// The environment variables that a program needs.
pub(crate) type Environment = Vec<(&'static str, OsString)>;

const PAUSE: Duration = Duration::from_millis(100);

/// Returns a call, in a folder, of the cargo that called this program, or else of the one on the `PATH`. The arguments
/// are words between spaces.
pub(crate) fn cargo(folder: &Path, arguments: &str) -> Command {
    // Without rustup's `cargo`, which sets RUSTUP_TOOLCHAIN, its `rustc` obeys the toolchain files of dependencies.
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = program_with(program, arguments);
    cargo.current_dir(folder);
    cargo
}

/// Returns a call of a program. The arguments are words between spaces.
pub(crate) fn program_with(program: impl AsRef<OsStr>, arguments: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments.split_whitespace())
        .stdin(Stdio::null());
    command
}

/// Reads a text file.
pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
}

/// Writes a text file.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}

/// Copies files of a folder to another, by their names.
pub(crate) fn copy(from: &Path, to: &Path, names: &[&str]) -> Result<()> {
    for name in names {
        let file = from.join(name);
        let copied = fs::copy(&file, to.join(name));
        copied.with_context(|| format!("cannot copy `{}`", file.display()))?;
    }
    Ok(())
}

/// Copies the files of a folder, and of the folders in it.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    for path in files(from)? {
        let to = to.join(path.strip_prefix(from)?);
        fs::create_dir_all(to.parent().context("it is in a folder")?)?;
        fs::copy(path, to)?;
    }
    Ok(())
}

/// Returns the paths of all files in a folder, in alphabetical order.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter();
    let files = entries.filter(|it| !it.as_ref().is_ok_and(|it| it.file_type().is_dir()));
    Ok(files
        .map(|it| it.map(DirEntry::into_path))
        .collect::<Result<_, _>>()?)
}

/// Empties a folder, or makes one.
pub(crate) fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("`{}` cannot be removed", folder.display()))?;
    }
    Ok(fs::create_dir_all(folder)?)
}

/// Runs a program to its end, and fails if it fails.
pub(crate) fn call(command: &mut Command) -> Result<()> {
    let program = name(command);
    let status = command.stdin(Stdio::null()).status();
    let status = status.with_context(|| format!("{program} cannot be started"))?;
    ensure!(status.success(), "{program} ended with {status}");
    Ok(())
}

/// Runs a program to its end, and returns what it printed to standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let program = name(command);
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("{program} cannot be started"))?;
    ensure!(
        output.status.success(),
        "{program} ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a program until it ends or `limit` is over, and adds what it prints to a file. Returns its exit status, `None`
/// if it was stopped, and what it printed.
pub(crate) fn run_until(
    command: &mut Command,
    limit: Duration,
    log: &mut File,
) -> Result<(Option<ExitStatus>, String)> {
    let start = log.stream_position()?;
    command.stdin(Stdio::null()).stdout(log.try_clone()?);
    let child = command.stderr(log.try_clone()?).spawn();
    let mut child = child.with_context(|| format!("{} cannot be started", name(command)))?;
    let started = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None if started.elapsed() > limit => {
                child.kill()?;
                child.wait()?;
                break None;
            }
            None => thread::sleep(PAUSE),
        }
    };
    let mut printed = Vec::new();
    log.seek(SeekFrom::Start(start))?;
    log.read_to_end(&mut printed)?;
    Ok((status, String::from_utf8_lossy(&printed).into_owned()))
}

fn name(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_stem();
    program.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

pub(crate) fn target_folder(root: &Path) -> Result<PathBuf> {
    let text = output(&mut cargo(root, "metadata --no-deps --format-version=1"))?;
    let metadata: serde_json::Value = serde_json::from_str(&text)?;
    let folder = metadata["target_directory"].as_str();
    Ok(PathBuf::from(
        folder.context("cargo metadata names no target folder")?,
    ))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Runs a line of shell after a line in the file.
    fn shell(line: &str, limit: Duration) -> (Option<ExitStatus>, String) {
        let mut log = tempfile::tempfile().expect("the system has a temporary folder");
        log.write_all(b"before\n").expect("the file is ours");
        let mut command = Command::new("sh");
        let run = run_until(command.args(["-c", line]), limit, &mut log);
        run.expect("there is a shell")
    }

    #[test]
    fn the_output_and_the_exit_status_of_a_program_are_returned() {
        let line = "echo passed; echo oh >&2; exit 3";
        let (status, printed) = shell(line, Duration::from_secs(86400));
        assert_eq!(status.and_then(|it| it.code()), Some(3));
        assert_eq!(printed, "passed\noh\n");
    }

    #[test]
    fn a_program_that_exceeds_the_limit_is_stopped_and_its_output_is_returned() {
        let line = "echo begun; exec sleep 1000000";
        let (status, printed) = shell(line, Duration::from_secs(2));
        assert_eq!(status, None);
        // On a busy machine, it was stopped before it began.
        assert!(matches!(&*printed, "begun\n" | ""), "{printed}");
    }
}
