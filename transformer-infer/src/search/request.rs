//! What is wanted for one sentence.

/// Says what is wanted for one row of a model: all that differs between the sentences of a search.
///
/// [`Search::request`](super::Search::request) makes one by the length of the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Most tokens to generate, EOS included.
    pub max_len: usize,
    /// Fewest tokens to generate, EOS included; beyond `max_len` it counts as `max_len`.
    pub min_len: usize,
    /// The tokens that the output begins with, without BOS. They count as generated, and their
    /// log-probabilities are part of the score. No other rule applies to them; an EOS among them ends
    /// the output.
    pub prefix: Vec<u32>,
    /// The sentence's place in the whole input, which a sample is drawn by.
    pub place: u64,
}

impl Request {
    /// Returns the request for at most `max_len` tokens, and nothing else.
    pub fn up_to(max_len: usize) -> Self {
        Self {
            max_len,
            ..Self::default()
        }
    }
}
