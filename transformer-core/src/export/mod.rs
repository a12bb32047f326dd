//! Models on their way to other programs.
//!
//! - `marian`: [`to_marian`], a folder of Hugging Face's Transformers.
//! - `ctranslate2`: [`to_ctranslate2`], a folder of CTranslate2.
//! - `files`: [`to_safetensors`], for programs that are written for it; and what all of them write.
//!
//! Where a model comes from elsewhere, see [`import`](crate::import).

mod ctranslate2;
mod files;
mod marian;

use std::path::PathBuf;

use burn::tensor::TensorData;
use serde_json::json;
use thiserror::Error;

pub use ctranslate2::to_ctranslate2;
pub use files::to_safetensors;
pub use marian::to_marian;

use crate::config::TransformerConfig;

/// Says why a model cannot be exported.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The format has no word for a setting.
    #[error(
        "`{key}` is {found}, which {format} cannot have; only {expected} can be exported: train with `model.{key}` so, or \
         choose another format"
    )]
    Setting {
        /// The field of the config.
        key: &'static str,
        /// Its value.
        found: String,
        /// Whose models they would be.
        format: &'static str,
        /// What could be exported.
        expected: &'static str,
    },
    /// A number is larger than the format's fields.
    #[error("`{name}` is too large for {format}")]
    TooLarge {
        /// The tensor.
        name: String,
        /// Whose format it is.
        format: &'static str,
    },
    /// The folder is a model directory, whose files have names that the export's have.
    #[error(
        "`{}` has a manifest.json, as model directories have, and the export would damage one; choose another \
         folder",
        path.display()
    )]
    ModelDirectory {
        /// The folder.
        path: PathBuf,
    },
    /// A tensor cannot be written.
    #[error("the weights cannot be put into a file")]
    Safetensors(#[from] safetensors::SafeTensorError),
    /// A file cannot be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Holds what is to be known of a setting before a model with it goes out.
struct Check {
    key: &'static str,
    /// Whether the format has a word for it.
    fits: bool,
    found: String,
    expected: &'static str,
}

impl Check {
    /// Attention as everybody computes it: heads that share `d_model` evenly, and no windows.
    fn of_attention(config: &TransformerConfig) -> [Self; 4] {
        let width = config.d_model / config.n_heads;
        let is_even = width * config.n_heads == config.d_model;
        let width_of = |key, found: usize| Self {
            key,
            fits: is_even && found == width,
            found: found.to_string(),
            expected: "d_model / n_heads",
        };
        let window = |key, found: Option<usize>| Self {
            key,
            fits: found.is_none(),
            found: json!(found).to_string(),
            expected: "attention without a window",
        };
        [
            width_of("d_k", config.head_d_k()),
            width_of("d_v", config.head_d_v()),
            window("encoder_window", config.encoder_window),
            window("decoder_window", config.decoder_window),
        ]
    }
}

/// Refuses the first setting that a format has no word for.
fn refuse_misfits(
    format: &'static str,
    checks: impl IntoIterator<Item = Check>,
) -> Result<(), ExportError> {
    let misfit = checks.into_iter().find(|check| !check.fits);
    misfit.map_or(Ok(()), |check| {
        Err(ExportError::Setting {
            key: check.key,
            found: check.found,
            format,
            expected: check.expected,
        })
    })
}

/// Returns the transpose of a matrix: `[inputs, outputs]` here is `[outputs, inputs]` elsewhere.
fn turned(matrix: &TensorData) -> TensorData {
    let &[n_rows, n_columns] = &matrix.shape()[..] else {
        return matrix.clone();
    };
    let numbers: Vec<f32> = matrix.iter::<f32>().collect();
    let column = |first: usize| numbers[first..].iter().step_by(n_columns).copied();
    let turned: Vec<f32> = (0..n_columns).flat_map(column).collect();
    TensorData::new(turned, [n_columns, n_rows])
}
