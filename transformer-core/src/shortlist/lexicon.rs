//! [`Lexicon`]: how often tokens translate each other, learned from parallel text.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::Shortlist;
use crate::text::EOS;

/// Number of iterations of the learning. Later ones change few lists.
const N_ITERATIONS: usize = 5;

/// Number of cells that may be collected before duplicates are removed.
const MIN_COLLECTED: usize = 1 << 22;

/// The tokens of a source line and of its translation, without EOS.
pub type TokenPair = (Vec<u32>, Vec<u32>);

/// The number of links between source tokens and target tokens in parallel text.
///
/// # Example
///
/// ```
/// use transformer_core::Lexicon;
/// use transformer_core::text::EOS;
///
/// let pairs = [(vec![4, 5], vec![6, 7]), (vec![4], vec![7]), (vec![5], vec![6])];
/// let lexicon = Lexicon::learn(&pairs);
/// let shortlist = lexicon.shortlist(8, 1, &[]);
/// assert_eq!(shortlist.candidates(&[5, EOS]), [0, 1, 2, 3, 6]);
/// ```
#[derive(Clone, Debug)]
pub struct Lexicon {
    cells: Cells,
    /// Number of links of each cell.
    links: Vec<f64>,
    /// The target tokens of the text, the most frequent first.
    by_frequency: Vec<u32>,
}

/// The pairs of a source token and a target token that occur in one line, sorted.
#[derive(Clone, Debug)]
struct Cells {
    /// The cells of source token `i` are `offsets[i]..offsets[i + 1]`.
    offsets: Vec<usize>,
    tgt: Vec<u32>,
}

impl Lexicon {
    /// Learns from pairs of lines by IBM model 1 (Brown et al. 1993, <https://aclanthology.org/J93-2003/>).
    ///
    /// The EOS of a source generates the target tokens that translate nothing. The memory is about 30 bytes for each
    /// pair of a source token and a target token that occur in one line.
    pub fn learn(pairs: &[TokenPair]) -> Self {
        let cells = Cells::of(pairs.iter().map(|(src, tgt)| {
            let src = src.iter().chain([&EOS]);
            src.flat_map(move |src| tgt.iter().map(move |tgt| (*src, *tgt)))
        }));
        Self {
            links: cells.expected_links(pairs),
            cells,
            by_frequency: by_frequency(pairs),
        }
    }

    /// Counts given links: for each pair the indices of the linked tokens of source and target.
    ///
    /// # Panics
    ///
    /// Panics if there is not one list of links for each pair, or if an index is too large.
    pub fn count(pairs: &[TokenPair], links: &[Vec<(usize, usize)>]) -> Self {
        assert_eq!(pairs.len(), links.len(), "each pair has its links");
        let linked = || {
            pairs
                .iter()
                .zip(links)
                .map(|((src, tgt), links)| links.iter().map(|(from, to)| (src[*from], tgt[*to])))
        };
        let cells = Cells::of(linked());
        let mut counts = vec![0.0; cells.tgt.len()];
        for (src, tgt) in linked().flatten() {
            counts[cells.find(src, tgt)] += 1.0;
        }
        Self {
            cells,
            links: counts,
            by_frequency: by_frequency(pairs),
        }
    }

    /// Returns the shortlist of the `n_best` target tokens with the most links for each source token, for a model with
    /// `n_src` source tokens.
    ///
    /// The tokens of `common` are allowed in every sentence, and do not count as best ones.
    /// [`most_frequent`](Self::most_frequent) returns those that most sentences need.
    pub fn shortlist(&self, n_src: usize, n_best: usize, common: &[u32]) -> Shortlist {
        let common: BTreeSet<u32> = common.iter().copied().collect();
        let lists = (0..n_src).map(|src| {
            let range = self.cells.range(src);
            let links = self.links[range.clone()].iter().copied();
            let mut best: Vec<(f64, u32)> =
                links.zip(self.cells.tgt[range].iter().copied()).collect();
            best.retain(|(links, id)| *links > 0.0 && *id > EOS && !common.contains(id));
            best.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            best.truncate(n_best);
            let mut ids: Vec<u32> = best.into_iter().map(|(_, id)| id).collect();
            if src == EOS as usize {
                ids.extend(&common);
            }
            ids.sort_unstable();
            ids
        });
        Shortlist::new(n_best, lists)
    }

    /// Returns the target tokens that occur most often, at most `n`.
    pub fn most_frequent(&self, n: usize) -> &[u32] {
        &self.by_frequency[..n.min(self.by_frequency.len())]
    }
}

/// Returns the target tokens, the most frequent first, and of equally frequent ones the smallest.
fn by_frequency(pairs: &[TokenPair]) -> Vec<u32> {
    let mut by_id: BTreeMap<u32, u64> = BTreeMap::new();
    for id in pairs
        .iter()
        .flat_map(|(_, tgt)| tgt)
        .filter(|id| **id > EOS)
    {
        *by_id.entry(*id).or_default() += 1;
    }
    let mut counts: Vec<(u64, u32)> = by_id.into_iter().map(|(id, n)| (n, id)).collect();
    counts.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    counts.into_iter().map(|(_, id)| id).collect()
}

impl Cells {
    fn of<I: Iterator<Item = (u32, u32)>>(lines: impl Iterator<Item = I>) -> Self {
        let mut keys: Vec<u64> = Vec::new();
        let mut most = MIN_COLLECTED;
        let deduplicate = |keys: &mut Vec<u64>| {
            keys.sort_unstable();
            keys.dedup();
        };
        for line in lines {
            keys.extend(line.map(|(src, tgt)| u64::from(src) << 32 | u64::from(tgt)));
            if keys.len() > most {
                deduplicate(&mut keys);
                most = 2 * keys.len() + MIN_COLLECTED;
            }
        }
        deduplicate(&mut keys);
        let src = |key: &u64| (key >> 32) as usize;
        let n_src = keys.last().map_or(0, |key| src(key) + 1);
        let mut offsets = vec![0; n_src + 1];
        for key in &keys {
            offsets[src(key) + 1] += 1;
        }
        for token in 0..n_src {
            offsets[token + 1] += offsets[token];
        }
        Self {
            offsets,
            // From a reference: otherwise the memory of the keys would be kept for half as many bytes.
            tgt: keys.iter().map(|key| *key as u32).collect(),
        }
    }

    fn range(&self, src: usize) -> Range<usize> {
        let end = |token: usize| self.offsets.get(token).copied();
        let range = end(src).zip(end(src + 1));
        range.map_or(0..0, |(start, end)| start..end)
    }

    fn find(&self, src: u32, tgt: u32) -> usize {
        let range = self.range(src as usize);
        range.start + self.tgt[range].partition_point(|id| *id < tgt)
    }

    /// Returns the expected number of links of each cell, if each target token is generated by one of the source or by
    /// its EOS.
    fn expected_links(&self, pairs: &[TokenPair]) -> Vec<f64> {
        let mut links = vec![1.0; self.tgt.len()];
        for _ in 0..N_ITERATIONS {
            let probabilities = self.normalized(links);
            links = vec![0.0; self.tgt.len()];
            for (src, tgt) in pairs {
                for generated in tgt {
                    let cells = src.iter().chain([&EOS]);
                    let cells: Vec<usize> = cells.map(|src| self.find(*src, *generated)).collect();
                    let sum: f64 = cells.iter().map(|cell| probabilities[*cell]).sum();
                    let sum = sum.max(f64::MIN_POSITIVE);
                    for cell in cells {
                        links[cell] += probabilities[cell] / sum;
                    }
                }
            }
        }
        links
    }

    /// Divides the links of each cell by those of its source token.
    fn normalized(&self, mut links: Vec<f64>) -> Vec<f64> {
        for src in 0..self.offsets.len() - 1 {
            let links = &mut links[self.range(src)];
            let sum: f64 = links.iter().sum();
            let sum = sum.max(f64::MIN_POSITIVE);
            links.iter_mut().for_each(|it| *it /= sum);
        }
        links
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns lines of which source token `i` is translated by target token `20 + i`, in another order.
    fn translated_word_by_word() -> Vec<TokenPair> {
        let line = |number: u32| {
            let src: Vec<u32> = (0..5)
                .map(|word| 4 + (number * (word + 1) + word * word) % 13)
                .collect();
            let tgt = src.iter().rev().map(|id| id + 20).collect();
            (src, tgt)
        };
        (0..40).map(line).collect()
    }

    #[test]
    fn the_token_that_occurs_wherever_a_source_token_does_is_its_translation() {
        let lexicon = Lexicon::learn(&translated_word_by_word());
        let shortlist = lexicon.shortlist(17, 1, &[]);
        for src in 4..17 {
            // The special tokens, what EOS generates, and the translation.
            let candidates = shortlist.candidates(&[src]);
            assert!(
                candidates.len() <= 6 && candidates.contains(&(src + 20)),
                "{src}: {candidates:?}"
            );
        }
    }

    #[test]
    fn given_links_are_counted() {
        let pairs = [(vec![4, 5], vec![9, 8, 7]), (vec![4], vec![7])];
        let links = [vec![(0, 0), (1, 2), (0, 1), (1, 2)], vec![(0, 0)]];
        let lexicon = Lexicon::count(&pairs, &links);
        let all = lexicon.shortlist(6, 9, &[]);
        assert_eq!(all.candidates(&[4]), [0, 1, 2, 3, 7, 8, 9]);
        assert_eq!(all.candidates(&[5]), [0, 1, 2, 3, 7]);
        // Of equally frequent ones the first.
        let one = lexicon.shortlist(6, 1, &[]);
        assert_eq!(one.candidates(&[4]), [0, 1, 2, 3, 7]);
    }

    #[test]
    fn common_tokens_are_allowed_beside_the_best_of_others() {
        let pairs = [(vec![4], vec![9, 9, 8, 7])];
        let links = [vec![(0, 0), (0, 1), (0, 2)]];
        let lexicon = Lexicon::count(&pairs, &links);
        assert_eq!(lexicon.most_frequent(2), [9, 7]);
        let shortlist = lexicon.shortlist(5, 1, &[9, 11]);
        assert_eq!(shortlist.candidates(&[4]), [0, 1, 2, 3, 8, 9, 11]);
        assert_eq!(shortlist.candidates(&[]), [0, 1, 2, 3, 9, 11]);
    }
}
