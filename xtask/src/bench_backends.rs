//! `cargo xtask bench-backends`: one benchmark built for each backend, and all of them side by side.
//!
//! `examples/bench_backend` measures. What it prints goes through [`Figures`]; a backend that cannot be built or
//! run here is a column that says why.

mod build;
mod chart;
mod figures;
mod measure;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::libtorch;
use build::Build;
use figures::Figures;
use measure::Contender;

/// What is compared, how long, and where it is written.
#[derive(Args, Debug)]
pub(crate) struct Flags {
    /// The backends.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "A,B",
        default_value = "flex,ndarray,tch,wgpu,cuda"
    )]
    backends: Vec<Backend>,
    /// The model.
    #[arg(long, default_value = "tiny")]
    preset: Preset,
    /// How often each figure is measured; the programs take turns.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// For how many seconds each time.
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
    seconds: f64,
    /// After how many minutes a backend is stopped, all its turns together; what it measured until then is shown.
    #[arg(long, value_name = "MINUTES", default_value_t = 8.0)]
    limit: f64,
    /// A Python with what docs/bench_peers.txt lists, to put PyTorch and CTranslate2 beside them.
    #[arg(long, value_name = "PYTHON")]
    peers: Option<PathBuf>,
    /// Folder for table.md, results.json and chart.svg. [default: bench-backends in the target folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Writes the figures to this file as well.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A backend, by the name of its cargo feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Backend {
    Flex,
    Ndarray,
    Tch,
    Wgpu,
    Vulkan,
    Metal,
    Cuda,
    Rocm,
}

/// A model whose size is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Preset {
    Tiny,
    /// Table 3 (C), with 256 features.
    #[value(name = "c-d256")]
    D256,
    Base,
    Big,
}

/// Everything that was found out, as it is written.
#[derive(Debug, Serialize)]
struct Results<'a> {
    preset: String,
    machine: String,
    command: String,
    columns: &'a [Figures],
}

/// Measures what the flags ask for, prints the table, and writes the files.
pub(crate) fn run(root: &Path, flags: &Flags) -> Result<()> {
    let target = libtorch::target_folder(root)?;
    let out = flags
        .out
        .clone()
        .unwrap_or_else(|| target.join("bench-backends"));
    fs::create_dir_all(&out).with_context(|| format!("cannot make `{}`", out.display()))?;
    let effort = measure::Effort {
        preset: name(&flags.preset),
        n_rounds: flags.runs,
        seconds: flags.seconds,
        limit: Duration::try_from_secs_f64(60.0 * flags.limit)
            .ok()
            .context("`--limit` must be a number of minutes")?,
    };
    ensure!(
        flags.seconds.is_finite() && flags.seconds > 0.0,
        "`--seconds` must be above 0"
    );

    // What cannot be done is said before the first build, not after the last.
    if let Some(python) = &flags.peers {
        measure::check_peers(root, python)?;
    }
    if let Some(path) = &flags.json {
        write(path, "")?;
    }

    let columns = measure_all(root, &target, &out, flags, &effort);
    let table = table::markdown(&columns);
    let results = Results {
        preset: name(&flags.preset),
        machine: machine(),
        command: std::env::args().skip(1).collect::<Vec<_>>().join(" "),
        columns: &columns,
    };
    println!(
        "\npreset {}, {}\n\n{table}",
        results.preset, results.machine
    );
    let json = serde_json::to_string_pretty(&results)? + "\n";
    let chart = chart::svg(&results.preset, &results.machine, &columns);
    let files = [
        ("table.md", &table),
        ("results.json", &json),
        ("chart.svg", &chart),
    ];
    for (name, text) in files {
        write(&out.join(name), text)?;
    }
    if let Some(path) = &flags.json {
        write(path, &json)?;
    }
    println!(
        "table.md, results.json and chart.svg are in {}",
        out.display()
    );
    let works = |figures: &Figures| figures.logit_difference.is_some();
    ensure!(columns.iter().any(works), "no backend could be measured");
    Ok(())
}

/// Builds all backends, and then measures them and what stands beside them in turns: what a machine does to the
/// speed of one minute, it does to all of them.
fn measure_all(
    root: &Path,
    target: &Path,
    out: &Path,
    flags: &Flags,
    effort: &measure::Effort,
) -> Vec<Figures> {
    let mut contenders = Vec::new();
    for backend in &flags.backends {
        let backend = name(backend);
        eprintln!("==> building {backend}");
        let contender = contender(root, target, &backend, out)
            .unwrap_or_else(|error| Contender::missing(&backend, &format!("{error:#}")));
        if let Some(trouble) = contender.trouble() {
            eprintln!("{backend}: {trouble}");
        }
        contenders.push(contender);
    }
    if let Some(python) = &flags.peers {
        contenders.extend(Contender::peers(root, python));
    }
    for round in 1..=effort.n_rounds {
        for contender in contenders.iter_mut().filter(|it| it.trouble().is_none()) {
            eprintln!("==> round {round}: {}", contender.name());
            contender.take_turn(effort);
            if let Some(trouble) = contender.trouble() {
                eprintln!("{}: {trouble}", contender.name());
            }
        }
    }
    contenders
        .into_iter()
        .map(Contender::into_figures)
        .collect()
}

/// Builds one backend.
fn contender(root: &Path, target: &Path, backend: &str, out: &Path) -> Result<Contender> {
    match build::build(root, target, backend, out)? {
        Build::Made(program) => Contender::ours(program),
        Build::Impossible { why } => Ok(Contender::missing(backend, &why)),
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}

/// Returns what the user types for a value.
fn name(value: &impl ValueEnum) -> String {
    let name = value.to_possible_value();
    name.map_or_else(String::new, |name| name.get_name().to_owned())
}

/// Says what machine this is, as far as it tells.
fn machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or(std::env::consts::ARCH, |(_, model)| model.trim());
    let n_cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    format!("{n_cores} cores of {model}, {}", std::env::consts::OS)
}
