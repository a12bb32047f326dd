//! The program `transformer-train`: from parallel text, or a built-in task, to a model directory.

mod cli;

use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::{env, io};

use transformer_core::device;
use transformer_program::{parse_arguments, start_global_pool};
use transformer_train::config::Experiment;
use transformer_train::step::ranks::{Processes, Ranks};
use transformer_train::{
    Display, Existing, RunEnvironment, TrainError, dry_run, follow, is_unfinished, train,
};
use transformer_translate::allocator;

use crate::cli::{
    Arguments, Failure, INTERRUPTED, Output, print_error, print_summary, status, stop_on_interrupt,
    was_stopped,
};

/// Number of threads that Burn's Learner starts besides rayon's, for metrics, their store, logs, checkpoints and the
/// dashboard; it panics if it cannot start them. Measured, and rounded up.
const BURNS_THREADS: usize = 12;

const PANICKED: u8 = 101;

fn main() -> ExitCode {
    allocator::keep_freed_memory();
    let arguments: Arguments = match parse_arguments() {
        Ok(arguments) => arguments,
        Err(exit_code) => return exit_code,
    };
    let output = Output::default();
    let outcome = run(&arguments, &output);
    let outcome = outcome.and_then(|code| Ok(output.finish().map(|()| code)?));
    match outcome {
        Ok(code) => code,
        Err(error) => {
            print_error("", &*error);
            ExitCode::from(code_of(&*error))
        }
    }
}

fn code_of(error: &(dyn std::error::Error + 'static)) -> u8 {
    match error.downcast_ref() {
        Some(TrainError::Interrupted) => INTERRUPTED,
        _ => 1,
    }
}

fn run(arguments: &Arguments, output: &Output) -> Result<ExitCode, Failure> {
    if let Some(command) = &arguments.command {
        start_global_pool(0)?;
        command.run(output)?;
        return Ok(ExitCode::SUCCESS);
    }
    let processes = Processes::join()?;
    let ranks = processes.ranks();
    if ranks.is_alone() {
        return start(arguments, output, ranks);
    }
    // The other processes would wait forever for one that has failed. If it panicked, so would MPI's end.
    let outcome = catch_unwind(AssertUnwindSafe(|| start(arguments, output, ranks)));
    match outcome {
        Ok(Ok(code)) => {
            ranks.wait_for_all();
            Ok(code)
        }
        Ok(Err(error)) => {
            print_error(&format!("rank {}: ", ranks.rank()), &*error);
            ranks.end_all(code_of(&*error))
        }
        Err(_) => ranks.end_all(PANICKED),
    }
}

fn start(arguments: &Arguments, output: &Output, ranks: Ranks) -> Result<ExitCode, Failure> {
    let (experiment, reasons) = arguments.experiment(ranks)?;
    if !ranks.is_first() && (arguments.print_config || arguments.dry_run) {
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.print_config {
        output.print(&experiment.to_documented_toml()?);
        return Ok(ExitCode::SUCCESS);
    }
    experiment.validate()?;
    let directory = directory_of(arguments, &experiment);
    start_global_pool(arguments.n_own_threads() + BURNS_THREADS)?;
    let requested = env::var("BURN_DEVICE").ok();
    let (backend, device) = device::choose(requested.as_deref())?;
    let mut devices = match experiment.training.devices {
        1 => vec![device],
        n_devices => device::several(backend, n_devices as usize)?,
    };
    let names: Vec<String> = devices.iter().map(device::describe).collect();
    let device = devices.remove(0);
    let threads = arguments.threads(&device);
    let interrupt = stop_on_interrupt(ranks)?;
    if ranks.is_first() {
        let mut lines = vec![format!("backend     {backend}, {}", names.join(", "))];
        lines.push(format!("run         {}", directory.display()));
        if !ranks.is_alone() {
            lines.push(format!("processes   {}", ranks.n_ranks()));
        }
        lines.extend(reasons);
        lines.iter().for_each(|line| output.print_line(line));
    }
    let environment = RunEnvironment {
        directory: directory.clone(),
        existing: existing(arguments),
        threads,
        ranks,
        device,
        more_devices: devices,
        log: {
            let output = output.clone();
            Arc::new(move |line: &str| output.print_line(line))
        },
        display: display(arguments, ranks),
        status: status(),
        interrupt,
    };
    if arguments.dry_run {
        dry_run(&experiment, &environment)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !ranks.is_first() {
        follow(&experiment, &environment)?;
        return Ok(ExitCode::SUCCESS);
    }
    let outcome = train(&experiment, &environment)?;
    print_summary(&outcome, &experiment, &directory, backend, output);
    Ok(match was_stopped(&outcome, &experiment) {
        true => ExitCode::from(INTERRUPTED),
        false => ExitCode::SUCCESS,
    })
}

/// Returns the folder of the run: the given one, or a free one with the name of the text, or of the run to be continued.
fn directory_of(arguments: &Arguments, experiment: &Experiment) -> PathBuf {
    if let Some(directory) = arguments.directory() {
        return directory.to_owned();
    }
    let continued = arguments.continued().and_then(Path::file_name);
    let name = match continued {
        Some(name) => name.to_string_lossy().into_owned(),
        None => run_name(experiment),
    };
    free_directory(&name, experiment)
}

fn existing(arguments: &Arguments) -> Existing {
    match (arguments.overwrite, arguments.allow_changes) {
        (true, _) => Existing::Replace,
        (false, true) => Existing::Change,
        (false, false) => Existing::Resume,
    }
}

/// Returns how progress is shown. Open MPI gives each of several processes a terminal, which is not the user's.
fn display(arguments: &Arguments, ranks: Ranks) -> Display {
    match !arguments.plain && ranks.is_alone() && io::stdout().is_terminal() {
        true => Display::Dashboard,
        false => Display::Lines,
    }
}

/// Returns the name of the task, or of the source file up to its first dot.
fn run_name(experiment: &Experiment) -> String {
    let data = &experiment.data;
    if let Some(task) = data.task {
        return task.to_string();
    }
    let first_of_several = data
        .corpora
        .first()
        .and_then(|it| it.src.as_ref().or(it.tsv.as_ref()));
    let single = data.src.as_ref().or(data.tsv.as_ref());
    let file = single
        .or(first_of_several)
        .and_then(|path| path.file_name());
    let name = file
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    match name.split('.').next() {
        None | Some("" | "-") => "run".to_owned(),
        Some(stem) => stem.to_owned(),
    }
}

/// Returns the first of `runs/name`, `runs/name-2`, … that is free or holds this run, unfinished.
fn free_directory(name: &str, experiment: &Experiment) -> PathBuf {
    let runs = Path::new("runs");
    let numbered = (2_u64..).map(|number| runs.join(format!("{name}-{number}")));
    let mut candidates = std::iter::once(runs.join(name)).chain(numbered);
    candidates
        .find(|path| !path.exists() || is_unfinished(path, experiment))
        .unwrap_or_else(|| runs.join(name))
}
