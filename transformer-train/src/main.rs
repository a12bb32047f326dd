//! The program `transformer-train`: from parallel text, or a built-in task, to a model directory.

mod cli;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use std::{env, io, thread};

use clap::Parser;
use crossterm::cursor::Show as ShowCursor;
use crossterm::event::DisableMouseCapture;
use crossterm::execute;
use crossterm::terminal::{LeaveAlternateScreen, disable_raw_mode, is_raw_mode_enabled};
use transformer_core::device::{self, Backend};
use transformer_infer::{allocator, one_line};
use transformer_train::config::Experiment;
use transformer_train::{
    Display, Existing, Interrupt, Outcome, RunEnvironment, Stage, StatusFn, TrainError, dry_run,
    is_unfinished, train,
};

use crate::cli::{Arguments, Failure};

/// What a program ends with that an interrupt ended.
const INTERRUPTED: u8 = 130;

/// Time that a run has to end by itself when it has nothing to lose.
const GRACE: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    allocator::keep_freed_memory();
    match run(&Arguments::parse()) {
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

fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if let Some(command) = &arguments.command {
        command.run()?;
        return Ok(ExitCode::SUCCESS);
    }
    let experiment = arguments.experiment()?;
    if arguments.print_config {
        let text = experiment.to_documented_toml()?;
        io::stdout().write_all(text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    experiment.validate()?;
    let directory = arguments.directory().map_or_else(
        || free_directory(&run_name(&experiment), &experiment),
        Path::to_owned,
    );
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
    tell(&format!("backend     {backend}, {}", names.join(", ")));
    tell(&format!("run         {}", directory.display()));
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
        log: Arc::new(tell),
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
    report(&outcome, &experiment, &directory, backend);
    Ok(match was_stopped(&outcome, &experiment) {
        true => ExitCode::from(INTERRUPTED),
        false => ExitCode::SUCCESS,
    })
}

/// Says whether somebody ended the run before its time.
fn was_stopped(outcome: &Outcome, experiment: &Experiment) -> bool {
    outcome.n_updates < experiment.training.updates && !outcome.is_out_of_patience
}

/// Returns the name of the task, or of the source file up to its first dot.
fn run_name(experiment: &Experiment) -> String {
    let data = &experiment.data;
    if let Some(task) = data.task {
        return task.to_string();
    }
    let of_several = data
        .corpora
        .first()
        .and_then(|it| it.src.as_ref().or(it.tsv.as_ref()));
    let one = data.src.as_ref().or(data.tsv.as_ref());
    let file = one.or(of_several).and_then(|path| path.file_name());
    let name = file
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    match name.split('.').next() {
        None | Some("" | "-") => "run".to_owned(),
        Some(stem) => stem.to_owned(),
    }
}

/// Returns `runs/name`, or with the first number from 2 on, that is free or holds this run, unfinished.
fn free_directory(name: &str, experiment: &Experiment) -> PathBuf {
    let runs = Path::new("runs");
    let numbered = (2_u64..).map(|number| runs.join(format!("{name}-{number}")));
    let mut candidates = std::iter::once(runs.join(name)).chain(numbered);
    candidates
        .find(|path| !path.exists() || is_unfinished(path, experiment))
        .unwrap_or_else(|| runs.join(name))
}

/// Returns what shows how far a run is before its updates, if somebody looks.
fn status() -> Option<StatusFn> {
    let status = |line: &str| {
        // Begins the line anew, and clears it.
        let _ = write!(io::stderr(), "\r\x1b[2K{line}");
    };
    io::stderr()
        .is_terminal()
        .then(|| Arc::new(status) as StatusFn)
}

/// Lets the first interrupt end the run, at once before its first update and then after the current interval,
/// and the second end it at once.
fn stop_on_interrupt() -> Result<Interrupt, ctrlc::Error> {
    let interrupt = Interrupt::default();
    let asked = interrupt.clone();
    ctrlc::set_handler(move || match asked.request() {
        Some(Stage::Preparing) => {
            // The run hears it between two lines of text, and clears away what it began. It may be waiting
            // for one.
            thread::sleep(GRACE);
            if let Some(status) = status() {
                status("");
            }
            let _ = writeln!(io::stderr(), "error: {}", TrainError::Interrupted);
            leave();
        }
        Some(Stage::Training) => {
            let advice =
                "stopping after this interval, with its model saved; once more to stop at once";
            let _ = match has_dashboard() {
                // In its last line; the cursor goes back to where it was.
                true => write!(io::stderr(), "\x1b7\x1b[999;1H\x1b[2K{advice}\x1b8"),
                false => writeln!(io::stderr(), "{advice}"),
            };
        }
        None => leave(),
    })?;
    Ok(interrupt)
}

/// Says whether the dashboard has the terminal.
fn has_dashboard() -> bool {
    is_raw_mode_enabled().unwrap_or(false)
}

#[expect(
    clippy::exit,
    reason = "the user asks to end a program that is waiting or computing"
)]
fn leave() -> ! {
    if has_dashboard() {
        let _ = disable_raw_mode();
        let _ = execute!(
            io::stdout(),
            DisableMouseCapture,
            LeaveAlternateScreen,
            ShowCursor
        );
    }
    std::process::exit(i32::from(INTERRUPTED))
}

/// Prints a line; a reader that went away is no reason to stop training.
fn tell(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

fn report(outcome: &Outcome, experiment: &Experiment, directory: &Path, backend: Backend) {
    for sample in &outcome.samples {
        tell(&format!("\nsource       {}", sample.src));
        tell(&format!("reference    {}", sample.reference));
        tell(&format!("translation  {}", sample.translation));
    }
    tell("");
    for (name, value) in summary(outcome, experiment) {
        tell(&format!("{name:<12}{value}"));
    }
    let text = outcome
        .samples
        .first()
        .map_or("some text", |sample| sample.src.as_str());
    tell(&format!(
        "\nThe model is in {}. To translate with it:\n",
        outcome.model.display()
    ));
    let (directory, text) = (quoted(&directory.display().to_string()), quoted(text));
    tell(&format!(
        "    {} translate --model {directory} {text}",
        program("transformer-infer", "-q ", backend)
    ));
    if was_stopped(outcome, experiment) {
        tell(&format!(
            "\nStopped after {} of {} updates. To go on:\n\n    {} --resume {directory}",
            outcome.n_updates,
            experiment.training.updates,
            program("transformer-train", "", backend)
        ));
    }
}

/// Returns the rows of the table that a run ends with.
fn summary(outcome: &Outcome, experiment: &Experiment) -> Vec<(&'static str, String)> {
    let scores = &outcome.text_scores;
    let mut rows = vec![
        (
            "updates",
            format!(
                "{} of {}, in {:.0} seconds",
                outcome.n_updates,
                experiment.training.updates,
                outcome.elapsed.as_secs_f64()
            ),
        ),
        (
            "perplexity",
            format!("{:<7.3} of the validation pairs", outcome.valid_perplexity),
        ),
        (
            "BLEU",
            format!("{:<7.1} {}", scores.bleu, scores.bleu_signature),
        ),
        (
            "chrF2",
            format!("{:<7.1} {}", scores.chrf, scores.chrf_signature),
        ),
        (
            "",
            format!("        of {} of them, translated", scores.n_pairs),
        ),
    ];
    if let Some(test) = outcome.test {
        let percent = format!("{:.1}%", 100.0 * test.exact_match());
        let (n_exact, n_pairs) = (test.n_exact, test.n_pairs);
        let row = format!("{percent:<7} {n_exact} of {n_pairs} held-out pairs");
        rows.push(("exact match", row));
    }
    rows
}

/// Returns how a program is called: by cargo, if this one was, and otherwise by its name, with its folder if the
/// shell does not look there.
fn program(name: &str, flags: &str, backend: Backend) -> String {
    if env::var_os("CARGO").is_none() {
        let this = env::current_exe().unwrap_or_default();
        let folder = this.parent().unwrap_or(Path::new(""));
        let searched = env::var_os("PATH").unwrap_or_default();
        let is_found = env::split_paths(&searched).any(|searched| searched == folder);
        return match is_found {
            true => name.to_owned(),
            false => quoted(&folder.join(name).display().to_string()),
        };
    }
    let features = match backend {
        Backend::Flex => String::new(),
        other => format!(" --features {other}"),
    };
    format!("cargo run {flags}-p {name}{features} --")
}

/// Quotes a word for the shell, if it needs it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
