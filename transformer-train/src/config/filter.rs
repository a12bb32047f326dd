//! The choices of the filter in [`DataSettings`](crate::config::DataSettings), and [`LineLimit`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transformer_core::lines::MAX_LINE_BYTES;

/// The largest size of a line of a corpus, and the treatment of a pair that has a larger one.
///
/// It bounds memory, whatever the files contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineLimit {
    /// Maximum size of a line, in bytes without the line end. Default 1 MiB.
    pub max_bytes: usize,
    /// The treatment of a pair that has a larger line.
    pub long_lines: LongLines,
}

impl Default for LineLimit {
    fn default() -> Self {
        Self {
            max_bytes: MAX_LINE_BYTES,
            long_lines: LongLines::Refuse,
        }
    }
}

/// The treatment of a pair that has a line larger than the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LongLines {
    /// Stop with an error: such a line can mean that a file is damaged, or is not text.
    #[default]
    Refuse,
    /// Drop the pair.
    Drop,
}

/// The treatment of a pair that has a side longer than the maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OverLong {
    /// Drop the pair.
    #[default]
    Drop,
    /// Truncate the long side. The pair is then no longer an exact translation.
    Cut,
}

/// The treatment of a pair that has an empty or blank side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Empty {
    /// Drop the pair.
    #[default]
    Drop,
    /// Stop with an error: in files without empty lines, one can mean that the two sides are misaligned.
    Refuse,
}

/// The treatment of a pair that occurred before, with the same source and the same target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Duplicates {
    /// Train on it again.
    #[default]
    Keep,
    /// Drop the pair.
    Drop,
}

/// The treatment of a pair with equal source and target, which teaches a model to copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Copies {
    /// Train on it.
    #[default]
    Keep,
    /// Drop the pair.
    Drop,
}
