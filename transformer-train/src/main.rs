//! The program `transformer-train`: from parallel text, or a built-in task, to a model directory.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, io, thread};

use burn::tensor::Device;
use clap::Parser;
use transformer_core::Preset;
use transformer_core::device::{self, Backend};
use transformer_infer::{memory, one_line};
use transformer_train::config::Experiment;
use transformer_train::tasks::Task;
use transformer_train::{
    Display, Existing, Outcome, Surroundings, ThreadCount, is_unfinished, train,
};

/// Train an encoder-decoder Transformer. Without arguments: the task `numbers`, into runs/numbers.
#[derive(Debug, Parser)]
#[command(name = "transformer-train", version)]
struct Arguments {
    /// Settings of the run (TOML); what the file leaves out has its default
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Built-in task: numbers, reverse or copy
    #[arg(long, conflicts_with_all = ["src", "tgt", "tsv"])]
    task: Option<Task>,
    /// Source lines to train on, plain or gzip, `-` for standard input
    #[arg(long, value_name = "FILE", requires = "tgt")]
    src: Option<PathBuf>,
    /// Target lines to train on, one for each source line
    #[arg(long, value_name = "FILE", requires = "src")]
    tgt: Option<PathBuf>,
    /// Lines of source, tab, target to train on, instead of two files
    #[arg(long, value_name = "FILE", conflicts_with = "src")]
    tsv: Option<PathBuf>,
    /// Source lines to validate on; without, some of the training pairs are held out
    #[arg(long, value_name = "FILE", requires = "valid_tgt")]
    valid_src: Option<PathBuf>,
    /// Target lines to validate on
    #[arg(long, value_name = "FILE", requires = "valid_src")]
    valid_tgt: Option<PathBuf>,
    /// Lines of source, tab, target to validate on, instead of two files
    #[arg(long, value_name = "FILE", conflicts_with = "valid_src")]
    valid_tsv: Option<PathBuf>,
    /// Model, and the recipe that goes with it: tiny, base, big, a row of Table 3 (a-h4 for example),
    /// pytorch, annotated or bias-free [default: tiny]
    #[arg(long, value_name = "NAME")]
    preset: Option<Preset>,
    /// Folder of the run; one that holds the same run goes on where that stopped [default: runs/ and the name of
    /// the task or of the source file]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with the run in this folder, with its settings; only the length can be changed, unless its learning
    /// rate falls to zero with it
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["config", "task", "src", "tsv", "valid_src", "valid_tsv", "preset", "out", "seed"]
    )]
    resume: Option<PathBuf>,
    /// Replace the run that the folder holds; other files in it stay
    #[arg(long, requires = "out")]
    overwrite: bool,
    /// Length of the training, in updates
    #[arg(long, value_name = "N")]
    updates: Option<u64>,
    /// Seed of everything that is random
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Threads that share an update on the CPU [default: all cores, up to 16]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Print one line for each interval even on a terminal, instead of the dashboard
    #[arg(long)]
    plain: bool,
}

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    memory::keep_pages();
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {}", one_line(&*error));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let experiment = arguments.experiment()?;
    experiment.validate()?;
    let directory = arguments.directory(&experiment);
    let requested = env::var("BURN_DEVICE").ok().filter(|name| !name.is_empty());
    let (backend, device) = device::choose(requested.as_deref())?;
    let threads = arguments.threads(&device);
    tell(&format!("backend     {backend}, {device:?}"));
    tell(&format!("run         {}", directory.display()));
    let surroundings = Surroundings {
        directory: directory.clone(),
        existing: if arguments.overwrite {
            Existing::Replace
        } else {
            Existing::Resume
        },
        threads,
        device,
        say: Arc::new(tell),
        display: if !arguments.plain && io::stdout().is_terminal() {
            Display::Dashboard
        } else {
            Display::Lines
        },
        stop: stop_on_interrupt()?,
    };
    let outcome = train(&experiment, &surroundings)?;
    report(&outcome, &experiment, &directory, backend);
    Ok(())
}

impl Arguments {
    /// Puts the arguments over the settings of the file, or over those of the task or preset.
    fn experiment(&self) -> Result<Experiment, Failure> {
        if let Some(directory) = &self.resume {
            let mut experiment = Experiment::from_toml(&directory.join("experiment.toml"))?;
            if let Some(updates) = self.updates {
                experiment.training.updates = updates;
            }
            return Ok(experiment);
        }
        let preset = self.preset;
        let has_files = self.src.is_some() || self.tsv.is_some();
        let mut experiment = match (&self.config, self.task) {
            (Some(config), Some(task)) => Experiment::from_toml_for(config, task)?,
            (Some(config), None) => Experiment::from_toml(config)?,
            (None, None) if has_files => Experiment::for_preset(preset.unwrap_or(Preset::Tiny)),
            (None, task) => Experiment::for_task(task.unwrap_or(Task::Numbers)),
        };
        if let Some(preset) = preset
            && preset != experiment.model.preset
        {
            experiment.model.preset = preset;
            experiment.model.overrides.clear();
        }
        if has_files {
            experiment.data.task = None;
            experiment.data.src.clone_from(&self.src);
            experiment.data.tgt.clone_from(&self.tgt);
            experiment.data.tsv.clone_from(&self.tsv);
        }
        if self.valid_src.is_some() || self.valid_tsv.is_some() {
            experiment.data.valid_src.clone_from(&self.valid_src);
            experiment.data.valid_tgt.clone_from(&self.valid_tgt);
            experiment.data.valid_tsv.clone_from(&self.valid_tsv);
        }
        if let Some(updates) = self.updates {
            experiment.training.updates = updates;
        }
        if let Some(seed) = self.seed {
            experiment.training.seed = seed;
        }
        Ok(experiment)
    }

    /// Returns the number of threads given, or as many as there are cores where that helps.
    fn threads(&self, device: &Device) -> ThreadCount {
        let cores = || thread::available_parallelism().map_or(1, |cores| cores.get().min(16));
        let suggested = || if device::is_host(device) { cores() } else { 1 };
        self.threads
            .map_or_else(|| ThreadCount::Suggested(suggested()), ThreadCount::Exactly)
    }

    /// Returns the folder given, or one under runs/ that is not taken yet.
    fn directory(&self, experiment: &Experiment) -> PathBuf {
        let given = self.resume.as_ref().or(self.out.as_ref());
        given
            .cloned()
            .unwrap_or_else(|| free_directory(&run_name(experiment), experiment))
    }
}

/// Returns the name of the task, or of the source file up to its first dot.
fn run_name(experiment: &Experiment) -> String {
    let data = &experiment.data;
    if let Some(task) = data.task {
        return task.to_string();
    }
    let file = data
        .src
        .as_ref()
        .or(data.tsv.as_ref())
        .and_then(|path| path.file_name());
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

/// Lets the first interrupt end the run after the current interval, and the second end it at once.
fn stop_on_interrupt() -> Result<Arc<AtomicBool>, ctrlc::Error> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if asked.swap(true, Ordering::Relaxed) {
            leave();
        }
        let advice =
            "stopping after this interval, with its model saved; once more to stop at once";
        let _ = writeln!(io::stderr(), "{advice}");
    })?;
    Ok(stop)
}

#[expect(
    clippy::exit,
    reason = "the user asks a second time to end a program that is computing"
)]
fn leave() -> ! {
    std::process::exit(130)
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
    tell(&format!(
        "\n{} updates in {:.0} seconds; validation perplexity {:.3}",
        outcome.n_updates,
        outcome.elapsed.as_secs_f64(),
        outcome.valid_perplexity
    ));
    let scores = &outcome.text_scores;
    tell(&format!(
        "on {} validation pairs:\nBLEU|{} = {:.1}\nchrF2|{} = {:.1}",
        scores.n_pairs, scores.bleu_signature, scores.bleu, scores.chrf_signature, scores.chrf
    ));
    if let Some(test) = outcome.test {
        let percent = 100.0 * test.exact_match();
        let (n_exact, n_pairs) = (test.n_exact, test.n_pairs);
        tell(&format!(
            "exact match {percent:.1}%: {n_exact} of {n_pairs} held-out pairs"
        ));
    }
    let features = match backend {
        Backend::Flex => String::new(),
        other => format!(" --features {other}"),
    };
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
        "    cargo run -q -p transformer-infer{features} -- translate --model {directory} {text}"
    ));
    let (n_done, n_updates) = (outcome.n_updates, experiment.training.updates);
    if n_done < n_updates {
        tell(&format!(
            "\nStopped after {n_done} of {n_updates} updates. To go on:\n\n    \
             cargo run -p transformer-train{features} -- --resume {directory}"
        ));
    }
}

/// Quotes a word for the shell, if it needs it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
