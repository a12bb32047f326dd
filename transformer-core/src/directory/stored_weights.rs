//! The storage of weights of each [`Precision`] in a record, and the conversion to it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use burn::store::RecordError;
use burn::tensor::{Bytes, DType, TensorData, f16};
use burn_pack::{
    FORMAT_VERSION, HEADER_SIZE, Header, MAX_CBOR_RECURSION_DEPTH, Tensor, Writer,
    aligned_data_section_start,
};
use ciborium::de::from_reader_with_recursion_limit;
use serde::Deserialize;

use super::Precision;
use super::int8::{ChannelAxis, Int8Matrix};
use crate::config::Place;

/// Suffix of the name of a matrix's scales.
pub(super) const SCALES: &str = ".scales";

/// Name, values and parameter id.
pub(super) type NamedTensor = (String, TensorData, Option<u64>);

/// The tensors of a file, or why it is not a record.
pub(super) type ParsedRecord = Result<Vec<NamedTensor>, RecordError>;

/// Error of converting weights to a precision.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConvertError {
    #[error(transparent)]
    Record(#[from] RecordError),
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

/// The metadata of a record, which burn-pack writes in CBOR after the header.
#[derive(Deserialize)]
struct Metadata {
    tensors: BTreeMap<String, Descriptor>,
}

#[derive(Deserialize)]
struct Descriptor {
    dtype: DType,
    shape: Vec<usize>,
    /// Where the values begin and end in the data.
    data_offsets: (usize, usize),
    #[serde(default)]
    param_id: Option<u64>,
}

/// Where a tensor is in a record.
pub(super) struct TensorPlace {
    name: String,
    shape: Vec<usize>,
    dtype: DType,
    id: Option<u64>,
    pub(super) bytes: Range<usize>,
}

impl TensorPlace {
    /// Returns the tensors of a record of `n_bytes` in the order of their values. `head` is its beginning, with all of
    /// the metadata. Together the tensors are not larger than the record.
    ///
    /// burn-pack's reader keeps a record in memory as a whole, or reads each tensor on first use, when training may have
    /// written another model under the same name.
    pub(super) fn all(head: &[u8], n_bytes: usize) -> Result<Vec<Self>, RecordError> {
        let header = Header::from_bytes(head)?;
        if header.version > FORMAT_VERSION {
            return Err(burn_pack::Error::InvalidVersion.into());
        }
        let n_metadata = header.metadata_size as usize;
        let metadata = head[HEADER_SIZE..].get(..n_metadata);
        let metadata = metadata.ok_or(burn_pack::Error::InvalidHeader)?;
        let metadata = from_reader_with_recursion_limit(metadata, MAX_CBOR_RECURSION_DEPTH);
        let Metadata { tensors } =
            metadata.map_err(|error| RecordError::Io(format!("metadata: {error}")))?;
        let mut tensors: Vec<_> = tensors.into_iter().collect();
        tensors.sort_by_key(|(_, it)| it.data_offsets);
        let first = aligned_data_section_start(n_metadata);
        let mut end = first;
        let place = |(name, tensor): (String, Descriptor)| {
            let bytes = tensor
                .bounds(first)
                .filter(|bytes| (end..=n_bytes).contains(&bytes.start) && bytes.end <= n_bytes);
            let Some(bytes) = bytes else {
                let message = format!("`{name}` has another type, size or place than it can have");
                return Err(RecordError::Validation(message));
            };
            end = bytes.end;
            Ok(Self {
                name,
                shape: tensor.shape,
                dtype: tensor.dtype,
                id: tensor.param_id,
                bytes,
            })
        };
        tensors.into_iter().map(place).collect()
    }

    /// Returns memory for the values alone, filled with zeros.
    pub(super) fn blank(&self) -> Bytes {
        let n_bytes = self.bytes.len();
        match self.dtype {
            DType::F32 => Bytes::from_elems(vec![0_f32; n_bytes / 4]),
            DType::F16 => Bytes::from_elems(vec![f16::ZERO; n_bytes / 2]),
            _ => Bytes::from_elems(vec![0_i8; n_bytes]),
        }
    }

    pub(super) fn with(self, values: Bytes) -> NamedTensor {
        let data = TensorData::from_bytes(values, self.shape, self.dtype);
        (self.name, data, self.id)
    }
}

/// Returns the tensors of a record, the last one first. Memory that the caller gave up is freed meanwhile.
pub(super) fn take_apart(mut record: Cow<'_, [u8]>) -> ParsedRecord {
    let places = TensorPlace::all(&record, record.len())?;
    let tensor = |place: TensorPlace| {
        let mut values = place.blank();
        values.copy_from_slice(&record[place.bytes.clone()]);
        if let Cow::Owned(record) = &mut record {
            record.truncate(place.bytes.start);
            record.shrink_to_fit();
        }
        place.with(values)
    };
    Ok(places.into_iter().rev().map(tensor).collect())
}

impl Descriptor {
    /// Returns where the values are in the file, if they have a type of models, and as many bytes as their shape needs.
    fn bounds(&self, first: usize) -> Option<Range<usize>> {
        let n_values = self
            .shape
            .iter()
            .try_fold(1_usize, |n_values, size| n_values.checked_mul(*size))?;
        let is_known = matches!(self.dtype, DType::F32 | DType::F16 | DType::I8);
        let n_bytes = n_values.checked_mul(self.dtype.size())?;
        let start = first.checked_add(self.data_offsets.0)?;
        let bounds = start..start.checked_add(n_bytes)?;
        let end = first.checked_add(self.data_offsets.1)?;
        (is_known && bounds.end == end).then_some(bounds)
    }
}

pub(super) fn pack(tensors: Vec<NamedTensor>) -> Result<Bytes, RecordError> {
    let pack = |(name, data, id): NamedTensor| {
        let (bytes, shape, dtype) = data.into_parts();
        Tensor::new(name, dtype, shape, id, bytes)
    };
    Ok(Writer::new(tensors.into_iter().map(pack).collect()).into_bytes()?)
}
