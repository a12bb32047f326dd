//! [`parity`]: the tests that a backend must pass on a GPU.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::output::run_and_save;
use crate::bench_backends::{self, Trouble};
use crate::process::cargo;

/// The tests of a package that a backend must pass.
pub(super) struct Tests {
    pub(super) package: &'static str,
    /// The argument by which cargo finds them.
    pub(super) target: &'static str,
    filters: &'static [&'static str],
}

pub(super) const PARITY: [Tests; 2] = [
    Tests {
        package: "transformer-core",
        target: "--test=it",
        // None of these reads a file at run time, which an archive would not have.
        filters: &[
            "goldens",
            "backends",
            "attention",
            "mixed_precision",
            "recomputation",
        ],
    },
    Tests {
        package: "transformer-infer",
        target: "--lib",
        filters: &["scorer"],
    },
];

/// Runs the tests that compare a backend with PyTorch's values and with values computed by hand.
pub(super) fn parity(
    root: &Path,
    programs: Option<&Path>,
    backend: &str,
    log: &Path,
    limit: Duration,
) -> Result<()> {
    let environment = bench_backends::environment(root, backend)?;
    let mut log_file =
        File::create(log).with_context(|| format!("cannot write `{}`", log.display()))?;
    for Tests {
        package,
        target,
        filters,
    } in PARITY
    {
        let program = match programs {
            Some(folder) => folder.join(format!("{package}-tests")).canonicalize()?,
            None => test_program(root, package, target, backend, &environment)?,
        };
        let mut command = Command::new(program);
        command
            .args(filters)
            .current_dir(root)
            .envs(environment.iter().cloned())
            .env("BURN_DEVICE", backend);
        let (trouble, output) = run_and_save(&mut command, &mut log_file, limit)?;
        match trouble {
            Some(Trouble::Failed(status)) => {
                bail!("the tests ended with {status}, see {}", log.display())
            }
            Some(Trouble::Stopped) => bail!(
                "the tests were stopped after {:.0} minutes, see {}",
                limit.as_secs_f64() / 60.0,
                log.display()
            ),
            None => {}
        }
        ensure!(n_passed(&output) > 0, "no test of {package} ran");
    }
    Ok(())
}

/// Builds tests and returns their program. It is run without cargo, so that it can be stopped.
pub(super) fn test_program(
    root: &Path,
    package: &str,
    target: &str,
    backend: &str,
    environment: &[(&'static str, OsString)],
) -> Result<PathBuf> {
    let output = cargo(root)
        .args(["test", "-p", package, "--features", backend, target])
        .args(["--no-run", "--message-format=json-render-diagnostics"])
        .envs(environment.iter().cloned())
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be started")?;
    ensure!(
        output.status.success(),
        "the tests of {package} cannot be built, see above"
    );
    let messages = String::from_utf8_lossy(&output.stdout);
    program_of_tests(&messages).context("cargo does not report the program of the tests")
}

/// Returns the test program that cargo's messages report, one line of JSON each.
fn program_of_tests(messages: &str) -> Option<PathBuf> {
    let values = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut tests = values.filter(|message| message["profile"]["test"] == true);
    tests.find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

/// Counts the tests that passed.
fn n_passed(output: &str) -> u64 {
    let results = output
        .lines()
        .filter_map(|line| line.trim().strip_prefix("test result: ok. "));
    let counts = results.filter_map(|rest| rest.split(' ').next()?.parse::<u64>().ok());
    counts.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_program_is_found_among_everything_that_cargo_built() {
        let messages = r#"{"reason":"compiler-artifact","profile":{"test":false},"executable":"/t/program"}
                          {"reason":"compiler-artifact","profile":{"test":true},"executable":"/t/it-1"}
                          {"reason":"build-finished","success":true}"#;
        assert_eq!(program_of_tests(messages), Some(PathBuf::from("/t/it-1")));
        assert_eq!(program_of_tests(""), None);
    }

    #[test]
    fn only_tests_that_passed_count() {
        let output = "\nrunning 2 tests\ntest result: ok. 2 passed; 0 failed; 0 ignored\n\
                      test result: FAILED. 5 passed; 1 failed\n";
        assert_eq!(n_passed(output), 2);
        assert_eq!(n_passed("test result: ok. 0 passed; 0 failed\n"), 0);
    }
}
