//! [`CorpusSummary`]: how many pairs were read, kept and dropped, and why.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Counts what became of the pairs of a corpus.
///
/// Every pair read is kept or counted in exactly one reason for dropping it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorpusSummary {
    /// Pairs read.
    pub read: u64,
    /// Pairs in the token store.
    pub kept: u64,
    /// Pairs dropped because the source is empty or blank.
    pub empty_src: u64,
    /// Pairs dropped because the target, but not the source, is empty or blank.
    pub empty_tgt: u64,
    /// Pairs dropped because a side is over-long.
    pub too_long: u64,
    /// Pairs kept with a side cut short.
    pub cut: u64,
    /// Pairs dropped because one side is too many times as long as the other.
    pub unbalanced: u64,
    /// Pairs, neither side empty, whose target is their source.
    pub copies: u64,
    /// Pairs dropped because their target is their source.
    pub copies_dropped: u64,
    /// Pairs, neither side empty, that came before.
    pub identical: u64,
    /// Pairs dropped because they came before.
    pub identical_dropped: u64,
    /// Tokens in the sources kept, `EOS` not counted.
    pub src_tokens: u64,
    /// Tokens in the targets kept, `BOS` and `EOS` not counted.
    pub tgt_tokens: u64,
    /// Tokens in the sources kept that the vocabulary does not have.
    pub src_unknown: u64,
    /// Tokens in the targets kept that the vocabulary does not have.
    pub tgt_unknown: u64,
    /// Tokens of the longest side of all pairs.
    pub longest: u64,
    /// Pairs kept of each corpus, where there are several, in their order.
    pub kept_of: Vec<u64>,
}

impl fmt::Display for CorpusSummary {
    /// Writes one line; what did not happen is not mentioned.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pairs read, {} kept", self.read, self.kept)?;
        let dropped = [
            (self.empty_src, "with an empty source dropped"),
            (self.empty_tgt, "with an empty target dropped"),
            (self.too_long, "too long, dropped"),
            (self.cut, "too long, cut"),
            (
                self.unbalanced,
                "with one side too long for the other, dropped",
            ),
            (self.copies_dropped, "with equal sides, dropped"),
            (self.copies - self.copies_dropped, "with equal sides"),
            (self.identical_dropped, "identical to another, dropped"),
            (
                self.identical - self.identical_dropped,
                "identical to another",
            ),
        ];
        for (count, what) in dropped.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, ", {count} {what}")?;
        }
        Ok(())
    }
}
