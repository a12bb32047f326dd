//! [`TokenStore`]: the training pairs as token ids, in memory or on disk.

use std::sync::Arc;

use crate::corpus::{CorpusError, DiskStore, EncodedCorpus};

/// A source sentence and its target sentence, as token ids without BOS and EOS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentencePair {
    /// Source token ids.
    pub src: Vec<u32>,
    /// Target token ids.
    pub tgt: Vec<u32>,
}

/// The pairs of a corpus as token ids.
#[derive(Debug)]
pub(crate) enum TokenStore {
    /// In memory.
    Memory(EncodedCorpus),
    /// On disk: each pair is read when needed.
    Disk(DiskStore),
}

impl TokenStore {
    /// Returns a pair.
    pub(crate) fn pair(&self, index: usize) -> Result<SentencePair, CorpusError> {
        match self {
            Self::Memory(corpus) => Ok(corpus.pair(index)),
            Self::Disk(store) => store.pair(index),
        }
    }

    /// Returns the lengths of source and target of every pair, in tokens.
    pub(crate) fn lengths(&self) -> Arc<[(u32, u32)]> {
        match self {
            Self::Memory(corpus) => corpus.lengths().into(),
            Self::Disk(store) => store.lengths(),
        }
    }

    /// Returns the memory that the store takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Memory(corpus) => corpus.bytes(),
            Self::Disk(store) => store.bytes(),
        }
    }
}
