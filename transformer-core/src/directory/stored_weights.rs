//! The storage of weights of each [`Precision`] in a record, and the conversion to it.

use std::iter;

use burn::store::RecordError;
use burn::tensor::{Bytes, DType, Shape, TensorData, f16};
use burn_pack::{Reader, Tensor, Writer};

use super::Precision;
use super::int8::{ChannelAxis, Int8Matrix};
use crate::config::Place;

/// Suffix of the name of a matrix's scales.
pub(super) const SCALES: &str = ".scales";

/// Name, values and parameter id.
pub(super) type NamedTensor = (String, TensorData, Option<u64>);

/// The tensors of a file that may not be a record.
pub(super) type Record = Result<Vec<NamedTensor>, RecordError>;

/// Error of converting weights to a precision.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConvertError {
    /// The bytes are not a record.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A value is outside the range of the precision.
    #[error("`{tensor}` has the value {value}, which is out of range")]
    OutOfRange { tensor: String, value: f32 },
}

/// Converts tensors of 32-bit floats to the bytes of a record in this precision.
pub(super) fn convert(
    tensors: Vec<NamedTensor>,
    precision: Precision,
) -> Result<Bytes, ConvertError> {
    let mut stored = Vec::new();
    for (name, data, id) in tensors {
        let converted = convert_tensor(&name, &data, precision);
        let converted = converted.map_err(|value| ConvertError::OutOfRange {
            tensor: name.clone(),
            value,
        })?;
        stored.extend(converted.into_iter().map(|(name, data)| (name, data, id)));
    }
    Ok(pack(stored)?)
}

/// Returns the tensors that are stored for one tensor, by name, or the first value that is out of range.
fn convert_tensor(
    name: &str,
    data: &TensorData,
    precision: Precision,
) -> Result<Vec<(String, TensorData)>, f32> {
    let values: Vec<f32> = data.iter::<f32>().collect();
    let stored = match precision {
        Precision::F16 => data.clone().convert_dtype(DType::F16),
        Precision::F32 | Precision::Int8 => data.clone(),
    };
    let out_of_range = stored
        .iter::<f32>()
        .zip(&values)
        .find_map(|(stored, value)| (!stored.is_finite()).then_some(*value));
    if let Some(value) = out_of_range {
        return Err(value);
    }
    let channels = channels_of(name, data.shape()).filter(|_| precision == Precision::Int8);
    let (Some(channels), &[n_rows, n_columns]) = (channels, &data.shape()[..]) else {
        return Ok(vec![(name.to_owned(), stored)]);
    };
    let matrix = Int8Matrix::quantize(&values, [n_rows, n_columns], channels);
    Ok(vec![
        (name.to_owned(), matrix.values),
        (format!("{name}{SCALES}"), matrix.scales),
    ])
}

/// Returns the axis of the output channels of a matrix that is stored as integers with [`Precision::Int8`]; `None` for
/// other tensors.
pub(super) fn channels_of(name: &str, shape: &[usize]) -> Option<ChannelAxis> {
    match Place::named(name).filter(|_| shape.len() == 2)? {
        Place::SrcVocabulary | Place::TgtVocabulary | Place::Output => Some(ChannelAxis::Rows),
        Place::Matrix(..) => Some(ChannelAxis::Columns),
        _ => None,
    }
}

/// A tensor of a record in memory of its own, before its values are read.
pub(super) struct BlankTensor {
    name: String,
    shape: Shape,
    dtype: DType,
    id: Option<u64>,
    /// Where the values start in the file, in bytes.
    pub(super) start: usize,
    /// Zeros in place of the values.
    pub(super) values: Bytes,
}

impl BlankTensor {
    /// Returns the tensors of a record of `n_bytes` in the order of their values. `head` is its beginning, with all of
    /// the metadata.
    ///
    /// Burn can read a file itself, but reads each tensor on first use, when training may have written another model
    /// under the same name.
    pub(super) fn all(head: &[u8], n_bytes: usize) -> Result<Vec<Self>, RecordError> {
        // The reader wants the whole record, and looks at the head only. Zeros that nobody touches take no memory.
        let mut record = vec![0; n_bytes];
        record[..head.len()].copy_from_slice(head);
        let first = record.as_ptr().addr();
        let tensors = unpack(Bytes::from_elems(record))?.into_iter();
        let mut tensors: Vec<_> = tensors
            .map(|(name, values, id)| {
                let start = values.as_bytes().as_ptr().addr() - first;
                let (bytes, shape, dtype) = values.into_parts();
                Self {
                    name,
                    shape,
                    id,
                    start,
                    values: match dtype {
                        DType::F32 => Bytes::from_elems(vec![0_f32; bytes.len() / 4]),
                        DType::F16 => Bytes::from_elems(vec![f16::ZERO; bytes.len() / 2]),
                        _ => Bytes::from_elems(vec![0_i8; bytes.len()]),
                    },
                    dtype,
                }
            })
            .collect();
        tensors.sort_by_key(|tensor| tensor.start);
        let ends = tensors.iter().map(|it| it.start + it.values.len());
        let mut ends = iter::once(head.len()).chain(ends);
        match tensors.iter().find(|it| ends.next() > Some(it.start)) {
            Some(tensor) => {
                let message = format!("`{}` overlaps with another tensor", tensor.name);
                Err(RecordError::Validation(message))
            }
            None => Ok(tensors),
        }
    }

    /// Returns the tensor with the values that were read.
    pub(super) fn into_named(self) -> NamedTensor {
        let data = TensorData::from_bytes(self.values, self.shape, self.dtype);
        (self.name, data, self.id)
    }
}

/// Reads a record: each tensor with its name and its parameter id. The values are not copied out of the bytes.
fn unpack(bytes: Bytes) -> Record {
    let tensors = Reader::from_bytes(bytes)?.into_tensors()?.into_iter();
    let unpack = |tensor: Tensor| {
        let (name, dtype, shape, id, bytes) = tensor.into_parts()?;
        Ok((name, TensorData::from_bytes(bytes, shape, dtype), id))
    };
    tensors.map(unpack).collect()
}

/// Writes a record.
pub(super) fn pack(tensors: Vec<NamedTensor>) -> Result<Bytes, RecordError> {
    let pack = |(name, data, id): NamedTensor| {
        let (bytes, shape, dtype) = data.into_parts();
        Tensor::new(name, dtype, shape, id, bytes)
    };
    Ok(Writer::new(tensors.into_iter().map(pack).collect()).into_bytes()?)
}
