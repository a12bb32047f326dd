//! [`StoredTensors`]: the weights of a model by name, in the precision in which they are stored.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::module::{Module, ModuleVisitor, Param};
use burn::store::RecordError;
use burn::tensor::{Bytes, DType, Tensor, TensorData};
use burn_pack::Reader;

use super::int8::{ChannelAxis, Int8Matrix};
use super::stored_weights::{SCALES, is_matrix};
use super::{LoadError, ModelDirectory, Precision};
use crate::model::Transformer;

/// Stands for the file in errors about a model that is not in a file.
const IN_MEMORY: &str = "a model in memory";

/// All tensors of a model, by the names of a record.
#[derive(Debug)]
pub(crate) struct StoredTensors {
    /// The file, for errors.
    path: PathBuf,
    precision: Precision,
    tensors: BTreeMap<String, Entry>,
}

/// A tensor in the file, without a copy of its values.
#[derive(Debug)]
struct Entry {
    values: TensorData,
    /// Present if the values are integers.
    scales: Option<TensorData>,
}

/// A tensor, by the type of its values.
#[derive(Clone, Debug)]
pub(crate) enum StoredTensor<'a> {
    /// Floats: borrowed, or converted from 16-bit floats.
    F32 {
        /// Size of each axis.
        shape: &'a [usize],
        /// Values, in row-major order.
        values: Cow<'a, [f32]>,
    },
    /// A matrix of integers, which represents `values · scales`.
    Int8 {
        /// Rows and columns.
        shape: [usize; 2],
        /// Values, in row-major order.
        values: &'a [i8],
        /// The scale of each channel.
        scales: &'a [f32],
        /// The axis of the channels.
        channels: ChannelAxis,
    },
}

impl ModelDirectory {
    /// Reads the weights, and checks them against the manifest.
    ///
    /// Later changes to the file do not affect the tensors.
    ///
    /// # Errors
    ///
    /// Returns a [`LoadError`] if the file is missing or changed, is not a record, or has a tensor in another
    /// precision than the manifest says.
    pub(crate) fn stored_tensors(&self) -> Result<StoredTensors, LoadError> {
        StoredTensors::parse(
            self.read_weights()?,
            self.manifest().precision,
            &self.weights_path(),
        )
    }
}

impl StoredTensors {
    /// Parses the bytes of a record in this precision. `path` is for errors.
    fn parse(bytes: Vec<u8>, precision: Precision, path: &Path) -> Result<Self, LoadError> {
        let tensors = read(bytes).map_err(|source| LoadError::Weights {
            path: path.to_owned(),
            source,
        })?;
        let mut entries = BTreeMap::new();
        let mut all_scales = BTreeMap::new();
        for (name, values) in tensors {
            match name
                .strip_suffix(SCALES)
                .filter(|_| precision == Precision::Int8)
            {
                Some(matrix) => drop(all_scales.insert(matrix.to_owned(), values)),
                None => {
                    let scales = None;
                    entries.insert(name, Entry { values, scales });
                }
            }
        }
        for (matrix, scales) in all_scales {
            match entries.get_mut(&matrix) {
                Some(entry) => entry.scales = Some(scales),
                None => {
                    return Err(LoadError::Missing {
                        path: path.to_owned(),
                        tensor: matrix,
                    });
                }
            }
        }
        let stored = Self {
            path: path.to_owned(),
            precision,
            tensors: entries,
        };
        match stored
            .tensors
            .iter()
            .find(|(name, entry)| entry.view(name, precision).is_none())
        {
            Some((name, _)) => Err(stored.other_precision(name)),
            None => Ok(stored),
        }
    }

    /// Collects the tensors of a model, as 32-bit floats.
    pub(crate) fn of_model(model: &Transformer) -> Self {
        let mut collect = Collect::default();
        model.visit(&mut collect);
        Self {
            path: PathBuf::from(IN_MEMORY),
            precision: Precision::F32,
            tensors: collect.tensors,
        }
    }

    /// Returns the precision of the model.
    pub(crate) const fn precision(&self) -> Precision {
        self.precision
    }

    /// Checks whether there is a tensor of this name.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// Returns the tensor of this name and shape.
    ///
    /// # Errors
    ///
    /// Returns a [`LoadError`] that names file and tensor if there is none, or if it has another shape.
    pub(crate) fn get(
        &self,
        name: &str,
        expected: &[usize],
    ) -> Result<StoredTensor<'_>, LoadError> {
        let entry = self.tensors.get(name).ok_or_else(|| LoadError::Missing {
            path: self.path.clone(),
            tensor: name.to_owned(),
        })?;
        let found = &entry.values.shape()[..];
        if found != expected {
            return Err(LoadError::Shape {
                path: self.path.clone(),
                tensor: name.to_owned(),
                found: found.to_vec(),
                expected: expected.to_vec(),
            });
        }
        let view = entry.view(name, self.precision);
        view.ok_or_else(|| self.other_precision(name))
    }

    /// Checks that the file has no other tensors than those that the model uses.
    ///
    /// # Errors
    ///
    /// Returns [`LoadError::Unused`] with the first tensor that `is_used` does not accept.
    pub(crate) fn check_all_used(&self, is_used: impl Fn(&str) -> bool) -> Result<(), LoadError> {
        match self.tensors.keys().find(|name| !is_used(name)) {
            Some(name) => Err(LoadError::Unused {
                path: self.path.clone(),
                tensor: name.clone(),
            }),
            None => Ok(()),
        }
    }

    fn other_precision(&self, name: &str) -> LoadError {
        LoadError::Precision {
            path: self.path.clone(),
            tensor: name.to_owned(),
            precision: self.precision,
        }
    }
}

impl Entry {
    /// Returns the tensor; `None` if it is not stored in the precision.
    fn view(&self, name: &str, precision: Precision) -> Option<StoredTensor<'_>> {
        let shape = &self.values.shape()[..];
        let floats = || self.values.as_slice::<f32>().ok();
        match (precision, self.values.dtype(), &self.scales) {
            (Precision::F32, DType::F32, None) => Some(StoredTensor::F32 {
                shape,
                values: Cow::Borrowed(floats()?),
            }),
            (Precision::F16, DType::F16, None) => Some(StoredTensor::F32 {
                shape,
                values: Cow::Owned(self.values.iter::<f32>().collect()),
            }),
            (Precision::Int8, DType::F32, None) if !is_matrix(name, shape) => {
                Some(StoredTensor::F32 {
                    shape,
                    values: Cow::Borrowed(floats()?),
                })
            }
            (Precision::Int8, DType::I8, Some(scales)) => {
                let channels = Int8Matrix::channels(&self.values, scales)?;
                Some(StoredTensor::Int8 {
                    shape: shape.try_into().ok()?,
                    values: self.values.as_slice().ok()?,
                    scales: scales.as_slice().ok()?,
                    channels,
                })
            }
            _ => None,
        }
    }
}

/// Reads a record: each tensor with its name, as a part of the bytes.
fn read(bytes: Vec<u8>) -> Result<Vec<(String, TensorData)>, RecordError> {
    let tensors = Reader::from_bytes(Bytes::from_bytes_vec(bytes))?.into_tensors()?;
    let read = |tensor: burn_pack::Tensor| {
        let (name, dtype, shape, _, bytes) = tensor.into_parts()?;
        Ok((name, aligned(TensorData::from_bytes(bytes, shape, dtype))))
    };
    tensors.into_iter().map(read).collect()
}

/// Copies 32-bit floats whose address cannot be that of a slice. The writers of records align them.
fn aligned(data: TensorData) -> TensorData {
    if data.dtype() != DType::F32 || data.as_slice::<f32>().is_ok() {
        return data;
    }
    let (bytes, shape, dtype) = data.into_parts();
    TensorData::from_bytes(Bytes::from_bytes_vec(bytes.to_vec()), shape, dtype)
}

/// Collects the parameters while visiting a model.
#[derive(Default)]
struct Collect {
    path: Vec<String>,
    tensors: BTreeMap<String, Entry>,
}

impl ModuleVisitor for Collect {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let values = param.val().into_data().convert_dtype(DType::F32);
        let entry = Entry {
            values,
            scales: None,
        };
        self.tensors.insert(self.path.join("."), entry);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;
    use tempfile::{TempDir, tempdir};

    use super::*;
    use crate::config::TransformerConfig;
    use crate::device;
    use crate::directory::{ModelParts, Tokenizers};
    use crate::text::{Tokenizer, TokenizerConfig};

    const QUERY: &str = "encoder.layers.0.self_attention.query.weight";
    const BIAS: &str = "encoder.layers.0.self_attention.query.bias";
    const VOCABULARY: &str = "src_vocabulary.weight";

    /// Returns a model of width 6, the size of its vocabulary, and its directory in this precision.
    fn written(precision: Precision) -> (Transformer, usize, TempDir) {
        let tokenizer = Tokenizer::train(&TokenizerConfig::default(), ["ein Haus", "a house"])
            .expect("there is text");
        let n_tokens = tokenizer.vocab_size();
        let config = TransformerConfig {
            d_model: 6,
            d_ff: 10,
            n_heads: 2,
            n_encoder_layers: 1,
            n_decoder_layers: 1,
            ..TransformerConfig::tiny(n_tokens, n_tokens)
        };
        let (_, device) = device::choose(None).expect("there is a CPU");
        let model = config.init(&device).expect("the config is valid");
        let weights = model.clone().into_record().into_bytes();
        let parts = ModelParts {
            config: &config,
            tokenizers: &Tokenizers::Joint(tokenizer),
            weights: &weights.expect("weights fit in memory"),
            training: json!({}),
        };
        let directory = tempdir().expect("the system has temporary directories");
        let full = directory.path().join("full");
        ModelDirectory::write(&full, &parts).expect("the directory is writable");
        if precision != Precision::F32 {
            let full = ModelDirectory::open(&full).expect("it was just written");
            full.write_quantized(directory.path(), precision)
                .expect("the values are small");
        } else {
            fs::rename(full, directory.path().join("model")).expect("the directory is writable");
        }
        (model, n_tokens, directory)
    }

    fn stored(directory: &TempDir) -> StoredTensors {
        let directory = ModelDirectory::open(directory).expect("it was just written");
        directory.stored_tensors().expect("it was just written")
    }

    fn floats(tensor: StoredTensor<'_>) -> Vec<f32> {
        match tensor {
            StoredTensor::F32 { values, .. } => values.into_owned(),
            StoredTensor::Int8 {
                shape: [_, n_columns],
                values,
                scales,
                channels,
            } => {
                let scale = |index: usize| match channels {
                    ChannelAxis::Rows => scales[index / n_columns],
                    ChannelAxis::Columns => scales[index % n_columns],
                };
                let values = values.iter().enumerate();
                values
                    .map(|(index, value)| f32::from(*value) * scale(index))
                    .collect()
            }
        }
    }

    fn difference(found: &[f32], expected: &[f32]) -> f32 {
        assert_eq!(found.len(), expected.len());
        let differences = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
        differences.fold(0.0, f32::max)
    }

    #[test]
    fn floats_are_borrowed_and_those_of_the_model() {
        let (model, _, directory) = written(Precision::F32);
        let (stored, of_model) = (stored(&directory), StoredTensors::of_model(&model));
        let found = stored.get(QUERY, &[6, 6]).expect("the encoder has a layer");
        assert!(matches!(
            &found,
            StoredTensor::F32 {
                values: Cow::Borrowed(_),
                ..
            }
        ));
        assert_eq!(
            floats(found),
            floats(of_model.get(QUERY, &[6, 6]).expect("as in the file"))
        );
        assert!(of_model.tensors.keys().eq(stored.tensors.keys()));
    }

    #[test]
    fn half_floats_are_converted() {
        let (model, _, directory) = written(Precision::F16);
        let (stored, of_model) = (stored(&directory), StoredTensors::of_model(&model));
        let [found, expected] = [&stored, &of_model].map(|tensors| {
            floats(
                tensors
                    .get(QUERY, &[6, 6])
                    .expect("the encoder has a layer"),
            )
        });
        // Half a unit in the last of 11 bits, of values below 1.
        assert!(difference(&found, &expected) <= 1.0 / 2048.0);
    }

    #[test]
    fn integers_have_scales_by_column_and_in_vocabularies_by_row() {
        let (model, n_tokens, directory) = written(Precision::Int8);
        let (stored, of_model) = (stored(&directory), StoredTensors::of_model(&model));
        for (name, shape, expected) in [
            (QUERY, [6, 6], ChannelAxis::Columns),
            (VOCABULARY, [n_tokens, 6], ChannelAxis::Rows),
        ] {
            let found = stored.get(name, &shape).expect("every model has it");
            assert!(
                matches!(&found, StoredTensor::Int8 { channels, .. } if *channels == expected),
                "{name} {found:?}"
            );
            let original = floats(of_model.get(name, &shape).expect("as in the file"));
            let most = original
                .iter()
                .fold(0.0, |most: f32, value| most.max(value.abs()));
            // Half a scale, and the rounding of a division and a product.
            assert!(difference(&floats(found), &original) <= most / 127.0 * 0.50001);
        }
    }

    #[test]
    fn vectors_of_a_model_in_int8_are_floats() {
        let (_, _, directory) = written(Precision::Int8);
        let stored = stored(&directory);
        let bias = stored.get(BIAS, &[6]).expect("there are biases by default");
        assert!(matches!(bias, StoredTensor::F32 { shape: [6], .. }));
    }

    #[test]
    fn a_missing_tensor_is_an_error_with_file_and_name() {
        let (_, _, directory) = written(Precision::F32);
        let error = stored(&directory).get("output_bias", &[5]).map(drop);
        let message = error
            .expect_err("there is no such bias by default")
            .to_string();
        assert!(
            message.contains("weights.bpk` has no tensor `output_bias`"),
            "{message}"
        );
    }

    #[test]
    fn another_shape_is_an_error_with_file_and_name() {
        let (_, _, directory) = written(Precision::F32);
        let error = stored(&directory).get(QUERY, &[6, 8]).map(drop);
        let message = error.expect_err("it has 6 columns").to_string();
        assert!(
            message.starts_with(&format!("`{QUERY}` in `"))
                && message.contains(
                    "weights.bpk` has the shape [6, 6], and in the model of config.json [6, 8]"
                ),
            "{message}"
        );
    }

    #[test]
    fn a_tensor_that_is_not_used_is_an_error_with_file_and_name() {
        let (_, _, directory) = written(Precision::F32);
        let error = stored(&directory).check_all_used(|name| name != BIAS);
        let message = error.expect_err("the bias is not used").to_string();
        assert!(
            message.contains(&format!("weights.bpk` has a tensor `{BIAS}`")),
            "{message}"
        );
    }

    #[test]
    fn tensors_in_another_precision_than_the_manifests_are_refused() {
        let (_, _, directory) = written(Precision::F16);
        let path = ModelDirectory::open(&directory).expect("it was just written");
        let path = path.path().join("manifest.json");
        let manifest = fs::read_to_string(&path).expect("it was just written");
        fs::write(&path, manifest.replace("\"f16\"", "\"f32\"")).expect("it is writable");
        let opened = ModelDirectory::open(&directory).expect("f32 is a precision");
        let error = opened.stored_tensors().map(drop);
        assert!(matches!(
            error,
            Err(LoadError::Precision {
                precision: Precision::F32,
                ..
            })
        ));
    }

    #[test]
    fn weights_that_changed_after_the_directory_was_opened_are_refused() {
        let (_, _, directory) = written(Precision::F32);
        let opened = ModelDirectory::open(&directory).expect("it was just written");
        let mut bytes = fs::read(opened.weights_path()).expect("it was just written");
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(opened.weights_path(), bytes).expect("it is writable");
        assert!(matches!(opened.stored_tensors(), Err(LoadError::File(_))));
    }
}
