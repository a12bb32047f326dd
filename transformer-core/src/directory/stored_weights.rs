//! The storage of weights of each [`Precision`] in a record, and the conversion to it.

use burn::store::RecordError;
use burn::tensor::{Bytes, DType, TensorData};
use burn_pack::{Reader, Tensor, Writer};

use super::Precision;
use super::int8::{ChannelAxis, Int8Matrix};
use crate::config::Place;

/// Suffix of the name of a matrix's scales.
pub(super) const SCALES: &str = ".scales";

/// Name, values and parameter id.
pub(super) type NamedTensor = (String, TensorData, Option<u64>);

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

/// Converts the bytes of a record of 32-bit floats to the bytes of a record in this precision.
pub(super) fn convert(bytes: Bytes, precision: Precision) -> Result<Bytes, ConvertError> {
    let mut stored = Vec::new();
    for (name, data, id) in unpack(bytes)? {
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

/// Reads a record: each tensor with its name and its parameter id. The values are not copied out of the bytes.
///
/// It takes bytes instead of a file, because Burn would read each tensor of a file on first use, when training may have
/// written another model under the same name.
pub(super) fn unpack(bytes: Bytes) -> Result<Vec<NamedTensor>, RecordError> {
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
