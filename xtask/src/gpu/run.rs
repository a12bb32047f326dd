//! `cargo xtask gpu`: all tests and benchmarks that need a GPU, with their results in one folder.
//!
//! The tests of transformer-core compare each backend with PyTorch's values; then the backends are benchmarked, with
//! PyTorch beside them. After a failure, the other parts still run.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::Value;

use crate::bench_backends::{self, Backend, Preset, Trouble, name};
use crate::process::{cargo, target_folder};

/// What is run, and where the results are written.
#[derive(Args, Debug)]
pub(crate) struct Flags {
    /// The backends; `flex` is a trial on a machine without a GPU.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "A,B",
        default_value = "cuda,wgpu"
    )]
    backends: Vec<Backend>,
    /// The models; varied updates are made with the first.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "A,B",
        default_value = "tiny,base"
    )]
    presets: Vec<Preset>,
    /// How many times each figure is measured.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Seconds of each measurement.
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
    seconds: f64,
    /// Minutes after which a backend is stopped, for its tests and for each model: kernels are tuned at first.
    #[arg(long, value_name = "MINUTES", default_value_t = 30.0)]
    limit: f64,
    /// Number of updates of varying shapes, which show whether memory grows.
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..))]
    varied: u64,
    /// A Python with the packages of benchmarks/bench_peers.txt, whose torch sees the GPU, to measure PyTorch and
    /// CTranslate2 too.
    #[arg(long, value_name = "PYTHON")]
    peers: Option<PathBuf>,
    /// Folder for everything. [default: gpu in the target folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The result of one part of the work.
#[derive(Debug)]
struct Part {
    name: String,
    /// Empty if the part passed.
    failures: Vec<String>,
}

/// Runs all parts one after the other, and fails if one of them failed.
pub(crate) fn run(root: &Path, flags: &Flags) -> Result<()> {
    let out = match &flags.out {
        Some(folder) => folder.clone(),
        None => target_folder(root)?.join("gpu"),
    };
    fs::create_dir_all(&out).with_context(|| format!("cannot make `{}`", out.display()))?;
    // Report what is impossible before the first build.
    let limit = bench_backends::minutes(flags.limit)?;
    if let Some(python) = &flags.peers {
        bench_backends::check_peers(root, python)?;
    }
    let summary_path = out.join("summary.md");
    // An interrupted run leaves a summary of the parts that it finished.
    let save = |parts: &[Part]| {
        fs::write(&summary_path, summary(parts))
            .with_context(|| format!("cannot write `{}`", summary_path.display()))
    };
    let mut parts = Vec::new();
    save(&parts)?;
    for backend in &flags.backends {
        let backend = name(backend);
        println!("==> parity tests on {backend}");
        let log = out.join(format!("parity-{backend}.txt"));
        parts.push(Part {
            name: format!("parity tests on {backend}"),
            failures: messages(parity(root, &backend, &log, limit)),
        });
        save(&parts)?;
    }
    for (index, preset) in flags.presets.iter().enumerate() {
        println!("==> benchmark, preset {}", name(preset));
        parts.push(Part {
            name: format!("benchmark, preset {}", name(preset)),
            failures: benchmark(root, flags, *preset, index == 0, &out),
        });
        save(&parts)?;
    }
    let summary = summary(&parts);
    println!("\n{summary}\neverything is in {}", out.display());
    let n_failed = parts.iter().filter(|it| !it.failures.is_empty()).count();
    ensure!(n_failed == 0, "{n_failed} of {} parts failed", parts.len());
    Ok(())
}

fn messages(result: Result<()>) -> Vec<String> {
    let message = |error| format!("{error:#}");
    result.err().map(message).into_iter().collect()
}

/// Runs the tests that compare a backend with PyTorch's values and with values computed by hand.
fn parity(root: &Path, backend: &str, log: &Path, limit: Duration) -> Result<()> {
    let environment = bench_backends::environment(root, backend)?;
    let mut log_file =
        File::create(log).with_context(|| format!("cannot write `{}`", log.display()))?;
    let core = [
        "goldens",
        "backends",
        "attention",
        "import",
        "mixed_precision",
        "recomputation",
    ];
    for (package, target, filters) in [
        ("transformer-core", "--test=it", &core[..]),
        ("transformer-infer", "--lib", &["scorer"]),
    ] {
        let program = test_program(root, package, target, backend, &environment)?;
        let mut command = Command::new(program);
        command
            .args(filters)
            .current_dir(root.join(package))
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
fn test_program(
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

/// Compares the backends on one model, and returns what went wrong.
fn benchmark(root: &Path, flags: &Flags, preset: Preset, varies: bool, out: &Path) -> Vec<String> {
    let flags = bench_backends::Flags {
        backends: flags.backends.clone(),
        preset,
        runs: flags.runs,
        seconds: flags.seconds,
        limit: flags.limit,
        peers: flags.peers.clone(),
        varied: varies.then_some(flags.varied),
        out: Some(out.join(name(&preset))),
        json: None,
        draw: None,
    };
    match bench_backends::compare(root, &flags) {
        Ok(outcome) => [outcome.faults, outcome.troubles].concat(),
        Err(error) => vec![format!("{error:#}")],
    }
}

/// Runs a program until it ends or `limit` is over, and copies its output to the terminal and to a file; returns
/// what went wrong, and the standard output.
fn run_and_save(
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

/// Counts the tests that passed.
fn n_passed(output: &str) -> u64 {
    let results = output
        .lines()
        .filter_map(|line| line.trim().strip_prefix("test result: ok. "));
    let counts = results.filter_map(|rest| rest.split(' ').next()?.parse::<u64>().ok());
    counts.sum()
}

fn summary(parts: &[Part]) -> String {
    let lines = parts.iter().flat_map(|part| {
        let verdict = if part.failures.is_empty() {
            "passed"
        } else {
            "FAILED"
        };
        let head = format!("- {verdict}: {}\n", part.name);
        let failures = part.failures.iter().map(|it| format!("  - {it}\n"));
        [head].into_iter().chain(failures)
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a line of shell; returns what went wrong, its output, and the content of the file.
    fn shell(name: &str, line: &str, limit: Duration) -> (Option<Trouble>, String, String) {
        let name = format!("xtask-gpu-{name}-{}.txt", std::process::id());
        let log = std::env::temp_dir().join(name);
        let mut file = File::create(&log).expect("the system has a temporary folder");
        let mut command = Command::new("sh");
        let run = run_and_save(command.args(["-c", line]), &mut file, limit);
        let (trouble, output) = run.expect("there is a shell");
        let kept = fs::read_to_string(&log).expect("it was written");
        fs::remove_file(&log).expect("the file is ours");
        (trouble, output, kept)
    }

    #[test]
    fn the_output_and_the_exit_status_of_a_program_are_returned() {
        let line = "echo passed; echo oh >&2; exit 3";
        let (trouble, output, kept) = shell("end", line, Duration::from_secs(86400));
        let Some(Trouble::Failed(status)) = trouble else {
            panic!("a failure is expected: {trouble:?}");
        };
        assert_eq!((status.code(), output.as_str()), (Some(3), "passed\n"));
        assert!(kept.contains("passed\n") && kept.contains("oh\n"), "{kept}");
    }

    #[test]
    fn a_program_that_exceeds_the_limit_is_stopped_and_its_output_is_returned() {
        let line = "echo begun; exec sleep 600";
        let (trouble, output, kept) = shell("limit", line, Duration::from_secs(2));
        assert!(matches!(trouble, Some(Trouble::Stopped)), "{trouble:?}");
        assert_eq!((output.as_str(), kept.as_str()), ("begun\n", "begun\n"));
    }

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

    #[test]
    fn the_summary_lists_failures_with_reasons() {
        let parts = [
            Part {
                name: "parity tests on cuda".to_owned(),
                failures: Vec::new(),
            },
            Part {
                name: "benchmark, preset tiny".to_owned(),
                failures: vec!["wgpu: no driver".to_owned()],
            },
        ];
        let expected = "- passed: parity tests on cuda\n- FAILED: benchmark, preset tiny\n  - wgpu: no driver\n";
        assert_eq!(summary(&parts), expected);
    }
}
