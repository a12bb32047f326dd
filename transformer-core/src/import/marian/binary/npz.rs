//! [`read_npz`]: the arrays of an `.npz` file, in which Marian writes models as it trains them.
//!
//! The file is a zip archive of NumPy's `.npy` files with the names of the binary format.

use std::io::{Cursor, Read};

use burn::tensor::TensorData;
use zip::ZipArchive;

use super::BinaryError;
use super::container::{SETTINGS, text, to_tensor};
use crate::import::StateDict;
use crate::import::ctranslate2::MAX_EXPANSION;

/// First bytes of a `.npy` file, before its version.
const MAGIC: &[u8] = b"\x93NUMPY";

/// Smallest limit of an array, in bytes, however small the archive is.
const MIN_EXPANDED: u64 = 1 << 20;

/// Reads the arrays of an `.npz` file, and the text of the model's settings.
///
/// Matrices are `[in, out]`, and vectors have one dimension. The memory is limited by a multiple of the file's size.
///
/// # Errors
///
/// Returns a [`BinaryError`] if the file is damaged, repeats a name, or has an array that is not of 32-bit floats.
pub fn read_npz(file: &[u8]) -> Result<(StateDict, String), BinaryError> {
    let mut archive = ZipArchive::new(Cursor::new(file))?;
    let mut left = (file.len() as u64)
        .saturating_mul(MAX_EXPANSION)
        .max(MIN_EXPANDED);
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
