//! The program `transformer-train`: from parallel text, or a built-in task, to a model directory.

mod cli;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::{env, io};

use transformer_core::device;
use transformer_infer::program::{parse_arguments, start_global_pool};
use transformer_infer::{allocator, one_line};
use transformer_train::config::Experiment;
use transformer_train::{
    Display, Existing, RunEnvironment, TrainError, dry_run, is_unfinished, train,
};

use crate::cli::{
    Arguments, Failure, INTERRUPTED, Output, print_summary, status, stop_on_interrupt, was_stopped,
};

/// Threads that Burn's Learner starts beside rayon's, and panics if it cannot: for metrics, their store, logs,
/// checkpoints and the dashboard. Measured, and rounded up.
const BURNS_THREADS: usize = 12;

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
            let _ = writeln!(io::stderr(), "error: {}", one_line(&*error));
            match error.downcast_ref() {
                Some(TrainError::Interrupted) => ExitCode::from(INTERRUPTED),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

fn run(arguments: &Arguments, output: &Output) -> Result<ExitCode, Failure> {
    if let Some(command) = &arguments.command {
        start_global_pool(0)?;
        command.run(output)?;
        return Ok(ExitCode::SUCCESS);
    }
    let experiment = arguments.experiment()?;
    if arguments.print_config {
        output.print(&experiment.to_documented_toml()?);
        return Ok(ExitCode::SUCCESS);
    }
    experiment.validate()?;
    let directory = arguments.directory().map_or_else(
        || free_directory(&run_name(&experiment), &experiment),
        Path::to_owned,
    );
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
    let interrupt = stop_on_interrupt()?;
    output.print_line(&format!("backend     {backend}, {}", names.join(", ")));
    output.print_line(&format!("run         {}", directory.display()));
    let environment = RunEnvironment {
        directory: directory.clone(),
        existing: match (arguments.overwrite, arguments.allow_changes) {
            (true, _) => Existing::Replace,
            (false, true) => Existing::Change,
            (false, false) => Existing::Resume,
        },
        threads,
        device,
        more_devices: devices,
        log: {
            let output = output.clone();
            Arc::new(move |line: &str| output.print_line(line))
        },
        display: if !arguments.plain && io::stdout().is_terminal() {
            Display::Dashboard
        } else {
            Display::Lines
        },
        status: status(),
        interrupt,
    };
    if arguments.dry_run {
        dry_run(&experiment, &environment)?;
        return Ok(ExitCode::SUCCESS);
    }
    let outcome = train(&experiment, &environment)?;
    print_summary(&outcome, &experiment, &directory, backend, output);
    Ok(match was_stopped(&outcome, &experiment) {
        true => ExitCode::from(INTERRUPTED),
        false => ExitCode::SUCCESS,
    })
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
