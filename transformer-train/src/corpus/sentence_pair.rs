//! A pair of sentences as token ids.

/// Holds a pair of sentences as token ids, without BOS and EOS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentencePair {
    /// Source token ids.
    pub src: Vec<u32>,
    /// Target token ids.
    pub tgt: Vec<u32>,
}
