//! The containers: named arrays with their types and shapes.
//!
//! A file in the binary format is, in little-endian integers of 64 bits: the version, the number of arrays, and for each
//! array the length of its name, its type, the length of its shape and that of its data; then all names, all shapes (32
//! bits each), padding with its length, and all data. It is that of Marian's `src/common/binary.cpp`. As it trains them,
//! Marian writes models in `.npz` files: zip archives of NumPy's `.npy` files with the same names.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{Cursor, Read};
use std::ops::Range;

use burn::tensor::TensorData;
use zip::ZipArchive;

use super::BinaryError;
use crate::import::StateDict;
use crate::import::ctranslate2::max_expanded;

pub(crate) const SETTINGS: &str = "special:model.yml";

/// Suffix of the arrays with the scales of activations, which only products of integers need.
pub(crate) const ALPHA: &str = "_QuantMultA";

const I8: u64 = 0x101;
const F32: u64 = 0x404;
const INTGEMM8: u64 = 0x4101;

/// The data of each array begin at a multiple of this many bytes.
const ALIGNMENT: usize = 256;

/// Number of bytes for each array before the names.
const HEADER_BYTES: usize = 32;

/// Reads the arrays of a file in Marian's binary format, and the text of the model's settings.
///
/// 8-bit integers become floats. Matrices are `[in, out]`, and vectors have one dimension. The memory is limited by the
/// size of the file.
pub fn read_container(file: &[u8]) -> Result<(StateDict, String), BinaryError> {
    let (dict, settings) = take_container(file.into())?;
    Ok((dict.into_floats(), settings))
}

/// Reads a file as [`read_container`], but for matrices of 8-bit integers, which get a divisor. Memory that the caller gave
/// up is freed meanwhile.
pub(super) fn take_container(mut file: Cow<'_, [u8]>) -> Result<(StateDict, String), BinaryError> {
    let mut dict = StateDict::default();
    let mut settings = None;
    for item in items(&file)?.into_iter().rev() {
        let data = &file[item.data.clone()];
        match &*item.name {
            SETTINGS if item.kind == I8 => {
                settings = Some(text(data));
            }
            name if name.ends_with(ALPHA) => {}
            _ => item.insert_into(&mut dict, data)?,
        }
        if let Cow::Owned(file) = &mut file {
            file.truncate(item.data.start);
            file.shrink_to_fit();
        }
    }
    let settings = settings.ok_or(BinaryError::NoSettings)?;
    Ok((dict, settings))
}

struct Item {
    name: String,
    kind: u64,
    shape: Vec<i32>,
    data: Range<usize>,
}

pub(crate) struct Array {
    pub(crate) name: String,
    pub(crate) shape: Vec<i32>,
    pub(crate) content: Content,
}

pub(crate) enum Content {
    Text(String),
    Floats(Vec<f32>),
    /// 8-bit integers, of a matrix those of its transpose, with the factor by which the floats were multiplied.
    Integers(Vec<i8>, f32),
}

impl Content {
    fn kind(&self) -> u64 {
        match self {
            Self::Text(_) => I8,
            Self::Floats(_) => F32,
            Self::Integers(..) => INTGEMM8,
        }
    }

    /// Returns the bytes with padding.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = match self {
            Self::Text(text) => text.bytes().chain([0]).collect(),
            Self::Floats(values) => values.iter().flat_map(|it| it.to_le_bytes()).collect(),
            Self::Integers(values, factor) => {
                let values = values.iter().map(|it| it.cast_unsigned());
                values.chain(factor.to_le_bytes()).collect()
            }
        };
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        bytes
    }
}

/// Returns a file of arrays, which are written in this order.
pub(crate) fn write_container(arrays: &[Array]) -> Vec<u8> {
    let contents: Vec<Vec<u8>> = arrays.iter().map(|it| it.content.bytes()).collect();
    let mut file = Vec::new();
    file.extend(
        [1, arrays.len() as u64]
            .map(u64::to_le_bytes)
            .as_flattened(),
    );
    for (array, content) in arrays.iter().zip(&contents) {
        let (name_len, rank) = (array.name.len() + 1, array.shape.len());
        let header = [
            name_len as u64,
            array.content.kind(),
            rank as u64,
            content.len() as u64,
        ];
        file.extend(header.map(u64::to_le_bytes).as_flattened());
    }
    for array in arrays {
        file.extend(array.name.bytes().chain([0]));
    }
    file.extend(
        arrays
            .iter()
            .flat_map(|it| &it.shape)
            .flat_map(|len| len.to_le_bytes()),
    );
    let start = (file.len() + 8).next_multiple_of(ALIGNMENT);
    file.extend(((start - file.len() - 8) as u64).to_le_bytes());
    file.resize(start, 0);
    file.extend(contents.concat());
    file
}

struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, n_bytes: u64, part: &'static str) -> Result<&'a [u8], BinaryError> {
        let n_bytes = usize::try_from(n_bytes).ok();
        let split = n_bytes.and_then(|n_bytes| self.0.split_at_checked(n_bytes));
        let (taken, rest) = split.ok_or(BinaryError::Truncated { part })?;
        self.0 = rest;
        Ok(taken)
    }

    fn u64(&mut self, part: &'static str) -> Result<u64, BinaryError> {
        let bytes = self.take(8, part)?.try_into();
        Ok(u64::from_le_bytes(bytes.unwrap_or_default()))
    }
}

fn items(file: &[u8]) -> Result<Vec<Item>, BinaryError> {
    let mut rest = Rest(file);
    if rest.u64("version").ok() != Some(1) {
        return Err(BinaryError::Version);
    }
    let part = "the sizes of the arrays";
    let n_items = rest.u64(part)?;
    // Checked before anything is allocated for each array.
    let n_bytes = n_items.saturating_mul(HEADER_BYTES as u64);
    let mut headers = Rest(rest.take(n_bytes, part)?);
    let mut sizes = Vec::new();
    for _ in 0..n_items {
        sizes.push([
            headers.u64(part)?,
            headers.u64(part)?,
            headers.u64(part)?,
            headers.u64(part)?,
        ]);
    }
    let mut items = Vec::new();
    let mut names = BTreeSet::new();
    for (index, [name_len, kind, ..]) in sizes.iter().enumerate() {
        let bytes = rest.take(*name_len, "the names of the arrays")?;
        let name = bytes.strip_suffix(b"\0");
        let name = name.and_then(|name| str::from_utf8(name).ok());
        let name = name.filter(|name| !name.contains('\0') && names.insert(*name));
        items.push(Item {
            name: name.ok_or(BinaryError::Name { index })?.to_owned(),
            kind: *kind,
            shape: Vec::new(),
            data: 0..0,
        });
    }
    for (item, [_, _, shape_len, _]) in items.iter_mut().zip(&sizes) {
        let bytes = rest.take(shape_len.saturating_mul(4), "the shapes of the arrays")?;
        let (lens, _) = bytes.as_chunks();
        item.shape = lens.iter().map(|len| i32::from_le_bytes(*len)).collect();
    }
    let part = "the arrays";
    let padding = rest.u64(part)?;
    rest.take(padding, part)?;
    for (item, [.., n_bytes]) in items.iter_mut().zip(&sizes) {
        let start = file.len() - rest.0.len();
        item.data = start..start + rest.take(*n_bytes, part)?.len();
    }
    match rest.0.len() {
        0 => Ok(items),
        n_bytes => Err(BinaryError::LeftOver { n_bytes }),
    }
}

impl Item {
    /// Inserts a matrix as `[in, out]`, or a vocabulary as `[vocab, d_model]`.
    fn insert_into(&self, dict: &mut StateDict, data: &[u8]) -> Result<(), BinaryError> {
        let name = &self.name;
        let wrong = || BinaryError::Size {
            name: name.clone(),
            shape: self.shape.clone(),
            n_bytes: data.len(),
        };
        let &[n_rows, n_columns] = &self.shape[..] else {
            return Err(wrong());
        };
        let len = |len: i32| usize::try_from(len).ok().filter(|len| *len > 0);
        let (n_rows, n_columns) = len(n_rows).zip(len(n_columns)).ok_or_else(wrong)?;
        let n = n_rows.checked_mul(n_columns).ok_or_else(wrong)?;
        let shape = [n_rows, n_columns];
        match self.kind {
            F32 => {
                let (values, _) = data.as_chunks();
                let values = values.get(..n).ok_or_else(wrong)?;
                let values: Vec<f32> = values.iter().map(|it| f32::from_le_bytes(*it)).collect();
                dict.insert(name, to_tensor(name, values, shape));
            }
            INTGEMM8 => {
                let (integers, rest) = data.split_at_checked(n).ok_or_else(wrong)?;
                let scale = f32::from_le_bytes(*rest.first_chunk().ok_or_else(wrong)?);
                if !scale.is_normal() || scale < 0.0 {
                    let name = name.clone();
                    return Err(BinaryError::Scale { name, scale });
                }
                let integers: Vec<i8> = match is_vocabulary(name) {
                    true => integers.iter().map(|it| it.cast_signed()).collect(),
                    // The integers are those of the transposed matrix.
                    false => {
                        let row = |row: usize| integers[row..].iter().step_by(n_rows);
                        let values = (0..n_rows).flat_map(row);
                        values.map(|it| it.cast_signed()).collect()
                    }
                };
                match is_matrix(name) {
                    true => dict.insert_divided(name, TensorData::new(integers, shape), scale),
                    false => {
                        let values = integers.into_iter().map(|it| f32::from(it) / scale);
                        dict.insert(name, TensorData::new(values.collect::<Vec<f32>>(), [n]));
                    }
                }
            }
            found => {
                let name = name.clone();
                return Err(BinaryError::Type { name, found });
            }
        }
        Ok(())
    }
}

/// Returns whether an array has a row for each token; other matrices of integers are transposed.
pub(crate) fn is_vocabulary(name: &str) -> bool {
    name.ends_with("Wemb")
}

/// Returns whether an array is a matrix, and not a vector that is stored as a row.
pub(crate) fn is_matrix(name: &str) -> bool {
    is_vocabulary(name) || name.contains("_W") && !name.contains("_ln_")
}

/// Returns a tensor of the values of an array.
pub(super) fn to_tensor(name: &str, values: Vec<f32>, shape: [usize; 2]) -> TensorData {
    match is_matrix(name) {
        true => TensorData::new(values, shape),
        false => {
            let n_values = values.len();
            TensorData::new(values, [n_values])
        }
    }
}

pub(super) fn text(data: &[u8]) -> String {
    let text = data.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// First bytes of a `.npy` file, before its version.
const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads the arrays of an `.npz` file, and the text of the model's settings.
///
/// Matrices are `[in, out]`, and vectors have one dimension. The memory is limited by a multiple of the file's size.
pub fn read_npz(file: &[u8]) -> Result<(StateDict, String), BinaryError> {
    let mut archive = ZipArchive::new(Cursor::new(file))?;
    let mut left = max_expanded(file.len() as u64);
    let (mut dict, mut settings) = (StateDict::default(), None);
    for index in 0..archive.len() {
        let entry = archive.by_index(index)?;
        let name = entry.name()?.into_owned();
        let name = name.strip_suffix(".npy").unwrap_or(&name).to_owned();
        let mut content = Vec::new();
        let read = entry.take(left.saturating_add(1)).read_to_end(&mut content);
        let n_bytes = read.map_err(|source| BinaryError::Zip(source.into()))? as u64;
        let damaged = || BinaryError::Array { name: name.clone() };
        left = left.checked_sub(n_bytes).ok_or_else(damaged)?;
        let (header, data) = split(&content).ok_or_else(damaged)?;
        let repeated = BinaryError::Name { index };
        if name == SETTINGS {
            if settings.replace(text(data)).is_some() {
                return Err(repeated);
            }
            continue;
        }
        let shape = shape(header).ok_or_else(damaged)?;
        let (values, rest) = data.as_chunks();
        let values: Vec<f32> = values.iter().map(|it| f32::from_le_bytes(*it)).collect();
        let n_values = shape.iter().try_fold(1_usize, |n, len| n.checked_mul(*len));
        if !rest.is_empty() || n_values != Some(values.len()) {
            return Err(damaged());
        }
        let tensor = match shape[..] {
            [n_rows, n_columns] => to_tensor(&name, values, [n_rows, n_columns]),
            _ => TensorData::new(values, shape),
        };
        if dict.insert(name, tensor).is_some() {
            return Err(repeated);
        }
    }
    Ok((dict, settings.ok_or(BinaryError::NoSettings)?))
}

/// Returns the header of a `.npy` file, a dictionary in Python's notation, and the data.
fn split(content: &[u8]) -> Option<(&str, &[u8])> {
    let (version, rest) = content.strip_prefix(MAGIC)?.split_first_chunk::<2>()?;
    let (len, rest) = match version[0] {
        1 => {
            let (len, rest) = rest.split_first_chunk()?;
            (u16::from_le_bytes(*len).into(), rest)
        }
        _ => {
            let (len, rest) = rest.split_first_chunk()?;
            (u32::from_le_bytes(*len), rest)
        }
    };
    let (header, data) = rest.split_at_checked(usize::try_from(len).ok()?)?;
    Some((str::from_utf8(header).ok()?, data))
}

/// Returns the shape of an array of 32-bit floats in C's order.
fn shape(header: &str) -> Option<Vec<usize>> {
    let value = |key: &str| Some(header.split_once(key)?.1.split_once(':')?.1.trim_start());
    let is_float = value("'descr'")?.starts_with("'<f4'");
    let is_c = value("'fortran_order'")?.starts_with("False");
    let (shape, _) = value("'shape'")?.strip_prefix('(')?.split_once(')')?;
    let lens = shape
        .split(',')
        .map(str::trim)
        .filter(|len| !len.is_empty());
    let shape: Option<Vec<usize>> = lens.map(|len| len.parse().ok()).collect();
    shape.filter(|_| is_float && is_c)
}
