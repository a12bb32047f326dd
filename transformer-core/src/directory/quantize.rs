//! Writing a smaller copy of a model, with its weights in reduced precision.

use std::path::{Path, PathBuf};

use burn::store::RecordError;

use super::stored_weights::{self, ConvertError};
use super::{DirectoryError, ModelDirectory, ModelParts, Precision, belongs_to_a_run};

/// Error of writing a model in reduced precision.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "a field's name says what it holds")]
pub enum QuantizeError {
    /// The model is in reduced precision already.
    #[error("`{path}` is stored in {found} already; give the model as it was trained")]
    AlreadyQuantized { path: PathBuf, found: Precision },
    /// The target is a model in full precision, which would be lost.
    #[error(
        "`{path}` holds a model in full precision, which would be replaced; choose another directory"
    )]
    FullPrecision { path: PathBuf },
    /// The target belongs to a training run, which may later write a model there.
    #[error("`{path}` is a folder of a training run; choose another folder")]
    Run { path: PathBuf },
    /// A value is outside the range of the precision.
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
    /// The weights are not a record.
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
