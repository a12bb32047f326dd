//! [`TokenStore`]: the training pairs as token ids, in memory or on disk.

use std::sync::Arc;

use crate::corpus::DiskStore;
use crate::error::TrainError;

/// A source sentence and its target sentence, as token ids without BOS and EOS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentencePair {
    /// Source token ids.
    pub src: Vec<u32>,
    /// Target token ids.
    pub tgt: Vec<u32>,
}

#[derive(Debug)]
pub(crate) enum TokenStore {
    Memory(EncodedCorpus),
    /// On disk: each pair is read when needed.
    Disk(DiskStore),
}

impl TokenStore {
    pub(crate) fn pair(&self, index: usize) -> Result<SentencePair, TrainError> {
        match self {
            Self::Memory(corpus) => Ok(corpus.pair(index)),
            Self::Disk(store) => store.pair(index),
        }
    }

    pub(crate) fn lengths(&self) -> Arc<[(u32, u32)]> {
        match self {
            Self::Memory(corpus) => corpus.lengths().into(),
            Self::Disk(store) => store.lengths(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Memory(corpus) => corpus.bytes(),
            Self::Disk(store) => store.bytes(),
        }
    }
}

/// The token ids of all pairs, in one buffer, without `BOS` and `EOS`, which are added to batches.
///
/// An id takes two bytes if all ids are below 65,536, otherwise four; a pair takes sixteen more
/// bytes for its offsets. Four million pairs with 60 tokens per side are about 1 GB.
#[derive(Clone, Debug, Default)]
pub(crate) struct EncodedCorpus {
    ids: Ids,
    /// End of each side in `ids`: source and target of pair 0, of pair 1, …
    ends: Vec<u64>,
}

#[derive(Clone, Debug)]
enum Ids {
    Narrow(Vec<u16>),
    Wide(Vec<u32>),
}

impl Default for Ids {
    fn default() -> Self {
        Self::Narrow(Vec::new())
    }
}

impl EncodedCorpus {
    pub(crate) fn push(&mut self, src: &[u32], tgt: &[u32]) {
        for side in [src, tgt] {
            self.ids.extend(side);
            self.ends.push(self.ids.len() as u64);
        }
    }

    pub(crate) fn pair(&self, index: usize) -> SentencePair {
        SentencePair {
            src: self.side(2 * index),
            tgt: self.side(2 * index + 1),
        }
    }

    /// Returns the lengths of source and target of every pair, in tokens.
    pub(crate) fn lengths(&self) -> Vec<(u32, u32)> {
        let length = |side: usize| (self.ends[side] - self.start(side)) as u32;
        let pairs = (0..self.ends.len()).step_by(2);
        pairs.map(|src| (length(src), length(src + 1))).collect()
    }

    pub(crate) fn bytes(&self) -> usize {
        let ids = match &self.ids {
            Ids::Narrow(ids) => size_of_val(ids.as_slice()),
            Ids::Wide(ids) => size_of_val(ids.as_slice()),
        };
        ids + size_of_val(self.ends.as_slice())
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        self.ends.shrink_to_fit();
        match &mut self.ids {
            Ids::Narrow(ids) => ids.shrink_to_fit(),
            Ids::Wide(ids) => ids.shrink_to_fit(),
        }
    }

    fn start(&self, side: usize) -> u64 {
        match side {
            0 => 0,
            _ => self.ends[side - 1],
        }
    }

    fn side(&self, side: usize) -> Vec<u32> {
        let range = self.start(side) as usize..self.ends[side] as usize;
        match &self.ids {
            Ids::Narrow(ids) => ids[range].iter().map(|&id| u32::from(id)).collect(),
            Ids::Wide(ids) => ids[range].to_vec(),
        }
    }
}

impl Ids {
    fn len(&self) -> usize {
        match self {
            Self::Narrow(ids) => ids.len(),
            Self::Wide(ids) => ids.len(),
        }
    }

    fn extend(&mut self, more: &[u32]) {
        if let Self::Narrow(ids) = self {
            if more.iter().all(|&id| id <= u32::from(u16::MAX)) {
                ids.extend(more.iter().map(|&id| id as u16));
                return;
            }
            *self = Self::Wide(ids.iter().map(|&id| u32::from(id)).collect());
        }
        if let Self::Wide(ids) = self {
            ids.extend_from_slice(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sides() -> impl Strategy<Value = Vec<u32>> {
        proptest::collection::vec(prop_oneof![9 => 0_u32..70_000, 1 => any::<u32>()], 0..8)
    }

    proptest! {
        #[test]
        fn pushed_pairs_are_returned(
            pairs in proptest::collection::vec((sides(), sides()), 0..20),
        ) {
            let mut corpus = EncodedCorpus::default();
            for (src, tgt) in &pairs {
                corpus.push(src, tgt);
            }
            let lengths = |(src, tgt): &(Vec<u32>, Vec<u32>)| (src.len() as u32, tgt.len() as u32);
            prop_assert_eq!(corpus.lengths(), pairs.iter().map(lengths).collect::<Vec<_>>());
            for (index, (src, tgt)) in pairs.into_iter().enumerate() {
                prop_assert_eq!(corpus.pair(index), SentencePair { src, tgt });
            }
        }
    }

    #[test]
    fn ids_take_two_bytes_until_one_needs_four() {
        let mut corpus = EncodedCorpus::default();
        corpus.push(&[65_535], &[0]);
        assert!(matches!(corpus.ids, Ids::Narrow(_)));
        corpus.push(&[1], &[65_536]);
        assert!(matches!(corpus.ids, Ids::Wide(_)));
        assert_eq!(
            (corpus.pair(0).src, corpus.pair(1).tgt),
            (vec![65_535], vec![65_536])
        );
    }
}
