//! The tensors of a Marian model, with the rows of its vocabulary matrices in our order.

use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor, TensorData};
use pytorch_reader::{PickleValue, PytorchReader};

use super::settings::Settings;
use super::vocabulary::rows;
use super::{MarianError, NEVER};
use crate::directory::Tokenizers;
use crate::import::StateDict;
use crate::model::sinusoids;

pub(crate) const SHARED: &str = "model.shared.weight";
pub(crate) const SRC: &str = "model.encoder.embed_tokens.weight";
pub(crate) const TGT: &str = "model.decoder.embed_tokens.weight";
pub(crate) const OUTPUT: &str = "lm_head.weight";
pub(crate) const BIAS: &str = "final_logits_bias";
const POSITIONS: [&str; 2] = [
    "model.encoder.embed_positions.weight",
    "model.decoder.embed_positions.weight",
];

/// How far positions may be from ours: they are written in single precision, or in half.
const POSITION_TOLERANCE: f32 = 2e-3;

/// Reads the weights of a folder, in our order, and says from which file.
pub(super) fn read(
    folder: &Path,
    settings: &Settings,
    tokenizers: &Tokenizers,
    device: &Device,
) -> Result<(StateDict, PathBuf), MarianError> {
    let safetensors = folder.join("model.safetensors");
    let pickled = folder.join("pytorch_model.bin");
    let path = match (safetensors.exists(), pickled.exists()) {
        (false, true) => pickled,
        (false, false) => return Err(MarianError::Missing { path: safetensors }),
        (true, _) => safetensors,
    };
    let dict = StateDict::read(&path)?;
    if let Some(name) = no_tensor(&path, &dict) {
        return Err(MarianError::NoTensor { path, name });
    }
    let mut arranging = Arranging {
        dict,
        path,
        d_model: settings.d_model(),
    };
    let (src, tgt) = (rows(tokenizers.src()), rows(tokenizers.tgt()));
    let n_src = src.iter().flatten().count();
    let n_tgt = tgt.iter().flatten().count();
    if settings.shares_embeddings() {
        arranging.spread_shared()?;
    }
    arranging.put_in_order(SRC, &src, n_src)?;
    arranging.put_in_order(TGT, &tgt, n_tgt)?;
    arranging.put_in_order(OUTPUT, &tgt, n_tgt)?;
    arranging.bias(&tgt, n_tgt)?;
    arranging.check_positions(device)?;
    Ok((arranging.dict, arranging.path))
}

/// Returns the name of something in a pickle that is no tensor. What begins with an underscore is PyTorch's own.
fn no_tensor(path: &Path, dict: &StateDict) -> Option<String> {
    let Ok(PickleValue::Dict(entries)) = PytorchReader::read_pickle_data(path, None) else {
        return None; // A file of safetensors, or a whole module.
    };
    let names = entries.into_keys();
    let others = names.filter(|name| !name.starts_with('_') && dict.tensor(name).is_none());
    // The first by name, because entries come in no order.
    others.min()
}

struct Arranging {
    dict: StateDict,
    path: PathBuf,
    d_model: usize,
}

impl Arranging {
    /// Puts the matrix that encoder and decoder share under the names of both; whoever saved the model left
    /// all names but one out, or none.
    fn spread_shared(&mut self) -> Result<(), MarianError> {
        let names = [SHARED, SRC, TGT];
        let there = names.into_iter().find(|it| self.dict.tensor(it).is_some());
        let Some(first) = there else {
            return Ok(()); // If the output has it, the config says whether that is enough.
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

    /// Puts the rows of a vocabulary matrix, if it is there, in our order.
    fn put_in_order(
        &mut self,
        name: &str,
        rows: &[Option<u32>],
        n_tokens: usize,
    ) -> Result<(), MarianError> {
        let d_model = self.d_model;
        let Some(numbers) = self.numbers(name, &[n_tokens, d_model])? else {
            return Ok(());
        };
        let zeros = vec![0.0; d_model];
        let row = |row: &Option<u32>| {
            row.map_or(&*zeros, |row| &numbers[row as usize * d_model..][..d_model])
        };
        let ordered: Vec<f32> = rows.iter().flat_map(row).copied().collect();
        let data = TensorData::new(ordered, [rows.len(), d_model]);
        self.dict.insert(name, data);
        Ok(())
    }

    /// Puts the bias of the logits in our order; a model without has one of zeros.
    fn bias(&mut self, rows: &[Option<u32>], n_tokens: usize) -> Result<(), MarianError> {
        let numbers = self.numbers(BIAS, &[1, n_tokens])?;
        let numbers = numbers.unwrap_or_else(|| vec![0.0; n_tokens]);
        let bias = |row: &Option<u32>| row.map_or(NEVER, |row| numbers[row as usize]);
        let ordered: Vec<f32> = rows.iter().map(bias).collect();
        self.dict.remove(BIAS);
        self.dict
            .insert("lm_head.bias", TensorData::new(ordered, [rows.len()]));
        Ok(())
    }

    /// Takes the positions out, which are computed here, if they are what is computed.
    fn check_positions(&mut self, device: &Device) -> Result<(), MarianError> {
        for name in POSITIONS {
            let Some(found) = self.dict.remove(name) else {
                continue;
            };
            let shape: Vec<usize> = found.shape().iter().copied().collect();
            let is_alike = matches!(shape[..], [len, width]
                if width == self.d_model && width.is_multiple_of(2)
                    && is_near(&found, halves(len, width, device)));
            if !is_alike {
                return Err(MarianError::Positions {
                    path: self.path.clone(),
                    name: name.to_owned(),
                });
            }
        }
        Ok(())
    }

    fn numbers(&self, name: &str, expected: &[usize]) -> Result<Option<Vec<f32>>, MarianError> {
        let Some(tensor) = self.dict.tensor(name) else {
            return Ok(None);
        };
        let found: Vec<usize> = tensor.shape().iter().copied().collect();
        if found != expected {
            return Err(MarianError::Shape {
                path: self.path.clone(),
                name: name.to_owned(),
                found,
                expected: expected.to_vec(),
            });
        }
        Ok(Some(tensor.iter::<f32>().collect()))
    }
}

/// Returns sines and then cosines; the paper's formula has them in turn.
///
/// # Shapes
///
/// - returns: `[len, d_model]`
fn halves(len: usize, d_model: usize, device: &Device) -> Tensor<2> {
    let pairs = sinusoids(0, len, d_model, device).reshape([len, d_model / 2, 2]);
    pairs.swap_dims(1, 2).reshape([len, d_model])
}

fn is_near(found: &TensorData, expected: Tensor<2>) -> bool {
    let expected = expected.into_data();
    let mut both = found.iter::<f32>().zip(expected.iter::<f32>());
    both.all(|(a, b)| (a - b).abs() < POSITION_TOLERANCE)
}
