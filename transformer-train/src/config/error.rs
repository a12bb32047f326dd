//! [`ConfigError`]: the errors in the settings, each in one line with the key and a remedy.

use std::io;
use std::path::PathBuf;

use transformer_core::lines::LineError;
use transformer_core::text::{TokenizerError, TokenizerKind};

use crate::tasks::Task;

/// An error in the settings of an experiment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum ConfigError {
    #[error("cannot read `{file}`: {source}; check the path")]
    Read { file: String, source: io::Error },
    /// A key, or a name used as a value, is unknown.
    #[error("{location}: `{name}` is unknown here; {}", suggestion(.nearest.as_deref(), .known))]
    Unknown {
        /// The file with its line, from 1, or the argument.
        location: String,
        name: String,
        /// The most similar known name, if any is similar.
        nearest: Option<String>,
        known: Vec<String>,
    },
    #[error(
        "`model.src_without_eos` is true, but sources have EOS in training; set it to false, or translate with the \
         model only"
    )]
    SourcesWithoutEos,
    #[error("`{key}` cannot be combined with `finetune.model`, which determines it; remove it")]
    FixedByModel { key: String },
    /// The file is not TOML, or a value has the wrong type.
    #[error("`{file}`, line {line}: {message}, in `{text}`")]
    Toml {
        file: String,
        /// The line, from 1.
        line: usize,
        message: String,
        text: String,
    },
    /// A setting on the command line has a value of the wrong type.
    #[error("`--set {setting}`: {message}")]
    InvalidSetting { setting: String, message: String },
    #[error(
        "`--set {given}` has no value; write section.key=value, for example training.updates=500"
    )]
    MissingValue { given: String },
    #[error("cannot write the settings as TOML: {0}; keep seeds below 2^63 and paths UTF-8")]
    Write(#[source] toml::ser::Error),
    #[error(
        "there is no training data; set `task`, `src` and `tgt`, `tsv`, or `corpora` in [data]"
    )]
    NoData,
    #[error("`{first}` and `{second}` exclude each other; remove one of them")]
    Conflict {
        first: &'static str,
        second: &'static str,
    },
    #[error("`{given}` is set without `{missing}`; set both")]
    MissingSide {
        given: &'static str,
        missing: &'static str,
    },
    #[error("in corpus {number} of `data.corpora`: {source}")]
    InCorpus {
        /// The number of the corpus, from 1.
        number: usize,
        source: Box<Self>,
    },
    /// One of several corpora has no files.
    #[error("it has no files; set `src` and `tgt`, or `tsv`")]
    NoFilesInCorpus,
    #[error(
        "the run `{run}` learned a built-in task, which has no old pairs; name a run of text files"
    )]
    NoOldText { run: PathBuf },
    #[error(
        "the run `{run}` has corpora with different tags, and only you know that of the new text; write a file of settings \
         with `[[data.corpora]]` and `finetune.model`"
    )]
    SeveralTags { run: PathBuf },
    /// A file of a run that is continued cannot be read.
    #[error(transparent)]
    Line(#[from] LineError),
    #[error(
        "name the new pairs by `--src` and `--tgt`, or by `--tsv`, and validation pairs of the same text by `--valid-src` and \
         `--valid-tgt`, or by `--valid-tsv`"
    )]
    NoNewText,
    /// A text cannot be the tag of a corpus.
    #[error("in `{key}`: {source}")]
    Tag {
        key: &'static str,
        source: TokenizerError,
    },
    /// A text cannot be a user-defined symbol.
    #[error("in `tokenizer.user_symbols`: {0}")]
    UserSymbol(#[source] TokenizerError),
    #[error(
        "the tokenizer of the model that is trained further does not know the tag `{tag}` of corpus {number}; choose \
         one that it knows, or train a new model"
    )]
    UnknownTag {
        tag: String,
        /// The number of the corpus, from 1.
        number: usize,
    },
    #[error("two files are `-`; only one of them can be standard input")]
    StandardInputTwice,
    #[error("`{key}` is {value}; choose {allowed}")]
    OutOfRange {
        key: &'static str,
        value: String,
        allowed: &'static str,
    },
    /// The command that scores translations has no word.
    #[error("the command is empty; give a program, for example `score.sh {{src}} {{hyp}} {{ref}}`")]
    EmptyCommand,
    #[error("the command `{text}` has an unclosed double quote; close it")]
    OpenQuote { text: String },
    #[error("the command `{text}` lacks `{{hyp}}`, the file with the translations; add it")]
    NoTranslations { text: String },
    #[error("there is no task `{name}`; did you mean `{nearest}`? (tasks: numbers, reverse, copy)")]
    UnknownTask { name: String, nearest: Task },
    #[error("`{key}` is {value}; choose at most {max}")]
    TooLarge {
        key: &'static str,
        value: u64,
        max: u64,
    },
    #[error(
        "`training.schedule` is `inverse-sqrt` without a peak; set `training.peak_learning_rate`, for example 0.0005"
    )]
    MissingPeak,
    #[error(
        "`training.precision` is `{precision}`; set it to `bf16` or `f32`: the smallest `f16` is 6e-8, so that small \
         gradients would be lost"
    )]
    UnsupportedPrecision { precision: &'static str },
    #[error(
        "`{key}` ({value}) is too small for a sentence of `data.max_len` ({max_len}) tokens and EOS; choose at least \
         {}, or lower `data.max_len`", max_len.saturating_add(1)
    )]
    TooSmallForSentences {
        key: &'static str,
        /// The value, in tokens.
        value: usize,
        /// Maximum length of a sentence, in tokens.
        max_len: usize,
    },
    #[error("`tokenizer.{key}` needs `vocabulary = \"separate\"`; set that, or remove the key")]
    TargetKeyWithJointVocabulary { key: &'static str },
    #[error(
        "`tokenizer.byte_fallback` needs `bpe` or `unigram`, but `tokenizer.{key}` is `{kind}`; choose one of them, or \
         remove `byte_fallback`"
    )]
    BytesWithoutPieces {
        key: &'static str,
        kind: TokenizerKind,
    },
    #[error(
        "`tokenizer.dropout` needs the merges of BPE, but `{key}` is `{kind}`; choose `bpe`, or remove `dropout`"
    )]
    DropoutWithoutMerges {
        key: &'static str,
        kind: TokenizerKind,
    },
    /// The settings of the model contradict each other.
    #[error("in [model]: {0}")]
    InvalidModel(#[source] transformer_core::ConfigError),
    /// A key in `[model]` is unknown, or its value has the wrong type.
    #[error("in [model]: {reason}")]
    InvalidModelKey { reason: String },
    #[error(
        "`model.{key}` cannot be set: it follows from the tokenizers; remove it, and set `tokenizer.vocab_size`"
    )]
    VocabularySizeInModel { key: &'static str },
}

impl ConfigError {
    pub(super) fn conflict(first: &'static str, second: &'static str) -> Self {
        Self::Conflict { first, second }
    }

    pub(super) fn missing(missing: &'static str, given: &'static str) -> Self {
        Self::MissingSide { given, missing }
    }

    pub(super) fn in_corpus(number: usize) -> impl Fn(Self) -> Self {
        move |error| Self::InCorpus {
            number,
            source: Box::new(error),
        }
    }
}

impl PartialEq for ConfigError {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

fn suggestion(nearest: Option<&str>, known: &[String]) -> String {
    match nearest {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("choose one of {}", known.join(", ")),
    }
}
