//! `cargo xtask gpu`: all tests and benchmarks that need a GPU, with their results in one folder.
//!
//! The tests of transformer-core compare each backend with PyTorch's values; then the backends are benchmarked, with
//! PyTorch beside them. After a failure, the other parts still run. `--pack` builds the programs here, and writes an
//! archive with which a machine without Rust does the same.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::builder::ArgPredicate;
use clap::{Args, ValueEnum};

use super::pack::pack;
use super::parity::parity;
use crate::bench_backends::{self, Backend, Preset, name};
use crate::process::target_folder;

/// What is run, and where the results are written.
#[derive(Args, Debug)]
pub(crate) struct Flags {
    /// The backends; `flex` is a trial on a machine without a GPU.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "A,B",
        default_value = "cuda,wgpu",
        default_value_if("pack", ArgPredicate::IsPresent, "vulkan")
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
    /// The parts that are run; each can be run alone.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "A,B",
        default_value = "parity,benchmark,varied"
    )]
    parts: Vec<PartKind>,
    /// Runs nothing, and packs programs for the backends into FILE, a .tar.xz. Unpack it on a machine with a driver,
    /// and call `./run`, which takes the other flags.
    #[arg(long, value_name = "FILE")]
    pack: Option<PathBuf>,
    /// The programs of such an archive; `./run` gives it.
    #[arg(long, value_name = "DIR", hide = true)]
    programs: Option<PathBuf>,
}

/// A part of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PartKind {
    /// Tests that compare with PyTorch's values.
    Parity,
    /// Speed of training and translation.
    Benchmark,
    /// Memory and kernels over updates of varying shapes.
    Varied,
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
    if let Some(archive) = &flags.pack {
        return pack(root, &flags.backends, archive);
    }
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
    let is_parity = flags.parts.contains(&PartKind::Parity);
    for backend in flags.backends.iter().filter(|_| is_parity) {
        let backend = name(backend);
        println!("==> parity tests on {backend}");
        let log = out.join(format!("parity-{backend}.txt"));
        parts.push(Part {
            name: format!("parity tests on {backend}"),
            failures: messages(parity(
                root,
                flags.programs.as_deref(),
                &backend,
                &log,
                limit,
            )),
        });
        save(&parts)?;
    }
    for (index, preset) in flags.presets.iter().enumerate() {
        if !flags.measures(index) {
            continue;
        }
        println!("==> benchmark, preset {}", name(preset));
        parts.push(Part {
            name: format!("benchmark, preset {}", name(preset)),
            failures: benchmark(root, flags, *preset, index, &out),
        });
        save(&parts)?;
    }
    let summary = summary(&parts);
    println!("\n{summary}\neverything is in {}", out.display());
    let n_failed = parts.iter().filter(|it| !it.failures.is_empty()).count();
    ensure!(n_failed == 0, "{n_failed} of {} parts failed", parts.len());
    Ok(())
}

impl Flags {
    /// Returns whether something is measured with a preset, of which the first makes varied updates.
    fn measures(&self, preset: usize) -> bool {
        self.parts.contains(&PartKind::Benchmark) || (preset == 0 && self.varies())
    }

    fn varies(&self) -> bool {
        self.parts.contains(&PartKind::Varied)
    }
}

fn messages(result: Result<()>) -> Vec<String> {
    let message = |error| format!("{error:#}");
    result.err().map(message).into_iter().collect()
}

/// Compares the backends on one model, and returns what went wrong.
fn benchmark(root: &Path, flags: &Flags, preset: Preset, index: usize, out: &Path) -> Vec<String> {
    let is_measured = flags.parts.contains(&PartKind::Benchmark);
    let flags = bench_backends::Flags {
        backends: flags.backends.clone(),
        preset,
        runs: if is_measured { flags.runs } else { 0 },
        seconds: flags.seconds,
        limit: flags.limit,
        peers: flags.peers.clone(),
        varied: (index == 0 && flags.varies()).then_some(flags.varied),
        out: Some(out.join(name(&preset))),
        json: None,
        draw: None,
        programs: flags.programs.clone(),
    };
    match bench_backends::compare(root, &flags) {
        Ok(outcome) => [outcome.faults, outcome.troubles].concat(),
        Err(error) => vec![format!("{error:#}")],
    }
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
