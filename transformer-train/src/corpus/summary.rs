//! [`CorpusSummary`]: the numbers of pairs that were read, kept, and dropped for each reason; and the filter that counts.

use std::fmt;

use serde::{Deserialize, Serialize};
use transformer_core::text::UNK;

use crate::config::{Copies, DataSettings, Duplicates, OverLong};
use crate::corpus::fingerprint::SeenPairs;

/// Counts of the pairs of a corpus: read, kept, and dropped for each reason.
///
/// Every pair that is not kept is counted under exactly one reason for dropping it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorpusSummary {
    /// Pairs read.
    pub read: u64,
    /// Pairs in the token store.
    pub kept: u64,
    /// Pairs dropped because the source is empty or blank.
    pub empty_src: u64,
    /// Pairs dropped because the target, but not the source, is empty or blank.
    pub empty_tgt: u64,
    /// Pairs dropped because a line is larger than `data.max_line_bytes`.
    #[serde(default)]
    pub long_lines: u64,
    /// Pairs dropped because a side is longer than the maximum.
    pub too_long: u64,
    /// Pairs kept with a truncated side.
    pub cut: u64,
    /// Pairs dropped because the ratio of their lengths is above the maximum.
    pub unbalanced: u64,
    /// Pairs with equal source and target, unless it is empty.
    pub copies: u64,
    /// Pairs dropped because their target equals their source.
    pub copies_dropped: u64,
    /// Pairs that occurred before, unless a side is empty.
    pub identical: u64,
    /// Pairs dropped because they occurred before.
    pub identical_dropped: u64,
    /// Tokens in the kept sources, without `EOS`.
    pub src_tokens: u64,
    /// Tokens in the kept targets, without `BOS` and `EOS`.
    pub tgt_tokens: u64,
    /// Unknown tokens in the kept sources.
    pub src_unknown: u64,
    /// Unknown tokens in the kept targets.
    pub tgt_unknown: u64,
    /// Length of the longest side of all pairs, in tokens.
    pub longest: u64,
    /// Kept pairs of each corpus, in the order of the corpora.
    pub kept_of: Vec<u64>,
}

impl CorpusSummary {
    /// Returns whether the counts can be those of a corpus: a damaged file may contain anything.
    pub(super) fn is_consistent(&self) -> bool {
        let dropped = [
            self.empty_src,
            self.empty_tgt,
            self.long_lines,
            self.too_long,
            self.unbalanced,
            self.copies_dropped,
            self.identical_dropped,
        ];
        let sum = |counts: &[u64]| counts.iter().map(|count| u128::from(*count)).sum::<u128>();
        sum(&dropped) + u128::from(self.kept) == u128::from(self.read)
            && sum(&self.kept_of) == u128::from(self.kept)
            && self.copies_dropped <= self.copies
            && self.identical_dropped <= self.identical
    }
}

impl fmt::Display for CorpusSummary {
    /// Writes one line, without counts of 0.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pairs read, {} kept", self.read, self.kept)?;
        let dropped = [
            (self.empty_src, "with an empty source dropped"),
            (self.empty_tgt, "with an empty target dropped"),
            (
                self.long_lines,
                "with a line above `data.max_line_bytes`, dropped",
            ),
            (self.too_long, "too long, dropped"),
            (self.cut, "too long, cut"),
            (
                self.unbalanced,
                "with sides of too different lengths, dropped",
            ),
            (self.copies_dropped, "with equal sides, dropped"),
            (
                self.copies.saturating_sub(self.copies_dropped),
                "with equal sides",
            ),
            (self.identical_dropped, "identical to another, dropped"),
            (
                self.identical.saturating_sub(self.identical_dropped),
                "identical to another",
            ),
        ];
        for (count, what) in dropped.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, ", {count} {what}")?;
        }
        Ok(())
    }
}

pub(super) struct CountedFilter<'a> {
    filter: &'a DataSettings,
    pub(super) summary: CorpusSummary,
    /// The ids of the tags of each corpus: those of sources, and those of targets; empty without a tag.
    tags: [Vec<Vec<u32>>; 2],
    seen: SeenPairs,
}

impl<'a> CountedFilter<'a> {
    pub(super) fn new(filter: &'a DataSettings, tags: [Vec<Vec<u32>>; 2]) -> Self {
        Self {
            filter,
            summary: CorpusSummary::default(),
            tags,
            seen: SeenPairs::default(),
        }
    }

    /// Returns whether a pair passes the checks that need no tokens. `is_copy`: its sides are equal without their tags.
    pub(super) fn keeps_text(&mut self, pair: &(String, String), is_copy: bool) -> bool {
        let summary = &mut self.summary;
        summary.read += 1;
        if pair.0.trim().is_empty() {
            summary.empty_src += 1;
            return false;
        }
        if pair.1.trim().is_empty() {
            summary.empty_tgt += 1;
            return false;
        }
        if is_copy {
            summary.copies += 1;
            if self.filter.copies == Copies::Drop {
                summary.copies_dropped += 1;
                return false;
            }
        }
        if self.seen.insert(pair) {
            return true;
        }
        summary.identical += 1;
        let dropped = self.filter.duplicates == Duplicates::Drop;
        summary.identical_dropped += u64::from(dropped);
        !dropped
    }

    /// Checks the token ids of a pair of this corpus. Returns the ids to keep, or `None` for a dropped pair.
    pub(super) fn filter_tokens<'i>(
        &mut self,
        corpus: usize,
        src: &'i [u32],
        tgt: &'i [u32],
    ) -> Option<(&'i [u32], &'i [u32])> {
        let summary = &mut self.summary;
        if summary.kept_of.len() <= corpus {
            summary.kept_of.resize(corpus + 1, 0);
        }
        let max_len = self.filter.max_len;
        // A tokenizer can drop all characters of a line that is not blank, so that only its tag is left.
        let [src_tag, tgt_tag] = self.tags.each_ref().map(|tags| tags[corpus].as_slice());
        if src.is_empty() || src == src_tag {
            summary.empty_src += 1;
            return None;
        }
        if tgt.is_empty() || tgt == tgt_tag {
            summary.empty_tgt += 1;
            return None;
        }
        let (longer, shorter) = (src.len().max(tgt.len()), src.len().min(tgt.len()));
        summary.longest = summary.longest.max(longer as u64);
        let is_too_long = longer > max_len;
        if is_too_long && self.filter.over_long == OverLong::Drop {
            summary.too_long += 1;
            return None;
        }
        let ratio = longer as f64 / shorter as f64;
        if self.filter.max_ratio.is_some_and(|max| ratio > max) {
            summary.unbalanced += 1;
            return None;
        }
        summary.cut += u64::from(is_too_long);
        let src = &src[..src.len().min(max_len)];
        let tgt = &tgt[..tgt.len().min(max_len)];
        summary.kept += 1;
        summary.kept_of[corpus] += 1;
        summary.src_tokens += src.len() as u64;
        summary.tgt_tokens += tgt.len() as u64;
        summary.src_unknown += n_unknown(src);
        summary.tgt_unknown += n_unknown(tgt);
        Some((src, tgt))
    }
}

fn n_unknown(ids: &[u32]) -> u64 {
    ids.iter().filter(|&&id| id == UNK).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_contradict_each_other_are_noticed_and_shown() {
        let counts = CorpusSummary {
            read: 9,
            kept: 6,
            too_long: 2,
            copies_dropped: 1,
            copies: 1,
            kept_of: vec![4, 2],
            ..CorpusSummary::default()
        };
        assert!(counts.is_consistent());
        let changes: [fn(&mut CorpusSummary); 5] = [
            |it| it.read = 8,
            |it| it.kept_of[1] = u64::MAX,
            |it| it.copies = 0,
            |it| it.identical_dropped = u64::MAX,
            |it| it.too_long = 3,
        ];
        for change in changes {
            let mut changed = counts.clone();
            change(&mut changed);
            assert!(!changed.is_consistent(), "{changed:?}");
            assert!(!changed.to_string().is_empty());
        }
    }
}
