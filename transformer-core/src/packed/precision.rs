//! [`ComputePrecision`]: the number format of matrix products.

use std::fmt;
use std::str::FromStr;

/// The number format in which a [`PackedTransformer`](super::PackedTransformer) multiplies matrices.
///
/// Everything else, such as softmax, layer normalization and attention itself, is computed in 32-bit floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ComputePrecision {
    /// 32-bit floats.
    #[default]
    F32,
    /// 8-bit integers with 32-bit sums: weights with a scale per output feature, activations with a scale per token,
    /// which is computed when they are multiplied.
    Int8,
}

impl ComputePrecision {
    /// All formats, the default first.
    pub const ALL: [Self; 2] = [Self::F32, Self::Int8];

    /// Returns the name that commands use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Int8 => "int8",
        }
    }
}

impl FromStr for ComputePrecision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|it| it.name() == text);
        named.ok_or_else(|| format!("`{text}` is not a precision; write f32 or int8"))
    }
}

impl fmt::Display for ComputePrecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
