//! Runs the classes, two attempts at a time, and prints the table.

use std::fs;
use std::io::ErrorKind;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use std::{env, process, thread};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::case::{Case, Class, Runs, Skipped};
use super::classes::CLASSES;
use super::lab::Lab;
use super::random::Random;
use super::report::{Failure, Outcome, Row, table};

/// Attempts that run at the same time.
const N_WORKERS: usize = 2;

/// The flags of `cargo xtask hostile`.
#[derive(Args, Debug)]
pub(crate) struct Flags {
    /// Make the attempts of a minute instead of all
    #[arg(long)]
    short: bool,
    /// Seed of everything that is random
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Attack with these classes only; repeat the flag for several
    #[arg(long, value_name = "NAME")]
    class: Vec<String>,
    /// Make one attempt of a class only, again
    #[arg(long, value_name = "INDEX", requires = "class")]
    only: Option<u64>,
    /// Make this many attempts of each class
    #[arg(long, value_name = "N")]
    attempts: Option<NonZeroU64>,
    /// Folder with the two programs, which are built otherwise
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
    /// Folder for scratch files and the inputs of failures; every user must be able to reach it [default: the
    /// system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

/// Attacks as the flags say.
pub(crate) fn run(root: &Path, flags: &Flags) -> Result<()> {
    let unknown = flags
        .class
        .iter()
        .find(|name| CLASSES.iter().all(|class| class.name != *name));
    if let Some(unknown) = unknown {
        let known = CLASSES
            .map(|class| format!("{} ({})", class.name, class.about))
            .join(", ");
        bail!("`{unknown}` is no class; the classes are {known}");
    }
    let scratch = flags.scratch.clone().unwrap_or_else(env::temp_dir);
    let scratch = scratch.join(format!(
        "transformer-hostile-{}-{}",
        flags.seed,
        process::id()
    ));
    let lab = Lab::new(root, flags.programs.as_deref(), scratch.join("lab"))?;
    println!("seed {}", flags.seed);
    let mut rows = Vec::new();
    for class in &CLASSES {
        if flags.class.is_empty() || flags.class.iter().any(|name| name == class.name) {
            println!("==> {}: {}", class.name, class.about);
            rows.push(attack(class, &lab, flags, &scratch)?);
        }
    }
    print!("{}", table(&rows));
    let n_failures: u64 = rows.iter().map(|row| row.n_failures).sum();
    if n_failures == 0 {
        fs::remove_dir_all(&scratch)?;
        return Ok(());
    }
    bail!(
        "{n_failures} attempts failed; their inputs are in `{}`",
        scratch.display()
    )
}

/// The step of `cargo xtask ci`. The seed is that of the tests of properties.
pub(crate) fn short(root: &Path) -> Result<()> {
    let given = env::var("PROPTEST_RNG_SEED").ok();
    let flags = Flags {
        short: true,
        seed: given.and_then(|seed| seed.parse().ok()).unwrap_or(1),
        class: Vec::new(),
        only: None,
        attempts: None,
        programs: None,
        scratch: None,
    };
    run(root, &flags)
}

/// Makes the attempts of a class.
fn attack(class: &Class, lab: &Lab, flags: &Flags, scratch: &Path) -> Result<Row> {
    let started = Instant::now();
    let n_long = (class.n_long)(lab)?;
    let (first, end) = match (flags.only, flags.attempts) {
        (Some(only), _) => (only, only + 1),
        (None, Some(attempts)) => (0, attempts.get()),
        (None, None) if flags.short => (0, class.n_short),
        (None, None) => (0, n_long),
    };
    // The short form draws its attempts from all of the long form.
    let number = |attempt: u64| match flags.short && flags.only.is_none() && n_long > end {
        true => Random::new(flags.seed, class.name, attempt).next() % n_long,
        false => attempt,
    };
    let next = AtomicU64::new(first);
    let row = Mutex::new(Row::new(class.name));
    thread::scope(|scope| {
        for _ in 0..N_WORKERS {
            scope.spawn(|| {
                loop {
                    let attempt = next.fetch_add(1, Ordering::Relaxed);
                    if attempt >= end {
                        return;
                    }
                    let (outcome, runs) =
                        attempt_one(class, lab, flags.seed, number(attempt), scratch);
                    if let Ok(mut row) = row.lock() {
                        row.add(outcome, runs);
                    }
                }
            });
        }
    });
    let mut row = row
        .into_inner()
        .context("a worker of the harness panicked")?;
    row.seconds = started.elapsed().as_secs_f64();
    ensure!(
        row.n_attempts == end - first,
        "a worker of the harness panicked"
    );
    for reason in &row.skipped {
        println!("skipped: {reason}");
    }
    Ok(row)
}

/// Makes one attempt, in a folder that stays if it fails.
fn attempt_one(class: &Class, lab: &Lab, seed: u64, index: u64, scratch: &Path) -> (Outcome, Runs) {
    let mut case = Case {
        lab,
        folder: new_folder(scratch, &format!("{}-{index}", class.name)),
        random: Random::new(seed, class.name, index),
        index,
        lines: Vec::new(),
        runs: Runs::default(),
    };
    let fault = match (class.attempt)(&mut case) {
        Ok(()) => {
            let _ = fs::remove_dir_all(&case.folder);
            return (Outcome::Passed, case.runs);
        }
        Err(fault) => fault,
    };
    let fault = match fault.downcast::<Skipped>() {
        Ok(Skipped(reason)) => {
            let _ = fs::remove_dir_all(&case.folder);
            return (Outcome::Skipped(reason), case.runs);
        }
        Err(fault) => fault,
    };
    let failure = Failure {
        fault: format!("{fault:#}"),
        again: format!(
            "cargo xtask hostile --class {} --seed {seed} --only {index}",
            class.name
        ),
        folder: case.folder,
        lines: case.lines,
    };
    println!("{failure}");
    (Outcome::Failed, case.runs)
}

/// Creates a folder. The short form may draw an attempt twice, so that its name is taken.
fn new_folder(scratch: &Path, name: &str) -> PathBuf {
    let numbered = (1..).map(|number| scratch.join(format!("{name}-{number}")));
    let mut candidates = std::iter::once(scratch.join(name)).chain(numbered);
    let is_new = |path: &PathBuf| match fs::create_dir(path) {
        Err(error) => error.kind() != ErrorKind::AlreadyExists,
        Ok(()) => true,
    };
    candidates.find(is_new).unwrap_or_default()
}
