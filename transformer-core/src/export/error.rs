//! [`ExportError`]: the errors of exports.

use std::path::PathBuf;

use thiserror::Error;

/// Error in exporting a model.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "a field's name says what it holds")]
pub enum ExportError {
    /// The format does not support the value of a setting.
    #[error(
        "`{key}` is {found}, but {format} support only {expected}; retrain with another `model.{key}`, or choose \
         another format"
    )]
    Setting {
        key: String,
        found: String,
        format: &'static str,
        expected: String,
    },
    /// The vocabulary is not that of a SentencePiece model.
    #[error(
        "the vocabulary is not that of its SentencePiece model, which {format} have; train with `tokenizer.kind = \
         \"unigram\"`, `tokenizer.case = \"keep\"` and no `tokenizer.user_symbols`, or choose another format"
    )]
    Vocabulary { format: &'static str },
    /// The number of tokens does not fit the format.
    #[error(
        "the target vocabulary has {found} tokens without `<pad>` and `<s>`, but {format} need a multiple of {step}; train \
         with a vocabulary of {fitting} tokens (`tokenizer.vocab_size`), or choose another format"
    )]
    VocabularySize {
        found: usize,
        format: &'static str,
        step: usize,
        fitting: usize,
    },
    /// The text to learn scales from is empty.
    #[error(
        "no line to learn the scales of activations from; give text in the source language (`--calibrate FILE`)"
    )]
    Calibration,
    /// The input of a matrix has no scale.
    #[error(
        "the text gives the input of `{name}` the scale {alpha}, but scales are positive and finite; give other text \
         (`--calibrate FILE`), or retrain"
    )]
    Scale { name: String, alpha: f32 },
    /// A weight is infinite or not a number.
    #[error(
        "`{name}` has a value that is not finite, which integers cannot represent; retrain, or take an earlier checkpoint"
    )]
    Infinite { name: String },
    /// A number does not fit into the format's fields.
    #[error("`{name}` is too large for {format}")]
    TooLarge { name: String, format: &'static str },
    /// The folder is a model directory, and the export would overwrite its files.
    #[error(
        "`{path}` has a manifest.json, as model directories have, and the export would damage one; choose another \
         folder"
    )]
    ModelDirectory { path: PathBuf },
    /// A tensor cannot be written.
    #[error("the weights cannot be put into a file")]
    Safetensors(#[from] safetensors::SafeTensorError),
    /// A file cannot be written.
    #[error("cannot write `{path}`")]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
}
