//! The tensors of a Marian model, with the rows of the vocabulary matrices in our order.

use std::path::{Path, PathBuf};

use burn::tensor::TensorData;

use super::MarianError;
use super::binary::reorder;
use super::settings::{Family, Settings};
use super::vocabulary::rows;
use crate::config::Positions;
use crate::directory::Tokenizers;
use crate::import::{StateDict, pytorch};
use crate::model::sinusoid_table;
use crate::text::{BOS, EOS};

pub(crate) const SHARED: &str = "model.shared.weight";
pub(crate) const SRC: &str = "model.encoder.embed_tokens.weight";
pub(crate) const TGT: &str = "model.decoder.embed_tokens.weight";
pub(crate) const OUTPUT: &str = "lm_head.weight";
pub(crate) const BIAS: &str = "final_logits_bias";
pub(crate) const POSITIONS: [&str; 2] = [
    "model.encoder.embed_positions.weight",
    "model.decoder.embed_positions.weight",
];

/// Maximum difference between our positions and the file's, which are in single or half precision.
const POSITION_TOLERANCE: f32 = 2e-3;

/// The logit of our `<pad>` if Marian has no such token: its probability is 0 in single precision, and the value
/// is within the range of half precision.
pub(in crate::import) const IMPOSSIBLE: f32 = -1e4;

/// Reads the weights of a folder, in our order, and returns them with the path of the file.
pub(super) fn read(
    folder: &Path,
    settings: &Settings,
    tokenizers: &Tokenizers,
) -> Result<(StateDict, PathBuf), MarianError> {
    let safetensors = folder.join("model.safetensors");
    let pickled = folder.join("pytorch_model.bin");
    let path = match (safetensors.exists(), pickled.exists()) {
        (false, true) => pickled,
        (false, false) => return Err(MarianError::Missing { path: safetensors }),
        (true, _) => safetensors,
    };
    let dict = StateDict::read(&path)?;
    if let Some(name) = non_tensor(&path, &dict) {
        return Err(MarianError::NotATensor { path, name });
    }
    // Checked before rows are reordered, so that the error gives the position in the file.
    let mut names = dict.names();
    if let Some(found) = names.find_map(|name| dict.find_non_finite(name)) {
        return Err(MarianError::NonFinite { path, found });
    }
    drop(names);
    let (src, tgt) = (rows(tokenizers.src()), rows(tokenizers.tgt()));
    let mut weights = MarianWeights { dict, path };
    if settings.share_encoder_decoder_embeddings {
        weights.copy_shared()?;
    }
    for (name, rows) in [(SRC, &src), (TGT, &tgt), (OUTPUT, &tgt)] {
        weights.reorder(name, rows, settings.d_model)?;
    }
    weights.reorder_bias(&tgt)?;
    match settings.family {
        Family::Marian | Family::Pegasus => weights.check_positions(settings.d_model)?,
        Family::M2m100 => weights.remove_positions(),
        Family::Mbart | Family::Bart => {}
    }
    Ok((weights.dict, weights.path))
}

fn n_tokens(rows: &[Option<u32>]) -> usize {
    rows.iter()
        .flatten()
        .max()
        .map_or(0, |last| *last as usize + 1)
}

/// Returns the name of an entry of a pickle that is not a tensor. Names that start with an underscore are
/// PyTorch's own.
fn non_tensor(path: &Path, dict: &StateDict) -> Option<String> {
    let names = pytorch::top_names(path).into_iter();
    let others = names.filter(|name| !name.starts_with('_') && dict.tensor(name).is_none());
    // The first by name, because the entries are not sorted.
    others.min()
}

struct MarianWeights {
    dict: StateDict,
    path: PathBuf,
}

impl MarianWeights {
    /// Copies the matrix that encoder and decoder share to the names of both. A file has it under one of three
    /// names, or under several.
    fn copy_shared(&mut self) -> Result<(), MarianError> {
        let names = [SHARED, SRC, TGT];
        let first = names
            .into_iter()
            .find(|name| self.dict.tensor(name).is_some());
        let Some(first) = first else {
            return Ok(()); // If only the output has it, `to_transformer` decides by the config.
        };
        let matrix = self.dict.tensor(first).cloned();
        for second in names {
            match (self.dict.tensor(second), &matrix) {
                (Some(other), Some(matrix)) if other != matrix => {
                    return Err(MarianError::Shared {
                        path: self.path.clone(),
                        first: first.to_owned(),
                        second: second.to_owned(),
                    });
                }
                (None, Some(matrix)) if second != SHARED => {
                    self.dict.insert(second, matrix.clone());
                }
                _ => {}
            }
        }
        self.dict.remove(SHARED);
        Ok(())
    }

    /// Reorders the rows of a vocabulary matrix, if the file has it.
    fn reorder(
        &mut self,
        name: &str,
        rows: &[Option<u32>],
        d_model: usize,
    ) -> Result<(), MarianError> {
        self.check_shape(name, [n_tokens(rows), d_model])?;
        reorder(&mut self.dict, name, rows, n_tokens(rows), 0.0);
        Ok(())
    }

    /// Reorders the bias of the logits; a model without one gets zeros.
    fn reorder_bias(&mut self, rows: &[Option<u32>]) -> Result<(), MarianError> {
        self.check_shape(BIAS, [1, n_tokens(rows)])?;
        let values = self.dict.remove(BIAS);
        let values = values.map(|bias| bias.iter::<f32>().collect());
        let values = values.unwrap_or_else(|| vec![0.0; n_tokens(rows)]);
        let mut ordered = ordered(&values, rows, 1, IMPOSSIBLE);
        if rows[BOS as usize] == rows[EOS as usize] {
            // Our `<s>` is a copy.
            ordered[BOS as usize] = IMPOSSIBLE;
        }
        let bias = TensorData::new(ordered, [rows.len()]);
        self.dict.insert("lm_head.bias", bias);
        Ok(())
    }

    /// Checks the shape of a tensor, if the file has it.
    fn check_shape(&self, name: &str, expected: [usize; 2]) -> Result<(), MarianError> {
        match self.dict.tensor(name).map(|tensor| &tensor.shape()[..]) {
            Some(found) if found != expected => Err(MarianError::Shape {
                path: self.path.clone(),
                name: name.to_owned(),
                found: found.to_vec(),
                expected: expected.to_vec(),
            }),
            _ => Ok(()),
        }
    }

    /// Removes the positions of old files of M2M-100, which are computed here.
    fn remove_positions(&mut self) {
        for name in POSITIONS {
            self.dict.remove(name);
            self.dict.remove(&format!("{name}s"));
        }
    }

    /// Removes the positions, which are computed here, after checking that they are sinusoids.
    fn check_positions(&mut self, d_model: usize) -> Result<(), MarianError> {
        for name in POSITIONS {
            let Some(found) = self.dict.remove(name) else {
                continue;
            };
            let is_sinusoidal = matches!(found.shape()[..], [len, width]
                if width == d_model && width.is_multiple_of(2)
                    && is_near(&found, &sinusoid_table(Positions::SinusoidalHalves, 0, len, width)));
            if !is_sinusoidal {
                return Err(MarianError::Positions {
                    path: self.path.clone(),
                    name: name.to_owned(),
                });
            }
        }
        Ok(())
    }
}

/// Returns the rows of a matrix in another order, with `fill` for rows that it does not have.
pub(super) fn ordered<T: Copy>(
    values: &[T],
    rows: &[Option<u32>],
    width: usize,
    fill: T,
) -> Vec<T> {
    let absent = vec![fill; width];
    let row = |row: &Option<u32>| {
        let stored = row.and_then(|row| values.get(row as usize * width..)?.get(..width));
        stored.unwrap_or(&absent)
    };
    rows.iter().flat_map(row).copied().collect()
}

fn is_near(found: &TensorData, expected: &[f32]) -> bool {
    let mut both = found.iter::<f32>().zip(expected);
    both.all(|(a, b)| (a - b).abs() < POSITION_TOLERANCE)
}
