//! [`compare`]: builds, measures and writes.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::contender::{Contender, answers};
use super::figures::Figures;
use super::flags::{Flags, name};
use super::peers::Peers;
use super::{chart, results, table};
use crate::process::{read, write};

#[derive(Debug, Serialize, Deserialize)]
struct Results {
    preset: String,
    machine: String,
    command: String,
    columns: Vec<Figures>,
}

impl Results {
    fn new(flags: &Flags, columns: Vec<Figures>) -> Self {
        Self {
            preset: name(&flags.preset),
            machine: machine(),
            command: std::env::args().skip(1).collect::<Vec<_>>().join(" "),
            columns,
        }
    }

    fn write(&self, path: &Path) -> Result<()> {
        write(path, &(serde_json::to_string_pretty(self)? + "\n"))
    }

    fn draw(&self, path: &Path) -> Result<()> {
        let picture = chart::svg(&self.preset, &self.machine, &self.columns);
        write(path, &picture)
    }
}

/// Compares the backends, and fails if the results of one are wrong.
pub(crate) fn run(root: &Path, flags: &Flags) -> Result<()> {
    if let Some(path) = &flags.draw {
        let results: serde_json::Result<Results> = serde_json::from_str(&read(path)?);
        let fault = || format!("`{}` is no results.json of bench-backends", path.display());
        let results = results.with_context(fault)?;
        let picture = path.with_extension("svg");
        println!("{}", picture.display());
        return results.draw(&picture);
    }
    let columns = compare(root, flags)?;
    let faults = results::faults(&columns);
    let wrong = faults.join("; ");
    ensure!(wrong.is_empty(), "some results are wrong: {wrong}");
    let is_any_measured = columns.iter().any(|it| it.logits.is_some());
    ensure!(is_any_measured, "no backend could be measured");
    Ok(())
}

/// Compares the backends, prints the table, and writes the files.
pub(crate) fn compare(root: &Path, flags: &Flags) -> Result<Vec<Figures>> {
    let plan = &flags.plan;
    let out = plan.folder(root, "bench-backends")?;
    // Report what is impossible before the first build, not after the last.
    let peers = plan.peers.iter().map(|python| Peers::check(root, python));
    let peers = peers.collect::<Result<Vec<Peers>>>()?;
    if let Some(path) = &flags.json {
        let opened = OpenOptions::new().append(true).create(true).open(path);
        opened.with_context(|| format!("cannot write `{}`", path.display()))?;
    }

    let mut contenders: Vec<Contender> = Vec::new();
    for backend in &plan.backends {
        let backend = name(backend);
        let contender = Contender::build(root, &backend, &out, flags)
            .unwrap_or_else(|error| Contender::missing(&backend, &format!("{error:#}")));
        report_trouble(&contender);
        contenders.push(contender);
    }
    let n_ours = contenders.len();
    for peers in peers {
        let works = contenders.iter().filter(|it| it.figures.trouble.is_none());
        // Whether wgpu runs on a GPU is known only after its first turn; the peers could use only CUDA.
        let has_gpu = answers("nvidia-smi");
        let kinds: BTreeSet<bool> = works.map(|it| has_gpu && it.figures.is_on_gpu()).collect();
        contenders.extend(peers.contenders(root, &kinds));
    }
    // An interrupted comparison leaves the figures so far, and the files of the one before.
    let so_far = out.join("so-far.json");
    let save = |contenders: &[Contender]| {
        if let Err(error) = Results::new(flags, columns(contenders)).write(&so_far) {
            eprintln!("{error:#}");
        }
    };
    measure_all(&mut contenders, flags, save);
    if let Some(n_updates) = flags.varied {
        // Also with backends that were too slow for all rounds.
        for index in 0..n_ours {
            if contenders[index].program.is_some() {
                contenders[index].vary(flags, n_updates);
                report_trouble(&contenders[index]);
                save(&contenders);
            }
        }
    }
    let results = Results::new(flags, columns(&contenders));
    let table = table::markdown(&results.columns);
    let (preset, machine) = (&results.preset, &results.machine);
    println!("\npreset {preset}, {machine}\n\n{table}");
    write(&out.join("table.md"), &table)?;
    results.write(&out.join("results.json"))?;
    results.draw(&out.join("chart.svg"))?;
    if let Some(path) = &flags.json {
        results.write(path)?;
    }
    let out = out.display();
    println!("table.md, results.json and chart.svg are in {out}");
    let _ = fs::remove_file(so_far);
    Ok(results.columns)
}

/// Measures all in turns, so that a slow minute of the machine affects all of them.
fn measure_all(contenders: &mut [Contender], flags: &Flags, save: impl Fn(&[Contender])) {
    for round in 1..=flags.plan.runs {
        for index in 0..contenders.len() {
            let contender = &mut contenders[index];
            if contender.figures.trouble.is_none() {
                eprintln!("==> round {round}: {}", contender.figures.backend);
                contender.take_turn(flags);
                report_trouble(contender);
                save(contenders);
            }
        }
    }
}

fn columns(contenders: &[Contender]) -> Vec<Figures> {
    contenders.iter().map(|it| it.figures.clone()).collect()
}

fn report_trouble(contender: &Contender) {
    if let Some(trouble) = &contender.figures.trouble {
        eprintln!("{}: {trouble}", contender.figures.backend);
    }
}

/// Describes the machine: cores, model of the CPU, operating system.
fn machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut names = cpu
        .lines()
        .filter_map(|it| it.strip_prefix("model name")?.split_once(':'));
    let model = names
        .next()
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
        let lines = ["echo '{\"threads\":2}'", "exit 1"];
        let mut contenders = lines.map(Contender::shell);
        let flags = Flags::of(&["--runs", "2", "--limit", "1"]);
        let n_known = RefCell::new(Vec::new());
        let is_known =
            |it: &&Contender| it.figures.trouble.is_some() || it.figures.threads.is_some();
        measure_all(&mut contenders, &flags, |all| {
            n_known
                .borrow_mut()
                .push(all.iter().filter(is_known).count());
        });
        // The program that fails has no turn in the second round.
        assert_eq!(n_known.into_inner(), [1, 2, 2]);
    }
}
