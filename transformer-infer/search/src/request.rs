//! [`Request`]: the settings of a search that differ between its sentences; [`Phrase`]: tokens that an output must
//! contain.

use std::sync::Arc;

use transformer_text::N_SPECIAL;

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
        Some(Step::new(id, log_prob))
    }
}

/// A phrase that an output must contain, as whole words.
///
/// It occurs where the tokens of one of its variants are, neither preceded nor followed by a letter that continues the
/// word. The [`edges`](Self::edges) of the tokens decide that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phrase {
    /// The token sequences that spell the phrase; any one is enough.
    ///
    /// At least one can be written everywhere: its position is [`Position::Anywhere`], and its first token does not
    /// continue a word. No sequence is empty or has a special token.
    pub variants: Vec<Variant>,
    /// The word edges of every token of the vocabulary. Phrases of one model share them.
    pub edges: Arc<[TokenEdges]>,
}

/// One spelling of a phrase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    /// The tokens.
    pub ids: Vec<u32>,
    /// The positions where it is allowed.
    pub position: Position,
}

/// The positions where a variant of a phrase is allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Position {
    /// Anywhere between two words.
    #[default]
    Anywhere,
    /// Only at the start of the output, such as a word with an initial capital.
    Start,
}

/// The edges of a token: whether its text continues a word, and whether it can be continued.
///
/// There is a word boundary between two tokens unless the first can be continued and the second continues it. In a
/// vocabulary of tokens that are joined by spaces, both are false for every token, as they are for punctuation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenEdges {
    /// True if the text of the token begins with a letter or digit, without a space before it.
    pub continues: bool,
    /// True if the text of the token ends with a letter or digit.
    pub continuable: bool,
}

impl Phrase {
    /// Returns whether the phrase has a variant that can be written everywhere, and no variant that is empty or has a
    /// special token.
    pub fn can_be_written(&self) -> bool {
        self.n_tokens().is_some()
    }

    /// Returns the length of the shortest variant that can be written everywhere; `None` if a variant is not valid.
    pub(super) fn n_tokens(&self) -> Option<usize> {
        let is_special = |id: &u32| (*id as usize) < N_SPECIAL;
        let mut variants = self.variants.iter();
        if variants.any(|it| it.ids.is_empty() || it.ids.iter().any(is_special)) {
            return None;
        }
        let anywhere = self.variants.iter().filter(|it| {
            it.position == Position::Anywhere
                && it.ids.first().is_some_and(|id| !self.continues(*id))
        });
        anywhere.map(|variant| variant.ids.len()).min()
    }

    /// Returns whether a variant may begin with `first` after the token `last`; `None` at the start of the output.
    pub(super) fn may_begin(&self, position: Position, last: Option<u32>, first: u32) -> bool {
        match last {
            None => true,
            Some(last) => position == Position::Anywhere && self.is_boundary(last, first),
        }
    }

    pub(super) fn is_boundary(&self, before: u32, after: u32) -> bool {
        !(self.edges_of(before).continuable && self.continues(after))
    }

    fn continues(&self, id: u32) -> bool {
        self.edges_of(id).continues
    }

    /// Returns the edges of a token, or those of punctuation for an id that is not in the table.
    fn edges_of(&self, id: u32) -> TokenEdges {
        self.edges.get(id as usize).copied().unwrap_or_default()
    }
}
