//! [`Precision`]: the data type of stored weights, and writing a model in reduced precision.

use std::fmt;
use std::path::{Path, PathBuf};

use burn::store::RecordError;
use serde::{Deserialize, Serialize};

use super::stored_weights::{self, ConvertError};
use super::{DirectoryError, ModelDirectory, ModelParts, belongs_to_a_run};

/// The data type of the weights in a model directory. Loading converts them to the backend's float type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Precision {
    /// 32-bit floats, as trained.
    #[default]
    F32,
    /// 16-bit floats with a significand of 11 bits.
    F16,
    /// Matrices as 8-bit integers from −127 to 127 with a scale per output channel; everything else as 32-bit floats.
    Int8,
}

impl Precision {
    /// Returns the name in the manifest and in commands.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Int8 => "int8",
        }
    }

    pub(super) const fn element_bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F16 => 2,
            Self::Int8 => 1,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        *self == Self::F32
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Error of writing a model in reduced precision.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum QuantizeError {
    #[error("`{path}` is stored in {found} already; give the model as it was trained")]
    AlreadyQuantized { path: PathBuf, found: Precision },
    #[error(
        "`{path}` holds a model in full precision, which would be replaced; choose another directory"
    )]
    FullPrecision { path: PathBuf },
    #[error("`{path}` is a folder of a training run; choose another folder")]
    Run { path: PathBuf },
    #[error(
        "`{tensor}` in `{path}` has the value {value}, which {precision} cannot hold; {}",
        if value.is_finite() { "choose int8" } else { "train again, with a lower learning rate" }
    )]
    OutOfRange {
        path: PathBuf,
        tensor: String,
        value: f32,
        precision: Precision,
    },
    #[error("`{path}` does not hold the weights of a model; restore the file, or train again")]
    Weights { path: PathBuf, source: RecordError },
    /// The model cannot be read or written.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
}

impl ModelDirectory {
    /// Writes a copy of the model with its weights in reduced precision, and returns its path.
    ///
    /// With [`Precision::Int8`] each matrix, including embeddings, is stored as integers with a scale per output
    /// channel (symmetric: the largest magnitude becomes 127); vectors stay 32-bit floats. Rounding cannot be undone,
    /// so keep the original for further training. The directory is written as by [`write`](Self::write). A model in
    /// reduced precision is replaced where [`open`](Self::open) finds it, even if it is damaged.
    ///
    /// # Errors
    ///
    /// Returns a [`QuantizeError`] if this model is already in reduced precision, if a value is out of range, if a
    /// model in full precision would be overwritten, if the path belongs to a training run, or if reading or writing
    /// fails.
    pub fn write_quantized(
        &self,
        path: impl AsRef<Path>,
        precision: Precision,
    ) -> Result<PathBuf, QuantizeError> {
        let found = self.manifest().precision;
        if found != Precision::F32 {
            let path = self.path().to_owned();
            return Err(QuantizeError::AlreadyQuantized { path, found });
        }
        let target = target(path.as_ref())?;
        let path = self.weights_path();
        let tensors = self.read_weights()?.map_err(ConvertError::Record);
        let weights = tensors.and_then(|tensors| stored_weights::convert(tensors, precision));
        let weights = weights.map_err(|error| match error {
            ConvertError::Record(source) => QuantizeError::Weights { path, source },
            ConvertError::OutOfRange { tensor, value } => QuantizeError::OutOfRange {
                path,
                tensor,
                value,
                precision,
            },
        })?;
        let parts = ModelParts {
            config: self.config(),
            tokenizers: self.tokenizers(),
            weights: &weights,
            training: self.manifest().training.clone(),
        };
        Self::write_stored(&target, &parts, precision)?;
        if let Some(shortlist) = self.shortlist() {
            Self::add_shortlist(&target, shortlist)?;
        }
        Ok(target)
    }
}

/// Returns the directory to write, where neither a model in full precision nor a training run is.
fn target(path: &Path) -> Result<PathBuf, QuantizeError> {
    let path = match ModelDirectory::find(&path.into()) {
        Ok((found, manifest)) if manifest.precision == Precision::F32 => {
            let path = found.path().to_owned();
            return Err(QuantizeError::FullPrecision { path });
        }
        Ok((found, _)) => found.path().to_owned(),
        Err(DirectoryError::Missing { .. } | DirectoryError::NotAModel { .. }) => path.to_owned(),
        // An unreadable manifest may belong to a model in full precision.
        Err(other) => return Err(other.into()),
    };
    match belongs_to_a_run(&path) {
        true => Err(QuantizeError::Run { path }),
        false => Ok(path),
    }
}
