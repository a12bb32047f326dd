//! Which pairs of a corpus are trained on, and a count of what became of them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Says which pairs of a corpus are trained on.
///
/// Pairs with an empty or blank side never are: they are left out, or refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// Longest source and longest target, in tokens without `BOS` and `EOS`. Default 256.
    pub max_len: usize,
    /// What happens to a pair with a longer side.
    pub over_long: OverLong,
    /// Largest ratio of the longer to the shorter side, in tokens; pairs beyond it are left out.
    pub max_ratio: Option<f64>,
    /// What happens to a pair with an empty or blank side.
    pub empty: Empty,
    /// What happens to a pair that came before.
    pub duplicates: Duplicates,
    /// What happens to a pair whose target is its source.
    pub copies: Copies,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            max_len: 256,
            over_long: OverLong::Drop,
            max_ratio: None,
            empty: Empty::Drop,
            duplicates: Duplicates::Keep,
            copies: Copies::Keep,
        }
    }
}

/// Says what happens to a pair that is over-long on one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverLong {
    /// The pair is left out.
    #[default]
    Drop,
    /// The over-long side keeps its first tokens. The pair is then no longer a translation.
    Cut,
}

impl OverLong {
    /// Says whether the ids that were kept of a line can be those of a line with these ids.
    pub(crate) fn keeps(self, kept: &[u32], ids: &[u32]) -> bool {
        match self {
            Self::Drop => kept == ids,
            Self::Cut => ids.starts_with(kept),
        }
    }
}

/// Says what happens to a pair with an empty or blank side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Empty {
    /// It is left out.
    #[default]
    Drop,
    /// It is an error: where no line should be empty, one may mean that the files have gone out of step.
    Refuse,
}

/// Says what happens to a pair whose two lines both came before as a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Duplicates {
    /// It is trained on again.
    #[default]
    Keep,
    /// It is left out.
    Drop,
}

/// Says what happens to a pair whose target is its source, which teaches a translator to copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Copies {
    /// It is trained on.
    #[default]
    Keep,
    /// It is left out.
    Drop,
}

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
