//! [`Request`]: the settings of a search that differ between its sentences.

use super::Phrase;
use super::hypothesis::Step;

/// The settings of the search for one row of a model.
///
/// [`Search::request`](super::Search::request) makes one from the length of the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Maximum number of tokens to generate, EOS included.
    pub max_len: usize,
    /// Minimum number of tokens to generate, EOS included; a value above `max_len` counts as `max_len`.
    pub min_len: usize,
    /// The tokens that the output begins with, without BOS. They count as generated, and their log-probabilities are
    /// part of the score. No other rule applies to them; an EOS among them ends the output.
    pub prefix: Vec<u32>,
    /// Number of the first tokens of the prefix with a log-probability that counts as 0, such as the token of the
    /// target language. Default 0.
    pub n_free: usize,
    /// The phrases that the output must contain, without sharing tokens: two equal phrases must occur twice.
    ///
    /// They may occur in any order, and in the prefix. They take precedence over banned sequences and repeated n-grams.
    /// EOS is not allowed before the last one is complete, and when only as many tokens are left as phrases need, no
    /// others are allowed. If the length limit has no room for all of them after the prefix, the last ones of the list
    /// are not required; at most [`Request::MOST_PHRASES`] are.
    pub phrases: Vec<Phrase>,
    /// Index of the sentence in the whole input, from 0; samples depend on it.
    pub index: u64,
}

impl Request {
    /// Maximum number of phrases that a search requires; the others are not required.
    pub const MOST_PHRASES: usize = 128;

    /// Requests at most `max_len` tokens, without other conditions.
    pub fn up_to(max_len: usize) -> Self {
        Self {
            max_len,
            ..Self::default()
        }
    }

    /// Returns the token that the prefix forces at a position, given the model's log-probabilities; `None` after it.
    pub(super) fn forced(&self, position: usize, log_probs: &[f32]) -> Option<Step> {
        let id = *self.prefix.get(position)?;
        let log_prob = match position < self.n_free {
            true => 0.0,
            false => log_probs[id as usize],
        };
        Some(Step {
            id,
            log_prob,
            score: log_prob,
        })
    }
}
