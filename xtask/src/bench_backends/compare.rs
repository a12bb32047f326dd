//! [`compare`]: builds, measures and writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::figures::{Figures, Kind};
use super::measure::Contender;
use super::peers::Peers;
use super::{build, chart, files, measure, redraw, table, verdict};
use crate::process::target_folder;

/// What is compared, for how long, and where the results are written.
#[derive(Args, Debug)]
pub(crate) struct Flags {
    /// The backends.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "A,B",
        default_value = "flex,ndarray,tch,wgpu,cuda"
    )]
    pub(crate) backends: Vec<Backend>,
    /// The model.
    #[arg(long, default_value = "tiny")]
    pub(crate) preset: Preset,
    /// How many times each figure is measured; the programs take turns.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
    /// Seconds of each measurement.
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    pub(crate) seconds: f64,
    /// Minutes after which a backend is stopped: all its turns together, and separately its varied updates. The figures
    /// until then are shown.
    #[arg(long, value_name = "MINUTES", default_value_t = 8.0)]
    pub(crate) limit: f64,
    /// A Python with the packages of benchmarks/bench_peers.txt, to measure PyTorch and CTranslate2 too.
    #[arg(long, value_name = "PYTHON")]
    pub(crate) peers: Option<PathBuf>,
    /// Makes N updates of varying shapes with each backend, and shows their memory.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) varied: Option<u64>,
    /// Folder for table.md, results.json and chart.svg; until then so-far.json is there. [default: bench-backends in the
    /// target folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Writes the figures to this file as well.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Measures nothing, and draws the figures of an earlier comparison again: NAME.json as NAME.svg beside it.
    #[arg(long, value_name = "FILE")]
    pub(crate) draw: Option<PathBuf>,
    /// A folder with the benchmark of `cargo xtask gpu --pack`, which is run instead of a new build.
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) programs: Option<PathBuf>,
}

/// A backend, by the name of its cargo feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backend {
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
pub(crate) enum Preset {
    Tiny,
    /// Table 3 (C), with 256 features.
    #[value(name = "c-d256")]
    D256,
    Base,
    Big,
}

/// The content of results.json.
#[derive(Debug, Serialize)]
struct Results<'a> {
    preset: String,
    machine: String,
    command: String,
    columns: &'a [Figures],
}

/// The result of a comparison, apart from its files.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Wrong results of backends.
    pub(crate) faults: Vec<String>,
    /// What could not be measured, and why.
    pub(crate) troubles: Vec<String>,
    /// Whether any backend was measured.
    pub(crate) is_any_measured: bool,
}

/// Compares the backends, and fails if the results of one are wrong.
pub(crate) fn run(root: &Path, flags: &Flags) -> Result<()> {
    if let Some(path) = &flags.draw {
        return redraw::redraw(path);
    }
    let outcome = compare(root, flags)?;
    ensure!(
        outcome.faults.is_empty(),
        "some results are wrong: {}",
        outcome.faults.join("; ")
    );
    ensure!(outcome.is_any_measured, "no backend could be measured");
    Ok(())
}

/// Checks that a Python can measure PyTorch beside the backends.
pub(crate) fn check_peers(root: &Path, python: &Path) -> Result<()> {
    Peers::check(root, python).map(drop)
}

/// Compares the backends, prints the table, and writes the files.
pub(crate) fn compare(root: &Path, flags: &Flags) -> Result<Outcome> {
    let out = match &flags.out {
        Some(folder) => folder.clone(),
        None => target_folder(root)?.join("bench-backends"),
    };
    fs::create_dir_all(&out).with_context(|| format!("cannot make `{}`", out.display()))?;
    let plan = measure::Plan {
        preset: name(&flags.preset),
        n_rounds: flags.runs,
        seconds: flags.seconds,
        limit: minutes(flags.limit)?,
    };
    ensure!(
        flags.seconds.is_finite() && flags.seconds > 0.0,
        "`--seconds` must be above 0"
    );

    // Report what is impossible before the first build, not after the last.
    let peers = flags
        .peers
        .as_ref()
        .map(|python| Peers::check(root, python))
        .transpose()?;
    if let Some(path) = &flags.json {
        files::check(path)?;
    }

    let mut contenders = build_all(root, &out, flags);
    let n_ours = contenders.len();
    if let Some(peers) = &peers {
        let works = contenders.iter().filter(|it| it.trouble().is_none());
        // Whether wgpu runs on a GPU is known only after its first turn; the peers could use only CUDA.
        let has_gpu = build::answers("nvidia-smi");
        let kind = |it: &Contender| if has_gpu { it.kind() } else { Kind::Cpu };
        let kinds: Vec<_> = works.map(kind).collect();
        contenders.extend(peers.contenders(root, &kinds));
    }
    // An interrupted comparison leaves the figures so far, and the files of the one before.
    let so_far = out.join("so-far.json");
    let save = |contenders: &[Contender]| {
        let written =
            json(flags, &columns(contenders)).and_then(|text| files::replace(&so_far, &text));
        if let Err(error) = written {
            eprintln!("{error:#}");
        }
    };
    measure_all(&mut contenders, &plan, save);
    if let Some(n_updates) = flags.varied {
        vary_all(&mut contenders, n_ours, &plan, n_updates, save);
    }
    let columns = columns(&contenders);
    write_all(&out, flags, &columns)?;
    let _ = fs::remove_file(so_far);
    let trouble = |it: &Figures| Some(format!("{}: {}", it.backend, it.trouble.as_ref()?));
    Ok(Outcome {
        faults: verdict::faults(&columns),
        troubles: columns.iter().filter_map(trouble).collect(),
        is_any_measured: columns.iter().any(|it| it.logits.is_some()),
    })
}

fn columns(contenders: &[Contender]) -> Vec<Figures> {
    contenders.iter().map(|it| it.figures().clone()).collect()
}

/// Returns the content of results.json.
fn json(flags: &Flags, columns: &[Figures]) -> Result<String> {
    let results = Results {
        preset: name(&flags.preset),
        machine: machine(),
        command: std::env::args().skip(1).collect::<Vec<_>>().join(" "),
        columns,
    };
    Ok(serde_json::to_string_pretty(&results)? + "\n")
}

/// Prints the table and writes all files.
fn write_all(out: &Path, flags: &Flags, columns: &[Figures]) -> Result<()> {
    let (preset, machine) = (name(&flags.preset), machine());
    let table = table::markdown(columns);
    println!("\npreset {preset}, {machine}\n\n{table}");
    let json = json(flags, columns)?;
    let chart = chart::svg(&preset, &machine, columns);
    let texts = [
        ("table.md", &table),
        ("results.json", &json),
        ("chart.svg", &chart),
    ];
    for (name, text) in texts {
        files::replace(&out.join(name), text)?;
    }
    if let Some(path) = &flags.json {
        files::replace(path, &json)?;
    }
    println!(
        "table.md, results.json and chart.svg are in {}",
        out.display()
    );
    Ok(())
}

fn build_all(root: &Path, out: &Path, flags: &Flags) -> Vec<Contender> {
    let built = flags.backends.iter().map(|backend| {
        let backend = name(backend);
        let program = match &flags.programs {
            Some(folder) => build::packed(folder, &backend),
            None => {
                eprintln!("==> building {backend}");
                build::build(root, &backend, out)
            }
        };
        let contender = program
            .and_then(Contender::ours)
            .unwrap_or_else(|error| Contender::missing(&backend, &format!("{error:#}")));
        report_trouble(&contender);
        contender
    });
    built.collect()
}

/// Measures all in turns, so that a slow minute of the machine affects all of them.
fn measure_all(contenders: &mut [Contender], plan: &measure::Plan, save: impl Fn(&[Contender])) {
    for round in 1..=plan.n_rounds {
        for index in 0..contenders.len() {
            let contender = &mut contenders[index];
            if contender.trouble().is_some() {
                continue;
            }
            eprintln!("==> round {round}: {}", contender.name());
            contender.take_turn(plan);
            report_trouble(contender);
            save(contenders);
        }
    }
}

/// Makes updates of varying shapes with all backends that were built, even those that were too slow for all rounds.
fn vary_all(
    contenders: &mut [Contender],
    n_ours: usize,
    plan: &measure::Plan,
    n_updates: u64,
    save: impl Fn(&[Contender]),
) {
    for index in 0..n_ours {
        let contender = &mut contenders[index];
        if !contender.is_built() {
            continue;
        }
        eprintln!("==> {n_updates} varied updates: {}", contender.name());
        contender.vary(plan, n_updates);
        report_trouble(contender);
        save(contenders);
    }
}

fn report_trouble(contender: &Contender) {
    if let Some(trouble) = contender.trouble() {
        eprintln!("{}: {trouble}", contender.name());
    }
}

/// Returns the name of a value on the command line.
pub(crate) fn name(value: &impl ValueEnum) -> String {
    let name = value.to_possible_value();
    name.map_or_else(String::new, |name| name.get_name().to_owned())
}

/// Converts a limit in minutes.
pub(crate) fn minutes(number: f64) -> Result<Duration> {
    let limit = Duration::try_from_secs_f64(60.0 * number).ok();
    limit.context("`--limit` must be a number of minutes")
}

/// Describes the machine: cores, model of the CPU, operating system.
fn machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or(std::env::consts::ARCH, |(_, model)| model.trim());
    let n_cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    format!("{n_cores} cores of {model}, {}", std::env::consts::OS)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn figures_are_saved_after_every_turn() {
        let shell = |line: &str| {
            let arguments = vec!["-c".into(), line.into()];
            Contender::beside("sh", Path::new("sh"), arguments, Vec::new())
        };
        let mut contenders = [shell("echo '{\"threads\":2}'"), shell("exit 1")];
        let plan = measure::Plan {
            preset: "tiny".to_owned(),
            n_rounds: 2,
            seconds: 1.0,
            limit: Duration::from_secs(60),
        };
        let n_known = RefCell::new(Vec::new());
        let is_known = |it: &&Contender| it.trouble().is_some() || it.figures().threads.is_some();
        measure_all(&mut contenders, &plan, |all| {
            n_known
                .borrow_mut()
                .push(all.iter().filter(is_known).count());
        });
        // The program that fails has no turn in the second round.
        assert_eq!(n_known.into_inner(), [1, 2, 2]);
    }
}
