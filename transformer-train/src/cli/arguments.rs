//! The arguments of the program, and the settings that they give.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::thread;

use burn::tensor::Device;
use clap::{ArgGroup, Parser};
use toml::{Table, Value};
use transformer_core::text::LanguageCode;
use transformer_core::{Preset, device};
use transformer_train::config::{
    ConfigError, ContinuedRun, CorpusSettings, Experiment, UserSettings,
};
use transformer_train::step::ranks::Ranks;
use transformer_train::tasks::Task;
use transformer_train::{ThreadCount, recommend};

use super::command::{Command, Failure};

const NO_FILES_FOR_AUTO: &str = "`--preset auto` reads the training text before the run does; name its files by `--src` and \
                                 `--tgt`, or by `--tsv`, without `--config`, `--finetune` and `--task`, or choose \
                                 another preset";

/// Train an encoder-decoder Transformer. Without arguments: the task `numbers`, into runs/numbers.
#[derive(Debug, Parser)]
#[command(name = "transformer-train", version)]
#[command(
    args_conflicts_with_subcommands = true,
    group(ArgGroup::new("folder").args(["out", "resume"]))
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Settings of the run (TOML); settings that are not in the file have their defaults
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
    /// File of lines to train on, each with a source, a tab and a target, instead of two files
    #[arg(long, value_name = "FILE", conflicts_with = "src")]
    tsv: Option<PathBuf>,
    /// Source lines to validate on [default: some training pairs are held out]
    #[arg(long, value_name = "FILE", requires = "valid_tgt")]
    valid_src: Option<PathBuf>,
    /// Target lines to validate on
    #[arg(long, value_name = "FILE", requires = "valid_src")]
    valid_tgt: Option<PathBuf>,
    /// File of lines to validate on, each with a source, a tab and a target, instead of two files
    #[arg(long, value_name = "FILE", conflicts_with = "valid_src")]
    valid_tsv: Option<PathBuf>,
    /// Leave out training pairs that do not translate each other, and repeated ones; false keeps them [default:
    /// true, unless --config is given]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    clean: Option<bool>,
    /// Language of the source, such as en or pt-BR (BCP 47); stored with the model
    #[arg(long, value_name = "CODE")]
    src_lang: Option<LanguageCode>,
    /// Language of the target
    #[arg(long, value_name = "CODE")]
    tgt_lang: Option<LanguageCode>,
    /// Model with its training recipe: auto, which reads the text and chooses; or, by the size of the data, tiny or multi30k (tens of thousands of pairs), iwslt
    /// (hundreds of thousands), base or big (millions). Other presets: numbers, a row of Table 3 (for example a-h4),
    /// pytorch, annotated, bias-free, firefox-tiny [default: auto for files; base with --config; tiny with --finetune]
    #[arg(long, value_name = "NAME")]
    preset: Option<PresetChoice>,
    /// Model to train further: a model directory, or the folder of a run. Its tokenizers and its shape are kept, so
    /// the preset is only the recipe
    #[arg(long, value_name = "DIR")]
    finetune: Option<PathBuf>,
    /// Run that ended, to learn the new pairs of --src and --tgt, or --tsv: its model is trained further at a low learning
    /// rate, on them and on a share of its old pairs. Needs validation pairs of the new text
    #[arg(long = "continue", value_name = "RUN", conflicts_with_all = ["config", "task", "preset", "finetune", "resume"])]
    continued: Option<PathBuf>,
    /// Share of the old pairs in the training data of --continue [default: 0.5]
    #[arg(long, value_name = "SHARE", requires = "continued", value_parser = share)]
    replay: Option<f64>,
    /// Folder of the run; if it contains the same run, that run is resumed [default: runs/ and the name of the task or
    /// of the source file]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Resume the run in this folder, with its settings. --updates can change its length, unless its learning rate
    /// falls to zero at the end. --set can change settings without effect on the weights, for example training.patience
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["config", "task", "src", "tsv", "valid_src", "valid_tsv", "preset", "finetune", "out", "seed", "overwrite"]
    )]
    resume: Option<PathBuf>,
    /// Resume a run with other settings for its later updates: learning rate, schedule, dropout,
    /// label smoothing, Adam, clipping, weight decay
    #[arg(long, requires = "folder", conflicts_with = "overwrite")]
    pub(crate) allow_changes: bool,
    /// Replace the run in the folder, unless it is this same run, unfinished; other files in the folder are kept
    #[arg(long, requires = "out")]
    pub(crate) overwrite: bool,
    /// Length of the training, in updates
    #[arg(long, value_name = "N")]
    updates: Option<u64>,
    /// Seed of all random numbers
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Any setting, for example training.clip_norm=1.0; overrides the file and other arguments
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    set: Vec<String>,
    /// Print every setting of this run with its meaning, as a file for --config, and exit. With a preset, print its
    /// recipe, without data; without any argument, the settings of the task `numbers`
    #[arg(long)]
    pub(crate) print_config: bool,
    /// Read text and train tokenizers as a run would, forecast its length, memory and disk space, warn if it is
    /// unlikely to succeed, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Threads that share an update on the CPU; a GPU uses one [default: all cores, up to 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    threads: Option<u16>,
    /// Devices that share an update, each with its own batch [default: 1]
    #[arg(long, value_name = "N")]
    devices: Option<u64>,
    /// Print one line for each interval even on a terminal, instead of the dashboard
    #[arg(long)]
    pub(crate) plain: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum PresetChoice {
    /// The recipe is chosen by the training text.
    Auto,
    Named(Preset),
}

impl FromStr for PresetChoice {
    type Err = <Preset as FromStr>::Err;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "auto" => Ok(Self::Auto),
            name => name.parse().map(Self::Named),
        }
    }
}

impl Arguments {
    /// Returns the settings of the run, and why a recipe was chosen. Arguments override the file, which overrides the
    /// task or preset. Several processes set their number.
    pub(crate) fn experiment(&self, ranks: Ranks) -> Result<(Experiment, Vec<String>), Failure> {
        let mut settings = self.user_settings(ranks)?;
        if let Some(run) = self.continued_run() {
            let reasons = run.settings()?.add_to(&mut settings).into_iter();
            let reasons = reasons.map(|it| format!("continued   {it}"));
            return Ok((settings.experiment()?, reasons.collect()));
        }
        let experiment = match self.print_config {
            true => settings.without_task()?,
            false => settings.experiment()?,
        };
        if !self.chooses_recipe() {
            return Ok((experiment, Vec::new()));
        }
        if self.config.is_some() || self.finetune.is_some() || self.task.is_some() {
            return Err(NO_FILES_FOR_AUTO.into());
        }
        match recommend(&experiment)? {
            Some(recommendation) => {
                settings.recommended = recommendation.settings.clone();
                let experiment = settings.experiment()?;
                let reasons = recommendation.reasons_for(&experiment).into_iter();
                let reasons = reasons.map(|it| format!("auto        {it}")).collect();
                Ok((experiment, reasons))
            }
            None if self.preset.is_some() => Err(NO_FILES_FOR_AUTO.into()),
            None => Ok((experiment, Vec::new())),
        }
    }

    fn chooses_recipe(&self) -> bool {
        let is_set = |key: &str| {
            self.set
                .iter()
                .any(|setting| setting.trim().starts_with(key))
        };
        match self.preset {
            Some(PresetChoice::Auto) => true,
            Some(PresetChoice::Named(_)) => false,
            None => {
                let has_recipe = self.config.is_some()
                    || self.resume.is_some()
                    || self.finetune.is_some()
                    || self.task.is_some()
                    || is_set("model.preset")
                    || is_set("finetune.model");
                let has_files = self.src.is_some() || self.tsv.is_some() || is_set("data.");
                has_files && !has_recipe
            }
        }
    }

    fn user_settings(&self, ranks: Ranks) -> Result<UserSettings, ConfigError> {
        let of_run = |directory: &PathBuf| directory.join("experiment.toml");
        Ok(UserSettings {
            recommended: Table::new(),
            file: self.config.clone().or(self.resume.as_ref().map(of_run)),
            arguments: self.settings(ranks)?,
            settings: self.set.clone(),
        })
    }

    fn continued_run(&self) -> Option<ContinuedRun> {
        Some(ContinuedRun {
            run: self.continued.clone()?,
            new: CorpusSettings {
                src: self.src.clone(),
                tgt: self.tgt.clone(),
                tsv: self.tsv.clone(),
                valid_src: self.valid_src.clone(),
                valid_tgt: self.valid_tgt.clone(),
                valid_tsv: self.valid_tsv.clone(),
                ..CorpusSettings::default()
            },
            replay: self.replay.unwrap_or(0.5),
        })
    }

    fn settings(&self, ranks: Ranks) -> Result<Table, ConfigError> {
        let (mut data, mut model, mut training) = (Table::new(), Table::new(), Table::new());
        let mut finetune = Table::new();
        let files = [
            ("src", &self.src),
            ("tgt", &self.tgt),
            ("tsv", &self.tsv),
            ("valid_src", &self.valid_src),
            ("valid_tgt", &self.valid_tgt),
            ("valid_tsv", &self.valid_tsv),
        ];
        // In a continued run, they are one of several corpora.
        for (key, path) in files.into_iter().filter(|_| self.continued.is_none()) {
            put(&mut data, key, path.as_ref())?;
        }
        put(&mut data, "task", self.task)?;
        put(&mut data, "clean", self.clean)?;
        put(&mut data, "src_lang", self.src_lang.as_ref())?;
        put(&mut data, "tgt_lang", self.tgt_lang.as_ref())?;
        let preset = match self.preset {
            Some(PresetChoice::Named(preset)) => Some(preset),
            Some(PresetChoice::Auto) | None => None,
        };
        put(&mut model, "preset", preset)?;
        put(&mut finetune, "model", self.finetune.as_ref())?;
        put(&mut training, "updates", self.updates)?;
        put(&mut training, "devices", self.devices)?;
        put(&mut training, "seed", self.seed)?;
        let n_ranks = Some(ranks.n_ranks()).filter(|_| !ranks.is_alone());
        put(&mut training, "ranks", n_ranks)?;
        let sections = [
            ("data", data),
            ("model", model),
            ("finetune", finetune),
            ("training", training),
        ];
        let given = sections.into_iter().filter(|(_, keys)| !keys.is_empty());
        Ok(given
            .map(|(section, keys)| (section.to_owned(), Value::Table(keys)))
            .collect())
    }

    /// Returns the number of threads given. The default is the number of cores in CPU memory, and 1 elsewhere.
    pub(crate) fn threads(&self, device: &Device) -> ThreadCount {
        let suggested = || {
            if device::is_cpu_memory(device) {
                suggested_threads()
            } else {
                1
            }
        };
        match self.threads {
            Some(threads) => ThreadCount::Exactly(usize::from(threads)),
            None => ThreadCount::Suggested(suggested()),
        }
    }

    /// Returns the maximum number of threads that the run starts to share its updates.
    pub(crate) fn n_own_threads(&self) -> usize {
        match self.threads.map_or_else(suggested_threads, usize::from) {
            1 => 0,
            n_threads => n_threads,
        }
    }

    pub(crate) fn continued(&self) -> Option<&Path> {
        self.continued.as_deref()
    }

    pub(crate) fn directory(&self) -> Option<&Path> {
        self.resume.as_deref().or(self.out.as_deref())
    }
}

fn suggested_threads() -> usize {
    thread::available_parallelism().map_or(1, |cores| cores.get().min(16))
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err("choose a number of more than 0 and less than 1".to_owned()),
    }
}

fn put(
    table: &mut Table,
    key: &str,
    value: Option<impl serde::Serialize>,
) -> Result<(), ConfigError> {
    if let Some(value) = value {
        let value = Value::try_from(value).map_err(ConfigError::Write)?;
        table.insert(key.to_owned(), value);
    }
    Ok(())
}
