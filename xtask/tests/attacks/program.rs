//! [`Call`]: a run of a program with limits on time, memory and file size; [`Ended`]: its end.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

/// Limit on the address space, in KiB; [`CORE_KIB`] is added for the threads of each core.
const MEMORY_KIB: u64 = 1 << 20;
const CORE_KIB: u64 = 128 << 10;

/// Limit on the size of a file, in blocks of 512 bytes: 256 MiB.
const FILE_BLOCKS: u64 = 1 << 19;

/// The exit code of an interrupted program.
const INTERRUPTED: i32 = 130;

/// A run of a program.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) folder: PathBuf,
    /// The command-line prefix of the program, such as one that drops permissions.
    pub(crate) prefix: Vec<&'static str>,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) input: Vec<u8>,
    /// A device for standard output; otherwise a file.
    pub(crate) output: Option<&'static str>,
    /// Limit on the size of files, in blocks of 512 bytes; writing more fails.
    pub(crate) file_blocks: Option<u64>,
    pub(crate) seconds: u64,
}

/// A running program.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) child: Child,
    stdout: File,
    stderr: File,
    seconds: u64,
}

/// The end of a program.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    /// True if it was ended by the time limit.
    is_late: bool,
}

impl Call {
    /// Adds arguments, which may contain spaces.
    pub(crate) fn with<T: Into<OsString>>(
        mut self,
        arguments: impl IntoIterator<Item = T>,
    ) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Starts the program.
    pub(crate) fn start(&self) -> Result<Running> {
        let limit = match self.file_blocks {
            // Writing more fails as on a full disk, because the signal is ignored.
            Some(blocks) => format!("trap '' XFSZ; ulimit -f {blocks}"),
            None => format!("ulimit -f {FILE_BLOCKS}"),
        };
        let kib = MEMORY_KIB + CORE_KIB * thread::available_parallelism()?.get() as u64;
        let script = format!("{limit}; ulimit -c 0; ulimit -v {kib}; exec \"$0\" \"$@\"");
        let mut input = tempfile::tempfile()?;
        input.write_all(&self.input)?;
        input.rewind()?;
        let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).args(&self.prefix);
        command.arg(&self.program).args(&self.arguments);
        command.env_remove("BURN_DEVICE").env("RUST_BACKTRACE", "0");
        command
            .current_dir(&self.folder)
            .stdin(input)
            .stderr(stderr.try_clone()?);
        command.stdout(match self.output {
            Some(device) => File::options().write(true).open(device)?,
            None => stdout.try_clone()?,
        });
        let child = command.spawn()?;
        Ok(Running {
            child,
            stdout,
            stderr,
            seconds: self.seconds,
        })
    }

    /// Returns the call as a shell line, without its standard input.
    pub(crate) fn line(&self) -> String {
        let words = self.prefix.iter().map(|word| format!("{word:?}"));
        let words = words.chain([format!("{:?}", self.program)]);
        let words = words.chain(self.arguments.iter().map(|word| format!("{word:?}")));
        format!(
            "cd {:?} && {}",
            self.folder,
            words.collect::<Vec<_>>().join(" ")
        )
    }
}

impl Running {
    /// Waits for the end or the time limit.
    pub(crate) fn wait(mut self) -> Result<Ended> {
        let started = Instant::now();
        let mut is_late = false;
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if started.elapsed() > Duration::from_secs(self.seconds) && !is_late {
                is_late = true;
                self.child.kill()?;
            }
            thread::sleep(Duration::from_millis(1));
        };
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        self.stdout.rewind()?;
        self.stdout.read_to_end(&mut stdout)?;
        self.stderr.rewind()?;
        self.stderr.read_to_end(&mut stderr)?;
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        Ok(Ended {
            status,
            stdout,
            stderr,
            is_late,
        })
    }
}

impl Ended {
    pub(crate) fn succeeded(&self) -> bool {
        self.status.success()
    }

    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Checks the claims about every run: no panic, signal or hang, and a failure has an error of a few readable lines.
    pub(crate) fn check(&self) -> Result<()> {
        let (code, stderr) = (self.status.code(), self.stderr.trim());
        let controls = |it: char| it.is_ascii_control() && !"\n\t".contains(it);
        let n_errors = stderr
            .lines()
            .filter(|line| line.starts_with("error: "))
            .count();
        let has_failed = matches!(code, Some(1 | 2));
        let faults = [
            (self.is_late, "a hang"),
            (
                code == Some(101) || stderr.contains("panicked at"),
                "a panic",
            ),
            (self.status.signal().is_some(), "a signal"),
            (
                !matches!(code, Some(0 | 1 | 2 | INTERRUPTED)),
                "an unknown exit code",
            ),
            (stderr.contains(controls), "control characters"),
            (
                code != Some(0) && stderr.is_empty(),
                "no line on standard error",
            ),
            (has_failed && n_errors == 0, "no line with `error: `"),
            (has_failed && n_errors > 1, "several lines with `error: `"),
            (
                has_failed && stderr.lines().count() > 12,
                "more than 12 lines",
            ),
            (
                has_failed && stderr.chars().count() > 12_000,
                "more than 12,000 characters on standard error",
            ),
        ];
        let fault = faults.iter().find(|(is_fault, _)| *is_fault);
        let fault = fault.map_or("", |(_, fault)| *fault);
        ensure!(fault.is_empty(), "{fault}: {}, {stderr:?}", self.status);
        Ok(())
    }

    /// Checks that the program refused.
    pub(crate) fn check_refused(&self, why: &str) -> Result<()> {
        ensure!(!self.succeeded(), "accepted, though {why}");
        Ok(())
    }

    /// Checks that the program succeeded.
    pub(crate) fn check_succeeded(&self, why: &str) -> Result<()> {
        ensure!(self.succeeded(), "refused, though {why}: {}", self.stderr);
        Ok(())
    }

    /// Checks that the program printed this number of lines, if it succeeded.
    pub(crate) fn check_lines(&self, n_lines: usize) -> Result<()> {
        let n_printed = self.stdout.iter().filter(|byte| **byte == b'\n').count();
        let is_right = !self.succeeded() || n_printed == n_lines;
        ensure!(
            is_right,
            "{n_lines} lines of input gave {n_printed} of output"
        );
        Ok(())
    }
}

/// Runs a script for at most a number of seconds, and returns its fault.
fn fault(script: &str, seconds: u64) -> String {
    let call = Call {
        folder: "/".into(),
        prefix: Vec::new(),
        program: "sh".into(),
        arguments: vec!["-c".into(), script.into()],
        input: Vec::new(),
        output: None,
        file_blocks: None,
        seconds,
    };
    let ended = call.start().and_then(Running::wait);
    ended
        .and_then(|it| it.check())
        .map_or_else(|error| error.to_string(), |()| String::new())
}

#[test]
fn faults_of_any_run_are_found() {
    let fail = |stderr: &str, code: u8| fault(&format!("printf '{stderr}' >&2; exit {code}"), 60);
    assert_eq!(fail("backend flex\nerror: no such file\n", 1), "");
    assert!(fail("error: a\n", 101).starts_with("a panic"));
    assert!(fail("thread panicked at a.rs\nerror: a\n", 1).starts_with("a panic"));
    assert!(fail("error: a\n", 7).starts_with("an unknown exit code"));
    assert!(fail("", 1).starts_with("no line"));
    assert!(fail("error: a\nerror: b\n", 1).starts_with("several lines"));
    assert!(fail(&format!("error: a{}", "\n.".repeat(30)), 1).starts_with("more than 12 lines"));
    assert!(fail("error: \\033[2J\n", 1).starts_with("control characters"));
    assert!(fault("kill -SEGV $$", 60).starts_with("a signal"));
    assert!(fault("exec sleep 99", 1).starts_with("a hang"));
    let large = fault("x=$(head -c 4000000000 /dev/zero | tr '\\0' x)", 300);
    assert!(!large.is_empty() && !large.starts_with("a hang"), "{large}");
}
