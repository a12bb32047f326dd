//! [`TranslatorError`]: the errors of translations, glossaries, attention and the scheduler, with their remedies.

use std::io;
use std::path::PathBuf;

use burn::store::RecordError;
use serde_json::Value;
use transformer_core::directory::DirectoryError;
use transformer_core::json::JsonError;
use transformer_core::lines::LineError;
use transformer_core::text::DirectionError;
use transformer_core::{ComputePrecision, LoadError};
use transformer_search::SearchError;

use crate::attention::{Head, Kind};

/// Error of a translation, a glossary, attention or a job of the scheduler, with its remedy. Lines, layers and heads
/// are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum TranslatorError {
    /// The model directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The weights do not load.
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(
        "precision {precision} is available only on CPUs, and the device is {device}; choose a CPU backend, such as \
         flex, or leave the precision out"
    )]
    Precision {
        precision: ComputePrecision,
        device: String,
    },
    #[error(
        "the tokenizer has {found} tokens, more than the model's `{field}` = {expected}; use the tokenizer that the \
         model was trained with"
    )]
    VocabSize {
        field: &'static str,
        found: usize,
        expected: usize,
    },
    /// A language is missing or unknown.
    #[error(transparent)]
    Direction(#[from] DirectionError),
    /// The search settings are not valid.
    #[error(transparent)]
    Search(#[from] SearchError),
    #[error(
        "this version cannot read `training.search` in `{}`; use the version that wrote it, or remove the key",
        path.join("manifest.json").display()
    )]
    StoredSearch { path: PathBuf, source: JsonError },
    #[error(
        "`training.search` in `{}` is not a valid search; correct it, or remove the key",
        path.join("manifest.json").display()
    )]
    InvalidStoredSearch { path: PathBuf, source: SearchError },
    #[error(
        "the generation settings of the model in `{}` are not a valid search; correct its generation_config.json, or \
         config.json",
        from.display()
    )]
    Generation { from: PathBuf, source: SearchError },
    #[error("the weights cannot be serialized")]
    Record(#[from] RecordError),
    #[error(
        "`{}` and `{}` have different tokenizers; an ensemble needs models with the same one",
        other.display(),
        first.display()
    )]
    Tokenizers {
        /// The directory of the first model.
        first: PathBuf,
        /// The directory of the model that differs from it.
        other: PathBuf,
    },
    #[error(
        "the prefix `{prefix}` for line {line} has characters that the vocabulary lacks; leave them out"
    )]
    Prefix {
        /// Number of the line among those given, from 1.
        line: usize,
        prefix: String,
    },
    #[error(
        "the prefix for line {line} has at least {most} tokens, but its translation may have at most {most}; raise \
         --max-len, or shorten the prefix"
    )]
    LongPrefix {
        /// Number of the line among those given, from 1.
        line: usize,
        /// Maximum number of tokens of the translation, including EOS.
        most: usize,
    },
    /// The model computed probabilities that are NaN or infinite.
    #[error("the model computes NaN for line {line}; its weights are broken: {}", origin.remedy())]
    NotANumber {
        /// Number of the line among those given, from 1.
        line: usize,
        origin: ModelOrigin,
    },
    #[error(
        "this program failed to translate line {line}: {message}; report this bug with the line, and leave the line \
         out"
    )]
    Panic {
        /// Number of the line among those given, from 1.
        line: usize,
        message: String,
    },
    /// A line of a glossary cannot be read.
    #[error(transparent)]
    Line(#[from] LineError),
    #[error(
        "{name}, line {line} has {n_tabs} tabs; write a term, one tab, and its translation, or begin a comment with #"
    )]
    TermColumns {
        name: String,
        line: u64,
        n_tabs: usize,
    },
    #[error("{name}, line {line} has no {column}; add it, or remove the line")]
    BlankTerm {
        name: String,
        line: u64,
        /// The missing column: `term` or `translation`.
        column: &'static str,
    },
    #[error(
        "{name}, line {line}: the term is that of line {first}, too; keep one of the lines, since a term has one \
         translation"
    )]
    DuplicateTerm {
        name: String,
        line: u64,
        /// Number of the earlier line.
        first: u64,
    },
    #[error(
        "{name} has more than {most} {unit} at line {line}, the limit of a glossary; keep the terms that the text \
         needs"
    )]
    LargeGlossary {
        name: String,
        /// The first line beyond the limit.
        line: u64,
        most: usize,
        /// The limited quantity: `terms`, `bytes`, or `words, spaces and signs`.
        unit: &'static str,
    },
    /// The source whose attention is asked for is blank.
    #[error("the text to translate is blank; give a line with at least one word")]
    BlankSource,
    /// The source whose attention is asked for has more tokens than the limits allow.
    #[error("the text to translate has {n_tokens} tokens, and the limit is {limit}; shorten it")]
    LongSource {
        /// Number of tokens, without EOS.
        n_tokens: usize,
        limit: usize,
    },
    /// The target whose attention is asked for has more tokens than the limits allow.
    #[error("the target has {n_tokens} tokens, and the limit is {limit}; shorten it")]
    LongTarget {
        /// Number of tokens, EOS included.
        n_tokens: usize,
        limit: usize,
    },
    /// The model computed attention weights that are NaN or infinite.
    #[error("the model computes NaN; its weights are broken: train it again, or import it again")]
    AttentionNotANumber,
    #[error(
        "the model has no {kind} attention, but a recurrence in place of it; choose cross or encoder"
    )]
    NoAttention { kind: Kind },
    #[error("there is no layer {layer} in {kind} attention; choose 1 to {n_layers}")]
    NoLayer {
        layer: usize,
        kind: Kind,
        n_layers: usize,
    },
    #[error("there is no head {head} in {kind} attention; choose 1 to {n_heads}, or mean")]
    NoHead {
        head: Head,
        kind: Kind,
        n_heads: usize,
    },
    #[error(
        "{n_queued_tokens} tokens are waiting, and {n_tokens} more would exceed the limit of {limit}; try again when \
         some are translated"
    )]
    QueueFull {
        n_queued_tokens: usize,
        /// Number of source tokens of the job.
        n_tokens: usize,
        /// Maximum number of source tokens that may wait.
        limit: usize,
    },
    #[error(
        "the job has {n_tokens} tokens, more than the limit of {limit} tokens that may wait; split it"
    )]
    JobTooLarge {
        /// Number of source tokens of the job.
        n_tokens: usize,
        /// Maximum number of source tokens that may wait.
        limit: usize,
    },
    #[error("the scheduler is shut down and takes no more jobs; make another one")]
    ShutDown,
    #[error(
        "the system cannot start a thread to translate on; raise the limit of processes (`ulimit -u`, or that of the \
         container) or of memory"
    )]
    Threads(#[source] io::Error),
}

/// The origin of a model, by its manifest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelOrigin {
    /// The program transformer-train.
    Trained,
    /// A file of another program, which was imported.
    Imported,
    /// Unknown: the model was made in memory, or by a user's own program.
    #[default]
    Unknown,
}

impl ModelOrigin {
    pub(crate) fn of(training: &Value) -> Self {
        match training["program"].as_str() {
            Some(program) if program.starts_with("transformer-train") => Self::Trained,
            Some(program) if program.ends_with(" import") => Self::Imported,
            _ => Self::Unknown,
        }
    }

    const fn remedy(self) -> &'static str {
        match self {
            Self::Trained => "train again, with a lower learning rate if it happens again",
            Self::Imported => "get the original again, and import it again",
            Self::Unknown => "make the model again",
        }
    }
}

impl PartialEq for TranslatorError {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl TranslatorError {
    /// Returns the number of the faulty line among those given, from 1; `None` if the error is not about a line.
    pub const fn line(&self) -> Option<usize> {
        match self {
            Self::NotANumber { line, .. }
            | Self::Panic { line, .. }
            | Self::Prefix { line, .. }
            | Self::LongPrefix { line, .. } => Some(*line),
            _ => None,
        }
    }

    /// Changes the line number: `to_input` maps the number among the given lines to the number in the whole input, both
    /// from 1.
    #[must_use]
    pub fn with_line(mut self, to_input: impl FnOnce(usize) -> usize) -> Self {
        if let Self::NotANumber { line, .. }
        | Self::Panic { line, .. }
        | Self::Prefix { line, .. }
        | Self::LongPrefix { line, .. } = &mut self
        {
            *line = to_input(*line);
        }
        self
    }
}
