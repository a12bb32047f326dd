//! What can be wrong with an experiment, said in one line with key and remedy.

use std::io;

use transformer_core::text::TokenizerKind;

/// Says why an experiment cannot be read or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read `{file}`: {source}; check the path")]
    Read {
        /// The file.
        file: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A key or a name in place of a value is not known.
    #[error("{place}: `{name}` is not known here; {}", suggestion(.nearest.as_deref(), .known))]
    Unknown {
        /// Where: file and line, from 1, or the argument.
        place: String,
        /// What stands there.
        name: String,
        /// What may have been meant.
        nearest: Option<String>,
        /// Everything that could stand there.
        known: Vec<String>,
    },
    /// A setting belongs to the model that a run goes on from.
    #[error(
        "`{key}` does not go with `finetune.model`, whose model decides about it; leave it out"
    )]
    FixedByModel {
        /// The key, with its section.
        key: String,
    },
    /// The file is not TOML, or a value is of the wrong kind.
    #[error("`{file}` line {line}: {message}, in `{text}`")]
    Toml {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What the reader said.
        message: String,
        /// The line itself.
        text: String,
    },
    /// A setting on the command line has a value of the wrong kind.
    #[error("`--set {setting}`: {message}")]
    Setting {
        /// The setting.
        setting: String,
        /// What the reader said.
        message: String,
    },
    /// What is given as a setting is none.
    #[error(
        "`--set {given}` has no value; write section.key=value, for example training.updates=500"
    )]
    NoSetting {
        /// What is given.
        given: String,
    },
    /// The experiment cannot be written as TOML.
    #[error("cannot write the settings as TOML: {0}; keep seeds below 2^63 and paths UTF-8")]
    Write(#[source] toml::ser::Error),
    /// There is no data.
    #[error("there is nothing to train on; give `task`, `src` and `tgt`, or `tsv` in [data]")]
    NoData,
    /// Two settings exclude each other.
    #[error("`{first}` and `{second}` are both given; remove one of them")]
    Conflict {
        /// One key.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// One of two files is missing.
    #[error("`{given}` is given without `{missing}`; give both")]
    HalfPair {
        /// The key given.
        given: &'static str,
        /// The key missing.
        missing: &'static str,
    },
    /// One of several corpora has no files.
    #[error("one of `data.corpora` names no file; give `src` and `tgt`, or `tsv`")]
    NoFilesInCorpus,
    /// Two files are standard input.
    #[error("`-` is given for two files; only one of them can be standard input")]
    StandardInputTwice,
    /// A value is outside its range.
    #[error("`{key}` is {value}; choose {allowed}")]
    OutOfRange {
        /// The key.
        key: &'static str,
        /// The value given.
        value: String,
        /// The range, in words.
        allowed: &'static str,
    },
    /// A number is beyond what anybody needs, and what can be counted with.
    #[error("`{key}` is {value}; choose at most {most}")]
    TooLarge {
        /// The key.
        key: &'static str,
        /// The value given.
        value: u64,
        /// The largest that is allowed.
        most: u64,
    },
    /// A schedule that falls from a peak has none.
    #[error(
        "`training.schedule` is `inverse-sqrt` without a peak; set `training.peak_learning_rate`, for example 0.0005"
    )]
    NoPeak,
    /// The weights would have to be computed with in fewer bits.
    #[error(
        "`training.precision` is `{precision}`; set it to `f32`: in 16 bits this program is slower on \
         processors (docs/experiments.md), and nobody has tried it on a GPU"
    )]
    Precision {
        /// The precision asked for.
        precision: &'static str,
    },
    /// A sentence that the filter lets through would fit in no batch.
    #[error(
        "`training.tokens_per_batch` ({tokens_per_batch}) has no room for a sentence of \
         `data.max_len` ({max_len}) tokens and its end; choose at least {}, or lower `data.max_len`",
        max_len.saturating_add(1)
    )]
    BatchTooSmall {
        /// The budget.
        tokens_per_batch: usize,
        /// The longest sentence.
        max_len: usize,
    },
    /// A sentence that the filter lets through would have more tokens than there are learned positions.
    #[error(
        "`model.max_positions` ({max_positions}) has no place for the end of a sentence of \
         `data.max_len` ({max_len}) tokens; choose at least {}, or lower `data.max_len`",
        max_len.saturating_add(1)
    )]
    TooFewPositions {
        /// The number of learned positions.
        max_positions: usize,
        /// The longest sentence.
        max_len: usize,
    },
    /// A setting of the target tokenizer, where there is one tokenizer.
    #[error("`tokenizer.{key}` needs `vocabulary = \"separate\"`; change that, or remove the key")]
    TargetKeyWithJointVocabulary {
        /// The key.
        key: &'static str,
    },
    /// Dropout of merges, where there are none.
    #[error(
        "`tokenizer.dropout` leaves out merges, and `{key}` is `{kind}`, which has none; choose `bpe`, or \
         remove `dropout`"
    )]
    DropoutWithoutMerges {
        /// The key of the tokenizer's kind.
        key: &'static str,
        /// The kind.
        kind: TokenizerKind,
    },
    /// The settings of the model do not fit together.
    #[error("in [model]: {0}")]
    Shape(#[source] transformer_core::ConfigError),
    /// A key of `[model]` has no meaning.
    #[error("in [model]: {reason}")]
    Model {
        /// What the reader said.
        reason: String,
    },
    /// A vocabulary size in the model.
    #[error(
        "`model.{key}` cannot be set: it comes from the text; remove it, and set \
         `tokenizer.vocab_size`"
    )]
    VocabularySizeInModel {
        /// The key.
        key: &'static str,
    },
}

impl PartialEq for ConfigError {
    /// Compares what is said.
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
