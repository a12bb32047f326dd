//! [`Attack`]: the programs under attack and the generator of cases; [`Case`]: a case in a separate folder.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use tempfile::TempDir;

use super::lab::{Lab, copy};
use super::program::{Call, Ended, Running};

/// The programs under attack.
pub(crate) struct Attack {
    pub(crate) lab: Arc<Lab>,
    /// Folder of the programs.
    programs: PathBuf,
    config: Config,
}

/// One case.
pub(crate) struct Case<'a> {
    attack: &'a Attack,
    pub(crate) lab: &'a Path,
    folder: TempDir,
    /// The calls of programs, as shell lines.
    lines: RefCell<Vec<String>>,
}

impl Attack {
    /// Runs the attacks of a class. A class states its number of cases for a `PROPTEST_CASES` of 256; other values
    /// scale it.
    pub(crate) fn run(class: fn(&Self) -> Result<()>) -> Result<()> {
        let Some(lab) = Lab::shared()? else {
            return Ok(());
        };
        let programs = lab.path().to_owned();
        let config = Config {
            max_shrink_time: 60_000,
            ..Config::default()
        };
        class(&Self {
            lab,
            programs,
            config,
        })
    }

    /// Checks that a class finds the fault of a script, which can show in several ways, separated by `|`. The script
    /// has the path of the real program in `$real`.
    pub(crate) fn fault(class: fn(&Self) -> Result<()>, script: &str, fault: &str) -> Result<()> {
        let Some(lab) = Lab::shared()? else {
            return Ok(());
        };
        let folder = Lab::folder()?;
        for name in ["transformer-infer", "transformer-train"] {
            let (real, path) = (lab.path().join(name), folder.path().join(name));
            fs::write(
                &path,
                format!("#!/bin/sh\nreal={}\n{script}\n", real.display()),
            )?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
        // One failure is enough: it is not shrunk, and its seed is not kept.
        let config = Config {
            max_shrink_iters: 0,
            failure_persistence: None,
            ..Config::default()
        };
        let found = class(&Self {
            lab,
            programs: folder.path().to_owned(),
            config,
        });
        let found = found
            .err()
            .map_or_else(|| "nothing".to_owned(), |error| format!("{error:#}"));
        ensure!(
            fault.split('|').any(|fault| found.contains(fault)),
            "`{fault}` was expected, and found was {found}"
        );
        Ok(())
    }

    /// Checks that an attempt succeeds in every case. The folder of the smallest failure is kept.
    #[track_caller]
    pub(crate) fn check<S: Strategy>(
        &self,
        n_cases: u32,
        cases: S,
        attempt: impl Fn(&Case<'_>, S::Value) -> Result<()>,
    ) -> Result<()> {
        let config = Config {
            cases: (n_cases * self.config.cases).div_ceil(256),
            source_file: Some(Location::caller().file()),
            ..self.config.clone()
        };
        let failed = RefCell::new(None);
        let result = TestRunner::new(config).run(&cases, |drawn| {
            let fail = |error| TestCaseError::fail(format!("{error:#}"));
            let case = Case::new(self).map_err(fail)?;
            attempt(&case, drawn).map_err(|error| {
                let reason = format!("{error:#}\n{}", case.lines.borrow().join("\n"));
                failed.replace(Some(case.folder));
                TestCaseError::fail(reason)
            })
        });
        if self.config.max_shrink_iters > 0 {
            failed.take().map(TempDir::keep);
        }
        result.map_err(|error| anyhow!("{error}"))
    }
}

impl<'a> Case<'a> {
    fn new(attack: &'a Attack) -> Result<Self> {
        let (lab, folder) = (attack.lab.path(), Lab::folder()?);
        Ok(Self {
            attack,
            lab,
            folder,
            lines: RefCell::default(),
        })
    }

    /// Returns a call of `infer` or `train`, with arguments separated by spaces; `LAB` is the folder of the lab.
    pub(crate) fn call(&self, command: &str) -> Call {
        let command = command.replace("LAB", &self.lab.display().to_string());
        let mut words = command.split_whitespace();
        let program = format!("transformer-{}", words.next().unwrap_or_default());
        Call {
            folder: self.folder.path().to_owned(),
            prefix: Vec::new(),
            program: self.attack.programs.join(program),
            arguments: words.map(Into::into).collect(),
            input: Vec::new(),
            output: None,
            file_blocks: None,
            seconds: 30,
        }
    }

    /// Runs a program, and checks the claims about every run.
    pub(crate) fn run(&self, command: &str) -> Result<Ended> {
        self.end(&self.call(command))
    }

    /// Runs a program with a text on standard input, and checks the claims about every run.
    pub(crate) fn run_with(&self, command: &str, input: impl Into<Vec<u8>>) -> Result<Ended> {
        self.end(&Call {
            input: input.into(),
            ..self.call(command)
        })
    }

    /// Makes a call, and checks the claims about every run.
    pub(crate) fn end(&self, call: &Call) -> Result<Ended> {
        let ended = self.start(call)?.wait()?;
        ended.check()?;
        Ok(ended)
    }

    /// Starts a program.
    pub(crate) fn start(&self, call: &Call) -> Result<Running> {
        self.lines.borrow_mut().push(call.line());
        call.start()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<()> {
        fs::write(self.path(name), content).with_context(|| format!("cannot write `{name}`"))
    }

    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>> {
        fs::read(self.path(name)).with_context(|| format!("`{name}` is gone or unreadable"))
    }

    /// Copies files or folders of the lab.
    pub(crate) fn take(&self, names: &[&str]) -> Result<()> {
        names.iter().try_for_each(|name| self.take_as(name, name))
    }

    /// Copies a file or folder of the lab to another name.
    pub(crate) fn take_as(&self, name: &str, own: &str) -> Result<()> {
        copy(&self.lab.join(name), &self.path(own))
    }
}
