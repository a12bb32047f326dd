//! [`Precision`]: how many bits the numbers of the weights have on disk.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Says how the weights of a model directory are stored; they are computed in what the backend computes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Precision {
    /// 32-bit floats, as trained.
    #[default]
    F32,
    /// 16-bit floats, 11 bits of them the significand.
    F16,
    /// 8-bit integers from −127 to 127 and a scale for each output channel of a matrix; all else in 32-bit
    /// floats.
    Int8,
}

impl Precision {
    /// Returns the name, as the manifest and commands write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Int8 => "int8",
        }
    }

    /// Returns the bytes of a number of a matrix.
    pub(crate) const fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F16 => 2,
            Self::Int8 => 1,
        }
    }

    /// Says whether nothing was taken from the weights.
    pub(super) fn is_full(&self) -> bool {
        *self == Self::F32
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
