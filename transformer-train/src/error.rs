//! [`TrainError`]: the errors that end a run.

use std::io;
use std::path::{Path, PathBuf};

use burn::store::RecordError;
use transformer_core::ConfigError as ModelConfigError;
use transformer_core::directory::DirectoryError;
use transformer_core::import::WordVectorsError;
use transformer_core::lines::LineError;
use transformer_core::text::TokenizerError;

use crate::checkpoint::Misfit;
use crate::config::ConfigError;
use crate::corpus::CorpusSummary;

/// An error that ends a run. Its message names the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum TrainError {
    /// The experiment's settings are invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The model's settings are invalid.
    #[error(transparent)]
    Model(#[from] ModelConfigError),
    /// A tokenizer cannot be trained.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// Word vectors cannot be used.
    #[error(transparent)]
    WordVectors(#[from] WordVectorsError),
    /// A file of the run or of the token store cannot be written, or the model to be trained further cannot be read.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// A file of text cannot be opened, read or decoded.
    #[error(transparent)]
    Line(#[from] LineError),
    #[error(
        "cleaning leaves no pair of {file}: the reasons are above; check the files and `--src-lang` and `--tgt-lang`, or \
         keep all pairs by `--clean=false`"
    )]
    AllDropped { file: String },
    #[error(
        "{src} has {src_lines} lines but {tgt} has {tgt_lines}; line n of one must be the translation of line n of the \
         other"
    )]
    LineCounts {
        src: String,
        src_lines: u64,
        tgt: String,
        tgt_lines: u64,
    },
    #[error("{file}, line {line}: no tab; write the source, one tab, the target")]
    NoTab { file: String, line: u64 },
    #[error(
        "{file}, line {line}: {columns} columns; keep source and target only, for example with `cut -f 1,2`"
    )]
    ExtraColumns {
        file: String,
        line: u64,
        columns: usize,
    },
    #[error("{file} is empty; give at least one pair of lines")]
    EmptyFile { file: String },
    #[error(
        "pair {pair} of {file} has an empty {side}; correct the files, or set `data.empty` to `drop`"
    )]
    EmptySide {
        file: String,
        /// Number of the pair, from 1: that of its line.
        pair: u64,
        /// The side that is blank: `source` or `target`.
        side: &'static str,
    },
    #[error(
        "no validation pair of corpus {number} of `data.corpora` passes the filters; check its `valid_src` and \
         `valid_tgt`, or `valid_tsv`, or raise `data.max_len`"
    )]
    NothingToValidate {
        /// The number of the corpus, from 1.
        number: usize,
    },
    #[error(
        "no pair of {file} is left: {summary}; check the files, and `max_len` and the other filters in `[data]`"
    )]
    NothingKept {
        file: String,
        summary: Box<CorpusSummary>,
    },
    #[error("{file} has only one pair, so none can be held out; give validation files")]
    TooFewToHoldOut { file: String },
    #[error(
        "the token store `{path}`: {source}; check the disk, or delete its folder to have it built again"
    )]
    Store { path: PathBuf, source: io::Error },
    #[error("cannot write `{path}`: {source}; check that the folder exists and the disk has space")]
    WriteStore { path: PathBuf, source: io::Error },
    #[error("there are no sentences to plan; give a corpus with at least one pair")]
    NoSentences,
    #[error("{n_sentences} sentences are more than a plan supports (4,294,967,295); use fewer")]
    TooManySentences { n_sentences: usize },
    #[error(
        "with these weights a pass has about {n_drawn:.1} sentences; choose weights that make it 1 to 4,294,967,295"
    )]
    CorpusWeights {
        /// Mean number of sentences per pass.
        n_drawn: f64,
    },
    #[error("`window` is 0; choose at least 1, for example 131072")]
    ZeroWindow,
    #[error(
        "sentence {sentence} alone has {n_tokens} tokens, more than `tokens_per_batch` ({tokens_per_batch}); raise \
         `tokens_per_batch` to at least {n_tokens}, or lower `max_len`"
    )]
    OverBudget {
        /// Index of the sentence, from 0, in the given lengths.
        sentence: usize,
        /// Tokens of its longer side, the end token included.
        n_tokens: u64,
        tokens_per_batch: usize,
    },
    #[error("source and target are both `-`; only one of them can be standard input")]
    StandardInputTwice,
    #[error(
        "`{}` is multilingual, and training does not add the tokens of its languages to sentences; train a model of \
         one pair further, or translate with this one",
        path.display()
    )]
    Multilingual { path: PathBuf },
    #[error(
        "`{path}` is a BART, and training does not begin sentences with its token `<bos>`; train another model further, or \
         translate with this one"
    )]
    Bart { path: PathBuf },
    /// The weights of the model to be trained further cannot be read.
    #[error(transparent)]
    Load(#[from] transformer_core::LoadError),
    #[error("the weights cannot be encoded: {source}")]
    Encode { source: RecordError },
    #[error(
        "`{path}` is not a record that this program can read: {source}; restore the file, or resume with the version \
         of the program that wrote it"
    )]
    NotARecord { path: PathBuf, source: RecordError },
    #[error(
        "`{path}` does not fit the model: {misfit}; use the settings that it was trained with (`[model]` and \
         `training.ema_decay`), or train in another folder with --out"
    )]
    Misfit {
        path: PathBuf,
        #[source]
        misfit: Misfit,
    },
    #[error(
        "cannot read `{path}` or the other files of its checkpoint: {source}; check the disk and the file permissions, \
         and run the same command again: nothing was changed"
    )]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(
        "`{path}` is a checkpoint of another version of the program (format {format}; this one reads format 2); resume \
         with that version, or train in another folder with --out"
    )]
    OtherFormat { path: PathBuf, format: u64 },
    #[error(
        "the settings in `{path}` cannot be read: {source}; resume with the version of the program that wrote it"
    )]
    Settings { path: PathBuf, source: ConfigError },
    #[error(
        "the run has already done {done} updates and cannot be shortened; give --updates {done} or more, or another \
         folder with --out"
    )]
    TooManyUpdates {
        /// Number of updates done.
        done: u64,
        /// Number of updates requested, in all.
        requested: u64,
    },
    #[error(
        "the run ended after {done} updates, which is not a multiple of `validation_interval` ({interval}), so it \
         cannot be extended; train in another folder with --out, or replace the run with --overwrite"
    )]
    WithinInterval {
        /// Number of updates done.
        done: u64,
        /// Number of updates in an interval.
        interval: u64,
    },
    #[error(
        "`validation.command` has no score: {source}; mend it and run the same command again, or set \
         `validation.command_failure` to \"warn\""
    )]
    Command { source: Box<Self> },
    /// A file for the command that scores translations cannot be written or read.
    #[error("`{path}`: {source}")]
    CommandFile { path: PathBuf, source: io::Error },
    #[error("`{program}` cannot be started: {source}; check `validation.command`")]
    CommandStart { program: String, source: io::Error },
    /// The command that scores translations ran too long.
    #[error("it was killed after {seconds} seconds; raise `validation.command_time_limit`")]
    CommandKilled { seconds: u64 },
    /// The command that scores translations failed.
    #[error("it ended with {status}{}; all it wrote is in `{}`", said(.last_line), path.display())]
    CommandFailed {
        status: String,
        last_line: String,
        path: PathBuf,
    },
    /// The command that scores translations printed no number.
    #[error("its last line has no number: `{last_line}`; all it printed is in `{path}`")]
    NoScore { last_line: String, path: PathBuf },
    #[error(
        "the system does not start the {n_threads} threads that share an update; raise the limit of processes (`ulimit \
         -u`, or that of the container) or of memory, or train with --threads 1, which gives another model"
    )]
    Threads { n_threads: usize, source: io::Error },
    #[error(
        "`{path}` already holds a run; choose another folder with --out, or replace the run with --overwrite"
    )]
    OutputExists { path: PathBuf },
    #[error(
        "`{path}` has a manifest.json, so it is a model directory and not the folder of a run; choose another folder \
         with --out"
    )]
    IsModel { path: PathBuf },
    /// The output folder, or a folder above it, is a link to a missing target.
    #[error("cannot use `{path}`: {source}")]
    Link { path: PathBuf, source: io::Error },
    #[error("`{path}` is a file; choose another folder with --out")]
    IsFile { path: PathBuf },
    #[error(
        "`{path}` holds a run with other settings: {}; resume without the change (--resume reads `{}`){}, train in \
         another folder with --out, or replace the run with --overwrite",
        differences.join(", "),
        path.join("experiment.toml").display(),
        if *.is_possible { ", or with it by --allow-changes" } else { "" }
    )]
    OtherRun {
        path: PathBuf,
        differences: Vec<String>,
        /// True if the run can be resumed with them ([`Existing::Change`](crate::Existing::Change)).
        is_possible: bool,
    },
    #[error(
        "{change}, and no update is left that it affects: the run in `{path}` has done all of its {done}; give it more \
         with --updates, or resume without the change (--resume reads `{}`)", path.join("experiment.toml").display()
    )]
    WithoutEffect {
        path: PathBuf,
        change: String,
        done: u64,
    },
    #[error(
        "`{path}` holds this very run, stopped after {done} updates; resume it, without --overwrite, or delete the \
         folder to start again"
    )]
    Unfinished { path: PathBuf, done: u64 },
    #[error(
        "`{path}` holds the model that is to be trained further, which the run would replace; choose another folder \
         with --out"
    )]
    OwnModel { path: PathBuf },
    #[error(
        "`{path}` holds a run without an intact checkpoint to resume at; choose another folder with --out, or replace \
         the run with --overwrite"
    )]
    NoCheckpoint { path: PathBuf },
    #[error("`{path}` has no intact checkpoint after update {update}; it has those after {}", list(.existing))]
    NoSuchCheckpoint {
        path: PathBuf,
        update: u64,
        existing: Vec<u64>,
    },
    /// A run has fewer checkpoints than requested for the mean.
    #[error("`{path}` {}; raise `keep_last` or `keep_best` in the next run", fewer(*.requested, .existing))]
    TooFewCheckpoints {
        path: PathBuf,
        requested: usize,
        existing: Vec<u64>,
    },
    #[error("`{path}` exists already; choose another folder with --out")]
    FolderExists { path: PathBuf },
    #[error(
        "`training.devices` is {requested}, but {given} devices are given; make the numbers equal"
    )]
    OtherDevices { requested: u64, given: usize },
    #[error(
        "`training.precision` is `bf16`, which {device} does not multiply here: a CPU needs backend `flex`, Linux and \
         the instructions `amx_bf16`, a GPU a driver with bfloat16; set it to `f32`, with \
         --allow-changes if the run has begun"
    )]
    NoBf16 { device: String },
    #[error(
        "`training.ranks` is {requested}, and {given} process(es) were started; start {requested} by `mpirun -n \
         {requested}`, or set it to {given} and `training.accumulate` so that their product stays"
    )]
    OtherRanks { requested: u64, given: usize },
    #[error(
        "MPI has started {n_ranks} processes of this program, which is built without MPI, so each would train alone; \
         build it with `--features mpi`"
    )]
    NoMpi { n_ranks: usize },
    #[error("MPI is in use already; start it once, before anything else in the program does")]
    MpiStarted,
    #[error(
        "the MPI library supports threads only at the level {found}, and training needs `serialized`; install one that \
         is built with threads, for example Open MPI of your distribution"
    )]
    MpiThreads { found: String },
    #[error(
        "rank {rank} does not have the same {what} as rank 0; all processes need the same text, settings and program, \
         and the folder of the run on a disk that they share"
    )]
    OtherInputs { rank: usize, what: &'static str },
    #[error(
        "the weights of the {n_ranks} processes are no longer equal: their processors or libraries round differently; \
         use machines of one kind and the same program. Checkpoints are those of rank 0"
    )]
    WeightsDiffer { n_ranks: usize },
    #[error("another program is training in `{path}`; wait for its end, or choose another folder")]
    InUse { path: PathBuf },
    #[error(
        "the run in `{path}` was started on other text; give it the same files, choose another folder with --out, or \
         replace the run with --overwrite"
    )]
    OtherCorpus { path: PathBuf },
    #[error("cannot delete `{path}`: {source}; delete it by hand")]
    Delete { path: PathBuf, source: io::Error },
    #[error("cannot write `{path}`: {source}; check that the folder exists and has room")]
    Write { path: PathBuf, source: io::Error },
    /// The loss or the norm of the gradients is NaN or infinite: the current weights are lost, but not those saved
    /// before.
    #[error(
        "the {what} of update {update} is {value}{}; {}; lower the learning rate (`learning_rate_factor`, or \
         `peak_learning_rate` where it is set), raise `warmup_steps`, or set `clip_norm`",
        made_of(.lines),
        saved(.model.as_deref())
    )]
    NonFinite {
        /// The update, from 1.
        update: u64,
        what: &'static str,
        value: f64,
        /// The lines of the text in the update, from 1; empty if unknown.
        lines: Vec<u64>,
        /// The model directory, if a model was saved.
        model: Option<PathBuf>,
    },
    /// Burn's Learner stopped on its own error.
    #[error(
        "training stopped: {reason}; {}{}",
        saved(.model.as_deref()),
        if .model.is_some() {
        ", and --resume continues from there"
    } else {
        ""
    }
    )]
    Learner {
        reason: String,
        /// The model directory, if a model was saved.
        model: Option<PathBuf>,
    },
    #[error("stopped before the first update; nothing is lost, and the same command starts again")]
    Interrupted,
    #[error("stopped before the first validation: no model was made")]
    NothingTrained,
}

impl TrainError {
    /// Returns a function that turns an I/O error of checking `path` into [`TrainError::Link`].
    pub(crate) fn link(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Link {
            path: path.to_owned(),
            source,
        }
    }

    /// Returns a function that turns an I/O error of writing `path` into [`TrainError::Write`].
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Write {
            path: path.to_owned(),
            source,
        }
    }

    /// Returns a function that turns an I/O error of writing `path` into [`TrainError::WriteStore`].
    pub(crate) fn write_store(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::WriteStore {
            path: path.to_owned(),
            source,
        }
    }
}

fn said(last_line: &str) -> String {
    match last_line {
        "" => String::new(),
        line => format!(": {line}"),
    }
}

/// Describes the existing checkpoints, which are fewer than requested.
fn fewer(requested: usize, existing: &[u64]) -> String {
    match existing.len() {
        0 => "has no intact checkpoint".to_owned(),
        n => format!(
            "has no {requested} intact checkpoints, only those after {}; choose at most {n}",
            list(existing)
        ),
    }
}

fn list(numbers: &[u64]) -> String {
    match numbers {
        [] => "none".to_owned(),
        numbers => numbers
            .iter()
            .map(u64::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// Lists the lines of the text in an update, or the first ten of them.
fn made_of(lines: &[u64]) -> String {
    match lines.get(..10) {
        Some(first) if lines.len() > 10 => {
            format!(
                ", made of lines {} and {} more",
                list(first),
                lines.len() - 10
            )
        }
        _ if lines.is_empty() => String::new(),
        _ => format!(", made of lines {}", list(lines)),
    }
}

fn saved(model: Option<&Path>) -> String {
    match model {
        Some(path) => format!(
            "the model of the validation before is kept in `{}`",
            path.display()
        ),
        None => "no model was saved yet".to_owned(),
    }
}
