//! [`CountedFilter`]: keeps or drops pairs, and counts the reasons.

use transformer_core::text::UNK;

use crate::config::{Copies, Duplicates, Filter, OverLong};
use crate::corpus::CorpusSummary;
use crate::corpus::seen_pairs::SeenPairs;

/// A filter that counts what it keeps and drops.
pub(super) struct CountedFilter<'a> {
    filter: &'a Filter,
    pub(super) summary: CorpusSummary,
    /// The ids of the tags of each corpus: those of sources, and those of targets; empty without a tag.
    tags: [Vec<Vec<u32>>; 2],
    seen: SeenPairs,
}

impl<'a> CountedFilter<'a> {
    pub(super) fn new(filter: &'a Filter, tags: [Vec<Vec<u32>>; 2]) -> Self {
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
