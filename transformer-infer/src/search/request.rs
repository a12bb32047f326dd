//! [`Request`]: the settings of a search that differ between its sentences.

/// What to generate for one row of a model.
///
/// [`Search::request`](super::Search::request) makes one from the length of the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Maximum number of tokens to generate, EOS included.
    pub max_len: usize,
    /// Minimum number of tokens to generate, EOS included; a value above `max_len` counts as `max_len`.
    pub min_len: usize,
    /// The tokens that the output begins with, without BOS. They count as generated, and their
    /// log-probabilities are part of the score. No other rule applies to them; an EOS among them ends
    /// the output.
    pub prefix: Vec<u32>,
    /// Index of the sentence in the whole input, from 0; samples depend on it.
    pub index: u64,
}

impl Request {
    /// Requests at most `max_len` tokens, with no other condition.
    pub fn up_to(max_len: usize) -> Self {
        Self {
            max_len,
            ..Self::default()
        }
    }
}
