//! `cargo xtask gpu`: all tests and benchmarks that need a GPU, with their results in one folder.
//!
//! The tests of transformer-core compare each backend with PyTorch's values; then the backends are benchmarked, with
//! PyTorch beside them. After a failure, the other parts still run. `--pack` builds the programs here, and writes an
//! archive with which a machine without Rust does the same.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::builder::ArgPredicate;
use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::bench_backends::{self, Peers, Plan, Preset, faults, name, troubles};
use crate::process::{Environment, call, cargo, copy, empty, run_until, target_folder, write};

/// The parts that are run, and the folder of the results.
#[derive(Args, Debug)]
#[command(mut_arg("backends", |it| it.default_value("cuda,wgpu")
    .default_value_if("pack", ArgPredicate::IsPresent, "vulkan")))]
#[command(mut_arg("seconds", |it| it.default_value("3")))]
#[command(mut_arg("limit", |it| it.default_value("30")
    .help("Minutes after which a backend is stopped, for its tests and for each model: kernels are tuned at first")))]
#[command(mut_arg("out", |it| it.help("Folder for everything. [default: gpu in the target folder]")))]
pub(crate) struct Flags {
    #[command(flatten)]
    plan: Plan,
    /// The models; varied updates are made with the first.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "A,B",
        default_value = "tiny,base"
    )]
    presets: Vec<Preset>,
    /// Number of updates of varying shapes, which show whether memory grows.
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..))]
    varied: u64,
    /// The parts that are run; each can be run alone.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "A,B",
        default_value = "parity,benchmark,varied"
    )]
    parts: Vec<Part>,
    /// Runs nothing, and packs programs for the backends into FILE, a .tar.xz. Unpack it on a machine with a driver,
    /// and call `./run`, which takes the other flags.
    #[arg(long, value_name = "FILE")]
    pack: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Tests that compare with PyTorch's values.
    Parity,
    /// Speed of training and translation.
    Benchmark,
    /// Memory and kernels over updates of varying shapes.
    Varied,
}

/// The packages with tests that a backend must pass, the arguments by which cargo finds these, and their names.
///
/// None of these reads a file at run time, which an archive would not have.
const PARITY: [(&str, &str, &str); 2] = [
    (
        "transformer-core",
        "--test=it",
        "goldens backends attention mixed_precision recomputation",
    ),
    ("transformer-translate", "--lib", "scorer"),
];

/// Starts the chore of the archive, which takes the folder above `xtask` for the repository.
const RUN: &str = r#"#!/bin/sh
cd "$(dirname "$0")" || exit 1
case " $* " in
    *" --backends"*) ;;
    *) set -- --backends BACKENDS "$@" ;;
esac
CARGO_MANIFEST_DIR="$PWD/xtask" exec programs/xtask gpu --programs programs --out results "$@"
"#;

/// Runs all parts one after the other, and fails if one of them failed.
pub(crate) fn run(root: &Path, flags: &Flags) -> Result<()> {
    let plan = &flags.plan;
    if let Some(archive) = &flags.pack {
        let backends: Vec<String> = plan.backends.iter().map(name).collect();
        return pack(root, &backends.join(","), archive);
    }
    let out = plan.folder(root, "gpu")?;
    // Report what is impossible before the first build.
    if let Some(python) = &plan.peers {
        Peers::check(root, python)?;
    }

    // An interrupted run leaves a summary of the parts that it finished.
    let path = out.join("summary.md");
    let mut parts: Vec<(String, Vec<String>)> = Vec::new();
    let mut run_part = |part: String, run: &dyn Fn() -> Result<Vec<String>>| {
        println!("==> {part}");
        let failures = run().unwrap_or_else(|error| vec![format!("{error:#}")]);
        parts.push((part, failures));
        write(&path, &summary(&parts))
    };
    let has = |part| flags.parts.contains(&part);
    for backend in plan.backends.iter().filter(|_| has(Part::Parity)) {
        let backend = name(backend);
        let log = out.join(format!("parity-{backend}.txt"));
        run_part(format!("parity tests on {backend}"), &|| {
            parity(root, plan, &backend, &log)?;
            Ok(Vec::new())
        })?;
    }
    for (index, preset) in flags.presets.iter().enumerate() {
        let varied = (index == 0 && has(Part::Varied)).then_some(flags.varied);
        if varied.is_none() && !has(Part::Benchmark) {
            continue;
        }
        let flags = bench_backends::Flags {
            plan: Plan {
                runs: if has(Part::Benchmark) { plan.runs } else { 0 },
                out: Some(out.join(name(preset))),
                ..plan.clone()
            },
            preset: *preset,
            varied,
            json: None,
            draw: None,
        };
        run_part(format!("benchmark, preset {}", name(preset)), &|| {
            let columns = bench_backends::compare(root, &flags)?;
            Ok([faults(&columns), troubles(&columns)].concat())
        })?;
    }
    println!("\n{}\neverything is in {}", summary(&parts), out.display());
    let failed = parts.iter().filter(|(_, failures)| !failures.is_empty());
    let (n_failed, n) = (failed.count(), parts.len());
    ensure!(n_failed == 0, "{n_failed} of {n} parts failed");
    Ok(())
}

/// Lists the parts, each with its failures.
fn summary(parts: &[(String, Vec<String>)]) -> String {
    let lines = parts.iter().map(|(part, failures)| {
        let passed = failures.is_empty();
        let verdict = if passed { "passed" } else { "FAILED" };
        let failures: String = failures.iter().map(|it| format!("  - {it}\n")).collect();
        format!("- {verdict}: {part}\n{failures}")
    });
    lines.collect()
}

/// Runs the tests that compare a backend with PyTorch's values and with values computed by hand.
fn parity(root: &Path, plan: &Plan, backend: &str, log: &Path) -> Result<()> {
    let environment = bench_backends::environment(root, backend)?;
    let mut options = File::options();
    let options = options.read(true).write(true).create(true).truncate(true);
    let log_name = log.display();
    let mut log = options
        .open(log)
        .with_context(|| format!("cannot write `{log_name}`"))?;
    println!("their output is in {log_name}");
    for (package, target, names) in PARITY {
        let program = match &plan.programs {
            Some(folder) => folder.join(format!("{package}-tests")).canonicalize()?,
            None => test_program(root, package, target, backend, &environment)?,
        };
        let mut tests = Command::new(program);
        tests.args(names.split(' ')).current_dir(root);
        tests
            .envs(environment.iter().cloned())
            .env("BURN_DEVICE", backend);
        let (status, printed) = run_until(&mut tests, plan.limit, &mut log)?;
        let minutes = plan.limit.as_secs_f64() / 60.0;
        let status = status.with_context(|| {
            format!("the tests were stopped after {minutes:.0} minutes, see {log_name}")
        })?;
        ensure!(
            status.success(),
            "the tests ended with {status}, see {log_name}"
        );
        ensure!(n_passed(&printed) > 0, "no test of {package} ran");
    }
    Ok(())
}

/// Builds tests and returns their program. It is run without cargo, so that it can be stopped.
fn test_program(
    root: &Path,
    package: &str,
    target: &str,
    backends: &str,
    environment: &Environment,
) -> Result<PathBuf> {
    let arguments = format!("test -p {package} --features {backends} {target} --no-run");
    let mut build = cargo(root, &arguments);
    build
        .arg("--message-format=json-render-diagnostics")
        .envs(environment.iter().cloned())
        .stderr(Stdio::inherit());
    let built = build.output().context("cargo cannot be started")?;
    ensure!(
        built.status.success(),
        "the tests of {package} cannot be built, see above"
    );
    let program = program_of_tests(&String::from_utf8_lossy(&built.stdout));
    program.context("cargo does not report the program of the tests")
}

/// Returns the test program that cargo's messages report, one line of JSON each.
fn program_of_tests(messages: &str) -> Option<PathBuf> {
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let mut tests = messages.filter(|message: &Value| message["profile"]["test"] == true);
    tests.find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

fn n_passed(output: &str) -> u64 {
    let results = output
        .lines()
        .filter_map(|line| line.trim().strip_prefix("test result: ok. "));
    let counts = results.filter_map(|rest| rest.split(' ').next()?.parse::<u64>().ok());
    counts.sum()
}

/// Builds the programs for these backends, and packs them with what they read.
fn pack(root: &Path, backends: &str, archive: &Path) -> Result<()> {
    let target = target_folder(root)?;
    let folder = target.join("gpu-archive");
    empty(&folder)?;
    fs::create_dir(folder.join("programs"))?;
    let build = format!("build -p examples --example bench_backend --features {backends}");
    call(&mut cargo(root, &build))?;
    call(&mut cargo(root, "build -p xtask"))?;
    let mut programs = vec![
        (
            "bench_backend".to_owned(),
            target.join("debug/examples/bench_backend"),
        ),
        ("xtask".to_owned(), target.join("debug/xtask")),
    ];
    for (package, tests, _) in PARITY {
        let built = test_program(root, package, tests, backends, &Vec::new())?;
        programs.push((format!("{package}-tests"), built));
    }
    for (name, built) in programs {
        let stripped = folder.join("programs").join(name);
        call(Command::new("strip").arg("-o").args([&stripped, &built]))?;
    }
    fs::create_dir(folder.join("benchmarks"))?;
    let measured = ["bench_peers.py", "decoding_speed.py", "multi30k_pytorch.py"];
    copy(
        &root.join("benchmarks"),
        &folder.join("benchmarks"),
        &measured,
    )?;
    let run = folder.join("run");
    write(&run, &RUN.replace("BACKENDS", backends))?;
    call(Command::new("chmod").arg("+x").arg(&run))?;
    // The programs have most of their code in common: a dictionary that spans one of them halves the archive.
    let mut tar = Command::new("tar");
    tar.arg("-cf").arg(archive).arg("-C").arg(&folder).arg(".");
    call(tar.arg("--use-compress-program=xz -T1 --lzma2=preset=4,dict=128MiB"))?;
    let mib = fs::metadata(archive)?.len() as f64 / f64::from(1 << 20);
    println!("packed {mib:.1} MiB into {}", archive.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(flags: &[&str]) -> Flags {
        let command = Flags::augment_args(clap::Command::new("gpu").no_binary_name(true));
        let matches = command.get_matches_from(flags);
        clap::FromArgMatches::from_arg_matches(&matches).expect("the flags are known")
    }

    #[test]
    fn the_default_backends_are_those_of_a_gpu_or_of_an_archive() {
        let backends =
            |line: &[&str]| -> Vec<String> { flags(line).plan.backends.iter().map(name).collect() };
        assert_eq!(backends(&[]), ["cuda", "wgpu"]);
        assert_eq!(backends(&["--pack", "a.tar.xz"]), ["vulkan"]);
        assert_eq!(
            backends(&["--pack", "a.tar.xz", "--backends", "flex"]),
            ["flex"]
        );
    }

    #[test]
    fn measurements_are_longer_than_those_of_bench_backends() {
        let plan = flags(&[]).plan;
        assert_eq!(
            (plan.runs, plan.seconds, plan.limit.as_secs()),
            (3, 3.0, 1800)
        );
    }

    #[test]
    fn the_summary_lists_failures_with_reasons() {
        let parts = [
            ("parity tests on cuda".to_owned(), Vec::new()),
            (
                "benchmark, preset tiny".to_owned(),
                vec!["wgpu: no driver".to_owned()],
            ),
        ];
        let expected = "- passed: parity tests on cuda\n- FAILED: benchmark, preset tiny\n  - wgpu: no driver\n";
        assert_eq!(summary(&parts), expected);
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
}
