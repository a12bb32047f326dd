//! [`Link`]: a part of a translation and the part of its source that it translates.

use std::ops::Range;

/// A part of a translation and the part of its source that it translates, as ranges of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Bytes of the source.
    pub src: Range<usize>,
    /// Bytes of the translation.
    pub tgt: Range<usize>,
}
