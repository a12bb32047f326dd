//! [`SentencePair`]: a source sentence and its target sentence, as token ids.

/// A source sentence and its target sentence, as token ids without BOS and EOS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentencePair {
    /// Source token ids.
    pub src: Vec<u32>,
    /// Target token ids.
    pub tgt: Vec<u32>,
}
