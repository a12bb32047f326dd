//! Where the pairs of a corpus are, as ids: in memory or on disk.

use std::sync::Arc;

use crate::corpus::{CorpusError, DiskStore, EncodedCorpus, SentencePair};

/// Holds the pairs of a corpus, or knows where they are.
#[derive(Debug)]
pub(crate) enum TokenStore {
    /// All of them are in memory.
    Memory(EncodedCorpus),
    /// They are read when they are asked for.
    Disk(DiskStore),
}

impl TokenStore {
    /// Returns a pair.
    ///
    /// # Errors
    ///
    /// Returns a [`CorpusError`] when the pair cannot be read.
    ///
    /// # Panics
    ///
    /// Panics when there is no such pair.
    pub(crate) fn pair(&self, number: usize) -> Result<SentencePair, CorpusError> {
        match self {
            Self::Memory(corpus) => Ok(SentencePair {
                src: corpus.src(number),
                tgt: corpus.tgt(number),
            }),
            Self::Disk(store) => store.pair(number),
        }
    }

    /// Returns the lengths of every pair, source and target, in tokens.
    pub(crate) fn lengths(&self) -> Arc<[(u32, u32)]> {
        match self {
            Self::Memory(corpus) => corpus.all_lengths().into(),
            Self::Disk(store) => store.lengths(),
        }
    }

    /// Returns how much memory the pairs take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Memory(corpus) => corpus.bytes(),
            Self::Disk(store) => store.bytes(),
        }
    }
}
