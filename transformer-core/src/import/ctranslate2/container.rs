//! [`Variables`]: the named arrays of a `model.bin`.
//!
//! The file is, in little-endian integers: the version, the kind of model and its revision, the number of variables;
//! for each its name, its shape, its type, its size and its values; then the number of aliases, and for each its name
//! and that of a variable. It is that of CTranslate2's `ModelSpec.save` and `Model::load`, in the versions 1 to 6.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use burn::tensor::{DType, TensorData};

use super::CTranslate2Error as Error;
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
    let variables = Variables::parse(file)?;
    let mut dict = StateDict::default();
    for (name, variable) in &variables.variables {
        if !variable.is_scalar() && name.contains('/') {
            dict.insert(name, variables.tensor(name)?);
        }
    }
    Ok(dict)
}

/// The variables of a model, under the names of today's versions.
pub(super) struct Variables<'a> {
    pub(super) version: u32,
    pub(super) spec: String,
    variables: BTreeMap<String, Variable<'a>>,
    aliases: BTreeMap<String, Arc<str>>,
}

/// A variable: `values.len()` is the size of its shape and type.
#[derive(Clone, PartialEq)]
pub(super) struct Variable<'a> {
    pub(super) shape: Vec<usize>,
    dtype: DType,
    values: &'a [u8],
}

struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, n_bytes: usize, part: &'static str) -> Result<&'a [u8], Error> {
        let split = self.0.split_at_checked(n_bytes);
        let (taken, rest) = split.ok_or_else(|| {
            damaged(format_args!(
                "{part} do not fit into the file, which is cut off"
            ))
        })?;
        self.0 = rest;
        Ok(taken)
    }

    fn u8(&mut self, part: &'static str) -> Result<u8, Error> {
        Ok(self.take(1, part)?[0])
    }

    fn u32(&mut self, part: &'static str) -> Result<u32, Error> {
        let bytes = self.take(4, part)?.try_into();
        Ok(u32::from_le_bytes(bytes.unwrap_or_default()))
    }

    /// Reads a text after its length, which includes the zero byte at its end.
    fn text(&mut self, part: &'static str) -> Result<&'a str, Error> {
        let len = [self.u8(part)?, self.u8(part)?];
        let bytes = self.take(u16::from_le_bytes(len).into(), part)?;
        let text = bytes.strip_suffix(b"\0");
        let text = text.and_then(|text| str::from_utf8(text).ok());
        text.filter(|text| !text.contains('\0'))
            .ok_or_else(|| damaged(format_args!("a name of {part} is not text")))
    }

    fn variable(&mut self, name: &str, version: u32) -> Result<Variable<'a>, Error> {
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

impl<'a> Variables<'a> {
    pub(super) fn parse(file: &'a [u8]) -> Result<Self, Error> {
        let mut rest = Rest(file);
        let version = rest.u32("its version")?;
        if !(1..=MAX_VERSION).contains(&version) {
            return Err(Error::Version { found: version });
        }
        let (spec, revision) = match version {
            1 => ("", 1),
            _ => (rest.text("its kind")?, rest.u32("its revision")?),
        };
        if !SPECS.contains(&spec) || revision > MAX_REVISION {
            let spec = spec.to_owned();
            return Err(Error::Spec { spec, revision });
        }
        let mut variables = BTreeMap::new();
        for _ in 0..rest.u32("its variables")? {
            let name = current_name(rest.text("its variables")?, revision);
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
            let [alias, target] = [alias, target].map(|name| current_name(name, revision));
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
        match rest.0.len() {
            0 => Ok(Self {
                version,
                spec: spec.to_owned(),
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

    pub(super) fn get(&self, name: &str) -> Option<&Variable<'a>> {
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
        Some(String::from_utf8_lossy(variable.values).into_owned())
    }

    /// Returns a tensor of floats. Integers are divided by their scales: one for all, or one for each row.
    pub(super) fn tensor(&self, name: &str) -> Result<TensorData, Error> {
        let variable = self.get(name).ok_or_else(|| Error::missing(name))?;
        let stored = variable.stored();
        let scale_name = format!("{}_scale", self.variable_of(name));
        let scales = match (variable.dtype, self.get(&scale_name)) {
            (DType::F32 | DType::F16 | DType::BF16, _) => return Ok(stored),
            (DType::I8 | DType::I16, Some(scales)) => scales.stored().iter::<f32>().collect(),
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
        let n_rows = match (&scales[..], &variable.shape[..]) {
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
        Ok(TensorData::new(values, variable.shape.clone()))
    }
}

impl Variable<'_> {
    fn stored(&self) -> TensorData {
        let shape = self.shape.clone();
        TensorData::from_bytes_vec(self.values.to_vec(), shape, self.dtype)
    }

    pub(super) fn number(&self) -> Option<f64> {
        let is_one = self.values.len() == self.dtype.size();
        is_one.then(|| self.stored().iter::<f64>().next()).flatten()
    }

    pub(super) fn is_scalar(&self) -> bool {
        self.shape.is_empty()
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
