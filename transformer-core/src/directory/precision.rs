//! [`Precision`]: the data type of stored weights.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The data type of the weights in a model directory. Loading converts them to the backend's float type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Precision {
    /// 32-bit floats, as trained.
    #[default]
    F32,
    /// 16-bit floats with a significand of 11 bits.
    F16,
    /// Matrices as 8-bit integers from −127 to 127 with a scale per output channel; everything else as 32-bit floats.
    Int8,
}

impl Precision {
    /// Returns the name in the manifest and in commands.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Int8 => "int8",
        }
    }

    /// Returns the number of bytes of a matrix element on disk.
    pub(super) const fn element_bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F16 => 2,
            Self::Int8 => 1,
        }
    }

    /// Returns whether the weights are stored as trained.
    pub(super) fn is_full(&self) -> bool {
        *self == Self::F32
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
