//! [`Variables`]: the named arrays of a `model.bin`.
//!
//! The file is, in little-endian integers: the version, the kind of model and its revision, the number of variables;
//! for each its name, its shape, its type, its size and its values; then the number of aliases, and for each its name
//! and that of a variable. It is that of CTranslate2's `ModelSpec.save` and `Model::load`, in the versions 1 to 6.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use burn::tensor::{DType, TensorData};

use super::CTranslate2Error as Error;
use crate::ComputePrecision;
use crate::import::StateDict;

/// The types of values, by number.
const TYPES: [DType; 6] = [
    DType::F32,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::F16,
    DType::BF16,
];

const MAX_VERSION: u32 = 6;
const MAX_REVISION: u32 = 7;

/// The names of encoder-decoders among the kinds of models. Files of version 1 have none.
const SPECS: [&str; 4] = ["TransformerSpec", "TransformerBase", "TransformerBig", ""];

/// The scale of 16-bit integers in files that do not have it.
const OLD_SCALE: f32 = 1000.0;

/// Reads the tensors of a `model.bin`, under the names of today's versions. Integers with scales become floats;
/// aliases and numbers are left out. The memory is limited by the size of the file.
///
/// # Errors
///
/// Returns a [`CTranslate2Error`](Error) if the file is damaged, or is not a model that can be imported.
pub fn read_container(file: &[u8]) -> Result<StateDict, Error> {
    let variables = Variables::read(file)?;
    let mut dict = StateDict::default();
    for (name, variable) in &variables.variables {
        if !variable.is_scalar() && name.contains('/') {
            dict.insert(name, variables.tensor(name)?);
        }
    }
    Ok(dict)
}

/// The variables of a model, under the names of today's versions.
pub(super) struct Variables {
    pub(super) version: u32,
    pub(super) spec: String,
    variables: BTreeMap<String, Variable>,
    aliases: BTreeMap<String, Arc<str>>,
}

/// A variable: `values.len()` is the size of its shape and type.
#[derive(Clone, PartialEq)]
pub(super) struct Variable {
    pub(super) shape: Vec<usize>,
    dtype: DType,
    values: Vec<u8>,
}

/// Maximum size of the memory for values that is allocated before they are read.
const MAX_AHEAD: usize = 1 << 26;

struct Rest<R>(R);

impl<R: Read> Rest<R> {
    fn take(&mut self, n_bytes: usize, part: &'static str) -> Result<Vec<u8>, Error> {
        let mut taken = Vec::with_capacity(n_bytes.min(MAX_AHEAD));
        let mut reader = self.0.by_ref().take(n_bytes as u64);
        match reader.read_to_end(&mut taken).map_err(Error::Read)? {
            n_read if n_read == n_bytes => Ok(taken),
            _ => Err(damaged(format_args!(
                "{part} do not fit into the file, which is cut off"
            ))),
        }
    }

    fn u8(&mut self, part: &'static str) -> Result<u8, Error> {
        Ok(self.take(1, part)?[0])
    }

    fn u32(&mut self, part: &'static str) -> Result<u32, Error> {
        let bytes = self.take(4, part)?.try_into();
        Ok(bytes.map_or(0, u32::from_le_bytes))
    }

    /// Reads a text after its length, which includes the zero byte at its end.
    fn text(&mut self, part: &'static str) -> Result<String, Error> {
        let len = [self.u8(part)?, self.u8(part)?];
        let mut bytes = self.take(u16::from_le_bytes(len).into(), part)?;
        let end = bytes.pop();
        let text = String::from_utf8(bytes).ok();
        text.filter(|text| end == Some(0) && !text.contains('\0'))
            .ok_or_else(|| damaged(format_args!("a name of {part} is not text")))
    }

    fn variable(&mut self, name: &str, version: u32) -> Result<Variable, Error> {
        let part = "its variables";
        let rank = self.u8(part)?;
        let mut shape = Vec::new();
        for _ in 0..rank {
            shape.push(self.u32(part)? as usize);
        }
        let number = self.u8(part)?;
        let size = self.u32(part)? as usize;
        let (dtype, n_bytes) = match (version, number) {
            (4.., number) => (TYPES.get(usize::from(number)).copied(), Some(size)),
            // Old files have the size of a value.
            (_, 1) => (Some(DType::I8), Some(size)),
            (_, 2) => (Some(DType::I16), size.checked_mul(2)),
            (_, 4) => (Some(DType::F32), size.checked_mul(4)),
            _ => (None, None),
        };
        let dtype =
            dtype.ok_or_else(|| damaged(format_args!("`{name}` has the unknown type {number}")))?;
        let mut sides = shape.iter();
        let expected = sides.try_fold(dtype.size(), |n, side| n.checked_mul(*side));
        let n_bytes = n_bytes.filter(|it| Some(*it) == expected);
        let n_bytes = n_bytes.ok_or_else(|| {
            damaged(format_args!(
                "`{name}` has the shape {shape:?}, but the size {size}"
            ))
        })?;
        let values = self.take(n_bytes, part)?;
        Ok(Variable {
            shape,
            dtype,
            values,
        })
    }
}

impl Variables {
    pub(super) fn read(file: impl Read) -> Result<Self, Error> {
        let mut rest = Rest(file);
        let version = rest.u32("its version")?;
        if !(1..=MAX_VERSION).contains(&version) {
            return Err(Error::Version { found: version });
        }
        let (spec, revision) = match version {
            1 => (String::new(), 1),
            _ => (rest.text("its kind")?, rest.u32("its revision")?),
        };
        if !SPECS.contains(&&*spec) || revision > MAX_REVISION {
            return Err(Error::Spec { spec, revision });
        }
        let mut variables = BTreeMap::new();
        for _ in 0..rest.u32("its variables")? {
            let name = current_name(&rest.text("its variables")?, revision);
            let variable = rest.variable(&name, version)?;
            if variables.insert(name.clone(), variable).is_some() {
                return Err(twice(&name));
            }
        }
        let mut aliases: BTreeMap<String, Arc<str>> = BTreeMap::new();
        let n_aliases = match version {
            3.. => rest.u32("its aliases")?,
            _ => 0,
        };
        for _ in 0..n_aliases {
            let [alias, target] = [rest.text("its aliases")?, rest.text("its aliases")?];
            let [alias, target] = [alias, target].map(|name| current_name(&name, revision));
            // Only names that were read before, so that there is no circle.
            let target = match aliases.get(&target) {
                Some(variable) => variable.clone(),
                None if variables.contains_key(&target) => target.into(),
                None => {
                    return Err(damaged(format_args!(
                        "`{alias}` stands for `{target}`, which is not a variable or an alias before it"
                    )));
                }
            };
            if variables.contains_key(&alias) || aliases.insert(alias.clone(), target).is_some() {
                return Err(twice(&alias));
            }
        }
        match io::copy(&mut rest.0, &mut io::sink()).map_err(Error::Read)? {
            0 => Ok(Self {
                version,
                spec,
                variables,
                aliases,
            }),
            n_bytes => Err(damaged(format_args!("{n_bytes} bytes are left at the end"))),
        }
    }

    /// Returns the name of the variable that a name stands for.
    pub(super) fn variable_of<'b>(&'b self, name: &'b str) -> &'b str {
        self.aliases.get(name).map_or(name, |target| &**target)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Variable> {
        self.variables.get(self.variable_of(name))
    }

    /// Returns all names, those of variables first.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.variables.keys().chain(self.aliases.keys());
        names.map(String::as_str)
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.get(name).and_then(Variable::number)
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        let variable = self.get(name)?;
        Some(String::from_utf8_lossy(&variable.values).into_owned())
    }

    /// Returns the number format of products: integers if there are matrices of 8-bit integers.
    pub(super) fn precision(&self) -> ComputePrecision {
        let mut variables = self.variables.values();
        match variables.any(|it| it.dtype == DType::I8 && it.shape.len() > 1) {
            true => ComputePrecision::Int8,
            false => ComputePrecision::F32,
        }
    }

    /// Returns the sum of the sizes of all values in bytes.
    pub(super) fn n_bytes(&self) -> usize {
        self.variables.values().map(Variable::n_bytes).sum()
    }

    /// Returns a tensor of floats. Integers are divided by their scales: one for all, or one for each row.
    pub(super) fn tensor(&self, name: &str) -> Result<TensorData, Error> {
        let variable = self.get(name).ok_or_else(|| Error::missing(name))?;
        self.floats(self.variable_of(name), variable.clone())
    }

    /// Removes a variable, and returns its tensor of floats.
    pub(super) fn take(&mut self, name: &str) -> Result<TensorData, Error> {
        let variable = self.variables.remove(name);
        self.floats(name, variable.ok_or_else(|| Error::missing(name))?)
    }

    fn floats(&self, name: &str, variable: Variable) -> Result<TensorData, Error> {
        let dtype = variable.dtype;
        let stored = variable.stored();
        let scale_name = format!("{name}_scale");
        let scales = match (dtype, self.get(&scale_name)) {
            (DType::F32 | DType::F16 | DType::BF16, _) => return Ok(stored),
            (DType::I8 | DType::I16, Some(scales)) => {
                scales.clone().stored().iter::<f32>().collect()
            }
            (DType::I16, None) => vec![OLD_SCALE],
            _ => {
                let fault = format_args!("`{name}` has integers without `{scale_name}`");
                return Err(damaged(fault));
            }
        };
        if let Some(scale) = scales.iter().find(|it| !it.is_normal() || **it < 0.0) {
            return Err(damaged(format_args!(
                "`{scale_name}` has the value {scale}"
            )));
        }
        let n_rows = match (&scales[..], &stored.shape()[..]) {
            ([_], _) => 1,
            (scales, [n_rows, ..]) if scales.len() == *n_rows && *n_rows > 0 => *n_rows,
            (scales, shape) => {
                let n_scales = scales.len();
                return Err(damaged(format_args!(
                    "`{scale_name}` has {n_scales} values for the shape {shape:?}"
                )));
            }
        };
        let mut values: Vec<f32> = stored.iter::<f32>().collect();
        let row_len = (values.len() / n_rows).max(1);
        for (row, scale) in values.chunks_mut(row_len).zip(scales) {
            row.iter_mut().for_each(|value| *value /= scale);
        }
        Ok(TensorData::new(values, stored.shape().clone()))
    }
}

impl Variable {
    fn stored(self) -> TensorData {
        TensorData::from_bytes_vec(self.values, self.shape, self.dtype)
    }

    pub(super) fn number(&self) -> Option<f64> {
        let is_one = self.values.len() == self.dtype.size();
        let first = || self.clone().stored().iter::<f64>().next();
        is_one.then(first).flatten()
    }

    pub(super) fn is_scalar(&self) -> bool {
        self.shape.is_empty()
    }

    pub(super) fn is_integer(&self) -> bool {
        matches!(self.dtype, DType::I8 | DType::I16)
    }

    /// Returns the accuracy of the values of its type, relative to the largest.
    pub(super) fn epsilon(&self) -> f32 {
        match self.dtype {
            DType::F16 => 1e-3,
            DType::BF16 => 1e-2,
            _ => 0.0,
        }
    }

    pub(super) fn n_bytes(&self) -> usize {
        self.values.len()
    }
}

pub(super) fn damaged(fault: fmt::Arguments<'_>) -> Error {
    let fault = fault.to_string();
    Error::Damaged { fault }
}

fn twice(name: &str) -> Error {
    damaged(format_args!("`{name}` occurs twice"))
}

/// Returns the name that today's versions have for a variable of this revision.
fn current_name(name: &str, revision: u32) -> String {
    let mut name = name.to_owned();
    if revision == 1 {
        // In this order, as CTranslate2 does; each once.
        let mut replacements = vec![
            ("transformer/", ""),
            (":0", ""),
            ("w_embs", "embeddings/weight"),
            ("kernel", "weight"),
            ("LayerNorm", "layer_norm"),
            ("dense", "projection"),
            ("conv1d_", "linear_"),
            ("conv1d", "linear_0"),
        ];
        match name.contains("encoder") {
            true => replacements.push(("multi_head", "self_attention")),
            false => replacements.extend([
                ("masked_multi_head", "self_attention"),
                ("multi_head", "attention"),
            ]),
        }
        for (from, to) in replacements {
            name = name.replacen(from, to, 1);
        }
    }
    match name.strip_prefix("encoder/embeddings/") {
        Some(rest) => format!("encoder/embeddings_0/{rest}"),
        None => name,
    }
}

#[cfg(test)]
#[path = "container_tests.rs"]
mod tests;
