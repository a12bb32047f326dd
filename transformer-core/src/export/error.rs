//! [`ExportError`]: the errors of exports.

use std::path::PathBuf;

use thiserror::Error;

/// Error in exporting a model.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum ExportError {
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
    #[error(
        "the vocabulary is not that of its SentencePiece model, which {format} have; train with `tokenizer.kind = \
         \"unigram\"`, `tokenizer.case = \"keep\"` and no `tokenizer.user_symbols`, or choose another format"
    )]
    Vocabulary { format: &'static str },
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
    #[error(
        "no line to learn the scales of activations from; give text in the source language (`--calibrate FILE`)"
    )]
    Calibration,
    #[error(
        "the text gives the input of `{name}` the scale {alpha}, but scales are positive and finite; give other text \
         (`--calibrate FILE`), or retrain"
    )]
    Scale { name: String, alpha: f32 },
    #[error(
        "`{name}` has a value that is not finite, which integers cannot represent; retrain, or take an earlier checkpoint"
    )]
    Infinite { name: String },
    #[error("`{name}` is too large for {format}")]
    TooLarge { name: String, format: &'static str },
    #[error(
        "`{path}` has a manifest.json, as model directories have, and the export would damage one; choose another \
         folder"
    )]
    ModelDirectory { path: PathBuf },
    #[error("the weights cannot be put into a file")]
    Safetensors(#[from] safetensors::SafeTensorError),
    #[error("cannot write `{path}`")]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
}
