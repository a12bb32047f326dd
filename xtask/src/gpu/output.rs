//! Output of programs, for a terminal and a file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::bench_backends::{self, Trouble};

/// Runs a program until it ends or `limit` is over, and copies its output to the terminal and to a file; returns
/// what went wrong, and the standard output.
pub(super) fn run_and_save(
    command: &mut Command,
    file: &mut File,
    limit: Duration,
) -> Result<(Option<Trouble>, String)> {
    let file = &*file;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("`{}` cannot be started", command.get_program().display()))?;
    let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
        bail!("a program was started without pipes");
    };
    thread::scope(|scope| {
        let errors = scope.spawn(|| copy_lines(errors, file, io::stderr()));
        let output = scope.spawn(|| copy_lines(output, file, io::stdout()));
        let trouble = bench_backends::wait(&mut child, limit, Duration::ZERO)?;
        let copied = |copier: thread::ScopedJoinHandle<'_, io::Result<String>>| {
            copier.join().unwrap_or_else(|_| Ok(String::new()))
        };
        copied(errors)?;
        Ok((trouble, copied(output)?))
    })
}

/// Copies every line to a file and to a terminal, and returns all of them.
fn copy_lines(from: impl Read, mut file: &File, mut terminal: impl Write) -> io::Result<String> {
    let mut from = BufReader::new(from);
    let mut all = Vec::new();
    loop {
        let start = all.len();
        if from.read_until(b'\n', &mut all)? == 0 {
            return Ok(String::from_utf8_lossy(&all).into_owned());
        }
        // One call for each line, so that two streams do not mix within a line.
        file.write_all(&all[start..])?;
        // The file has everything, even if the terminal is gone.
        let _ = terminal.write_all(&all[start..]);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Runs a line of shell; returns what went wrong, its output, and the content of the file.
    fn shell(line: &str, limit: Duration) -> (Option<Trouble>, String, String) {
        let log = tempfile::NamedTempFile::new().expect("the system has a temporary folder");
        let mut file = log.reopen().expect("the file is ours");
        let mut command = Command::new("sh");
        let run = run_and_save(command.args(["-c", line]), &mut file, limit);
        let (trouble, output) = run.expect("there is a shell");
        let kept = fs::read_to_string(&log).expect("it was written");
        (trouble, output, kept)
    }

    #[test]
    fn the_output_and_the_exit_status_of_a_program_are_returned() {
        let line = "echo passed; echo oh >&2; exit 3";
        let (trouble, output, kept) = shell(line, Duration::from_secs(86400));
        let Some(Trouble::Failed(status)) = trouble else {
            panic!("a failure is expected: {trouble:?}");
        };
        assert_eq!((status.code(), output.as_str()), (Some(3), "passed\n"));
        assert!(kept.contains("passed\n") && kept.contains("oh\n"), "{kept}");
    }

    #[test]
    fn a_program_that_exceeds_the_limit_is_stopped_and_its_output_is_returned() {
        let line = "echo begun; exec sleep 1000000";
        let (trouble, output, kept) = shell(line, Duration::from_secs(2));
        assert!(matches!(trouble, Some(Trouble::Stopped)), "{trouble:?}");
        // On a busy machine, it was stopped before it began.
        assert!(matches!(&*output, "begun\n" | ""), "{output}");
        assert_eq!(kept, output);
    }
}
