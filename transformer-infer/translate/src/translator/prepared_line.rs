//! [`PreparedLine`]: a line as tokens.

use crate::batch::Source;
use transformer_core::text::Direction;
use transformer_search::Phrase;

/// A line as tokens.
#[derive(Debug, Default)]
pub(crate) struct PreparedLine {
    /// The tokens of the line and its language, without EOS; for a long line more than the limit, but not all.
    pub(crate) ids: Vec<u32>,
    /// The tokens that the translation begins with, that of its language included.
    pub(super) prefix: Vec<u32>,
    /// The tokens of the languages.
    pub(crate) direction: Direction,
    /// The phrases that the translation must contain.
    pub(super) phrases: Vec<Phrase>,
}

impl PreparedLine {
    /// Returns the line as the source of a search.
    pub(crate) fn source(&self, index: u64) -> Source<'_> {
        Source {
            ids: &self.ids,
            prefix: &self.prefix,
            n_free: usize::from(self.direction.first().is_some()),
            phrases: &self.phrases,
            index,
        }
    }
}
