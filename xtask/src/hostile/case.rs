//! [`Case`]: one attempt, with a folder and random numbers of its own; [`Class`]: attempts of one kind.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::call::{Call, Ended};
use super::lab::Lab;
use super::random::Random;

/// Attempts of one kind.
pub(super) struct Class {
    pub(super) name: &'static str,
    /// What it attacks, for the help.
    pub(super) about: &'static str,
    /// Number of attempts of the short form.
    pub(super) n_short: u64,
    /// Number of attempts of the long form.
    pub(super) n_long: fn(&Lab) -> Result<u64>,
    pub(super) attempt: fn(&mut Case<'_>) -> Result<()>,
}

/// One attempt.
pub(super) struct Case<'a> {
    pub(super) lab: &'a Lab,
    /// A folder of its own, empty at first.
    pub(super) folder: PathBuf,
    pub(super) random: Random,
    /// Its number within the class, from 0.
    pub(super) index: u64,
    /// What was run, as lines for a shell.
    pub(super) lines: Vec<String>,
    pub(super) runs: Runs,
}

/// Numbers of runs of the programs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Runs {
    pub(super) n: u64,
    /// Those that ended with an error.
    pub(super) n_refused: u64,
    /// Those that a signal of the harness has ended.
    pub(super) n_killed: u64,
}

/// Why an attempt was not made. It is not a fault.
#[derive(Debug)]
pub(super) struct Skipped(pub(super) String);

impl std::fmt::Display for Skipped {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Skipped {}

impl Case<'_> {
    /// Returns a call of transformer-infer in the folder of the attempt; spaces divide the arguments, and `LAB` is
    /// the folder of the lab.
    pub(super) fn infer(&self, arguments: &str) -> Call {
        self.call(&self.lab.infer, arguments)
    }

    /// Returns a call of transformer-train, likewise.
    pub(super) fn train(&self, arguments: &str) -> Call {
        self.call(&self.lab.train, arguments)
    }

    fn call(&self, program: &std::path::Path, arguments: &str) -> Call {
        let lab = self.lab.folder.display().to_string();
        let arguments = arguments.replace("LAB", &lab);
        self.lab.call(&self.folder, program, &arguments)
    }

    /// Runs a program, and checks what holds for every run.
    pub(super) fn run(&mut self, call: &Call) -> Result<Ended> {
        self.lines.push(call.line());
        let ended = call.run()?;
        self.runs.n += 1;
        self.runs.n_refused += u64::from(!ended.succeeded());
        ended.check()?;
        Ok(ended)
    }

    /// Runs transformer-infer.
    pub(super) fn run_infer(&mut self, arguments: &str) -> Result<Ended> {
        let call = self.infer(arguments);
        self.run(&call)
    }

    /// Runs transformer-train.
    pub(super) fn run_train(&mut self, arguments: &str) -> Result<Ended> {
        let call = self.train(arguments);
        self.run(&call)
    }

    /// Runs a program with bytes on standard input.
    pub(super) fn run_with_input(&mut self, mut call: Call, input: &[u8]) -> Result<Ended> {
        self.write("stdin", input)?;
        call.input = Some(self.path("stdin"));
        self.run(&call)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(super) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<()> {
        let path = self.path(name);
        fs::write(&path, content).with_context(|| format!("cannot write `{}`", path.display()))
    }

    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.path(name);
        fs::read(&path).with_context(|| format!("`{}` is gone or unreadable", path.display()))
    }

    /// Copies a file or folder of the lab into the folder of the attempt.
    pub(super) fn take(&self, name: &str) -> Result<()> {
        self.lab.copy(name, &self.folder)
    }
}

/// Adds arguments that may contain spaces.
pub(super) fn with_arguments<T: Into<OsString>>(
    mut call: Call,
    arguments: impl IntoIterator<Item = T>,
) -> Call {
    call.arguments.extend(arguments.into_iter().map(Into::into));
    call
}
