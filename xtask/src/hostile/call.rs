//! [`Call`]: one run of a program with limits of time, memory and file size, and [`Ended`]: how it ended.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// Limit of the address space of a program, in KiB: the small models of the attempts run in less than a third of it.
const MEMORY_KIB: u64 = 1 << 20;

/// What the address space may have more for each core, in KiB: stacks and heaps of threads.
const CORE_KIB: u64 = 128 << 10;

/// Limit of the size of a file that a program writes, in blocks of 512 bytes: 256 MiB.
const FILE_BLOCKS: u64 = 1 << 19;

/// Longest time between two looks at a running program.
const LONGEST_PAUSE: Duration = Duration::from_millis(4);

/// Most lines on standard error of a program that fails.
const MOST_LINES: usize = 12;

/// Most characters on standard error of a program that fails.
const MOST_CHARACTERS: usize = 8000;

/// The exit code of a Rust program that panicked.
const PANICKED: i32 = 101;

/// The exit code of a program that was interrupted.
const INTERRUPTED: i32 = 130;

/// A run of a program.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// The working directory, which also gets the output.
    pub(super) folder: PathBuf,
    /// What runs the program, for example with fewer rights; empty if nothing does.
    pub(super) prefix: Vec<OsString>,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    /// The file of standard input.
    pub(super) input: Option<PathBuf>,
    /// The file of standard output, instead of one in the folder.
    pub(super) output: Option<PathBuf>,
    pub(super) environment: Vec<(OsString, OsString)>,
    /// Limit of the size of files, in blocks of 512 bytes, at which writing fails.
    pub(super) file_blocks: Option<u64>,
    pub(super) seconds: u64,
}

/// How a program ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// The limit in seconds, if the program was ended because of it.
    pub(super) timed_out: Option<u64>,
}

impl Call {
    /// Starts the program; its output goes to files in the folder.
    pub(super) fn start(&self) -> Result<Child> {
        let script = match self.file_blocks {
            // Writing more fails as on a full disk, because the signal is ignored.
            Some(blocks) => format!("trap '' XFSZ; ulimit -f {blocks}"),
            None => format!("ulimit -f {FILE_BLOCKS}"),
        };
        let n_cores = thread::available_parallelism()?.get() as u64;
        let kib = MEMORY_KIB + CORE_KIB * n_cores;
        let script = format!("{script}; ulimit -c 0; ulimit -v {kib}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).args(&self.prefix);
        command.arg(&self.program).args(&self.arguments);
        command.envs(self.environment.iter().cloned());
        command.env_remove("BURN_DEVICE").env("RUST_BACKTRACE", "0");
        let output = self.output.clone().unwrap_or(self.folder.join("stdout"));
        let stdin = match &self.input {
            Some(path) => Stdio::from(File::open(path)?),
            None => Stdio::null(),
        };
        command.current_dir(&self.folder).stdin(stdin);
        command.stdout(
            File::options()
                .write(true)
                .create(true)
                .truncate(true)
                .open(output)?,
        );
        command.stderr(File::create(self.folder.join("stderr"))?);
        command.spawn().context("`sh` cannot be started")
    }

    /// Runs the program to its end, or to the limit of time.
    pub(super) fn run(&self) -> Result<Ended> {
        let child = self.start()?;
        self.wait(child)
    }

    /// Waits for the end of a started program.
    pub(super) fn wait(&self, mut child: Child) -> Result<Ended> {
        let started = Instant::now();
        let mut pause = Duration::from_micros(200);
        let mut timed_out = None;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if started.elapsed() > Duration::from_secs(self.seconds) && timed_out.is_none() {
                timed_out = Some(self.seconds);
                child.kill()?;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        };
        let read = |name| fs::read(self.folder.join(name)).unwrap_or_default();
        Ok(Ended {
            code: status.code(),
            signal: status.signal(),
            stdout: if self.output.is_none() {
                read("stdout")
            } else {
                Vec::new()
            },
            stderr: read("stderr"),
            timed_out,
        })
    }

    /// Returns the call as a line for a shell.
    pub(super) fn line(&self) -> String {
        let mut words: Vec<String> =
            vec!["cd".into(), quoted(self.folder.as_os_str()), "&&".into()];
        for (name, value) in &self.environment {
            words.push(format!("{}={}", name.display(), quoted(value)));
        }
        words.extend(self.prefix.iter().map(|word| quoted(word)));
        words.push(quoted(self.program.as_os_str()));
        words.extend(self.arguments.iter().map(|word| quoted(word)));
        let redirected = |sign: &str, path: &Path| format!("{sign} {}", quoted(path.as_os_str()));
        words.extend(self.input.iter().map(|path| redirected("<", path)));
        words.extend(self.output.iter().map(|path| redirected(">", path)));
        words.join(" ")
    }
}

impl Ended {
    pub(super) fn succeeded(&self) -> bool {
        self.code == Some(0)
    }

    pub(super) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    pub(super) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Checks what holds for every run: no panic, signal or hang; a failure has an error of a few readable lines.
    pub(super) fn check(&self) -> Result<()> {
        let stderr = self.stderr();
        if let Some(seconds) = self.timed_out {
            anyhow::bail!("a hang: it did not end in {seconds} s; {}", end_of(&stderr));
        }
        let is_panic = self.code == Some(PANICKED) || stderr.contains("panicked at");
        ensure!(!is_panic, "a panic: {}", end_of(&stderr));
        let signal = self.signal.unwrap_or(0);
        ensure!(signal == 0, "ended by signal {signal}: {}", end_of(&stderr));
        let unreadable = |byte: &u8| byte.is_ascii_control() && !b"\n\t".contains(byte);
        ensure!(
            !self.stderr.iter().any(unreadable),
            "control characters on standard error: {stderr:?}"
        );
        if self.succeeded() {
            return Ok(());
        }
        let code = self.code.unwrap_or_default();
        ensure!(
            [1, 2, INTERRUPTED].contains(&code),
            "ended with code {code}: {}",
            end_of(&stderr)
        );
        if code == INTERRUPTED {
            ensure!(
                !stderr.is_empty(),
                "interrupted without a line on standard error"
            );
            return Ok(());
        }
        let n_errors = stderr
            .lines()
            .filter(|line| line.starts_with("error: "))
            .count();
        ensure!(
            n_errors == 1,
            "{n_errors} lines with `error: `, expected 1: {}",
            end_of(&stderr)
        );
        let n_lines = stderr.lines().count();
        ensure!(
            n_lines <= MOST_LINES,
            "{n_lines} lines on standard error: {}",
            end_of(&stderr)
        );
        let n = stderr.chars().count();
        ensure!(
            n <= MOST_CHARACTERS,
            "{n} characters on standard error: {}",
            end_of(&stderr)
        );
        Ok(())
    }

    /// Checks that the program refused, with exit code 1 or 2.
    pub(super) fn check_refused(&self, why: &str) -> Result<()> {
        ensure!(!self.succeeded(), "accepted, though {why}");
        Ok(())
    }

    /// Checks that the program succeeded.
    pub(super) fn check_succeeded(&self, why: &str) -> Result<()> {
        let stderr = self.stderr();
        ensure!(
            self.succeeded(),
            "refused, though {why}: {}",
            end_of(&stderr)
        );
        Ok(())
    }
}

/// Returns the last part of a text, on one line.
fn end_of(text: &str) -> String {
    let text = text.trim().replace('\n', " / ");
    let n = text.chars().count();
    text.chars().skip(n.saturating_sub(600)).collect()
}

fn quoted(word: &OsStr) -> String {
    let text = word.display().to_string();
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./=,:".contains(it);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(code: i32, stderr: &str) -> Result<()> {
        let ended = Ended {
            code: Some(code),
            signal: None,
            stdout: Vec::new(),
            stderr: stderr.into(),
            timed_out: None,
        };
        ended.check()
    }

    #[test]
    fn one_line_of_error_is_what_a_failure_prints() {
        assert!(failed(1, "backend flex\nerror: no such file\n").is_ok());
        assert!(failed(1, "").is_err());
        assert!(failed(1, "error: a\nerror: b\n").is_err());
        assert!(failed(1, &format!("{}error: a\n", "x\n".repeat(30))).is_err());
        assert!(failed(1, "error: \x1b[2J\n").is_err());
    }

    #[test]
    fn panics_and_other_codes_are_faults() {
        assert!(failed(101, "error: a\n").is_err());
        assert!(failed(1, "thread panicked at a.rs\nerror: a\n").is_err());
        assert!(failed(7, "error: a\n").is_err());
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted(OsStr::new("a-b=c")), "a-b=c");
        assert_eq!(quoted(OsStr::new("it's")), "'it'\\''s'");
        assert_eq!(quoted(OsStr::new("")), "''");
    }
}
