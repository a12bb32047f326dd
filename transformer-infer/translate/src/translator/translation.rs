//! [`Input`] and [`Translation`]: the input and the output of a translator.

use transformer_core::text::Direction;
use transformer_search::Hypothesis;

/// A line to translate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Input<'a> {
    /// The line.
    pub text: &'a str,
    /// The text that the translation must begin with; blank for none.
    pub prefix: &'a str,
    /// The terms that the translation must contain, as whole words that do not overlap, such as the
    /// [targets](crate::Term::target) of the terms that a [`Glossary`](crate::Glossary) finds in the line.
    ///
    /// A lower-case term may have an initial capital at the start of the translation.
    pub terms: &'a [&'a str],
    /// Index of the line in the whole input, from 0; samples depend on it.
    pub index: u64,
    /// The languages, if the model is multilingual; see [`Translator::direction`](crate::Translator::direction).
    /// Default: those of [`with_direction`](crate::Translator::with_direction).
    pub direction: Option<Direction>,
}

/// The translations of one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Translation {
    /// The hypotheses, best first, or samples in the order of drawing; never empty.
    pub candidates: Vec<Candidate>,
    /// Set if the line was cut, has too many terms, or if the length limits allow no translation for it; if several
    /// apply, it is the first of these.
    pub warning: Option<Warning>,
    /// Indices of the required [terms](Input::terms) that the text of the best candidate does not contain: their
    /// characters are not in the vocabulary, or the length limit has no room for them.
    pub unmet_terms: Vec<usize>,
    /// The tokens of the languages that a multilingual model was given.
    pub direction: Direction,
}

/// One translation of a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The translated text.
    pub text: String,
    /// The generated tokens with their log-probabilities. The first token of a multilingual model may be that of the
    /// target language, which has the log-probability 0 and no text.
    pub hypothesis: Hypothesis,
}

/// A warning that a translation is incomplete, or does not have the requested length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The line has more tokens than the limit, and its end was not translated.
    Cut {
        /// Number of tokens that were translated.
        n_kept: usize,
    },
    /// The line has more terms than a translation can be required to contain.
    ManyTerms {
        /// Number of its [terms](Input::terms).
        n_terms: usize,
        /// Number of required terms, which are the first ones.
        n_required: usize,
    },
    /// The minimum length is above the maximum length for this line, and was lowered to it.
    MinLen {
        /// The minimum length, in tokens.
        min_len: usize,
        /// The maximum length, in tokens.
        max_len: usize,
    },
    /// The maximum length allows no words for this line, so its translation is empty.
    NoWords {
        /// The maximum length, in tokens.
        max_len: usize,
    },
}

impl Translation {
    /// Puts a candidate before the others, if there is one with this index, and keeps `n_best`.
    #[doc(hidden)]
    pub fn prefer(&mut self, index: usize, n_best: usize) {
        if let Some(candidates) = self.candidates.get_mut(..=index) {
            candidates.rotate_right(1);
        }
        self.candidates.truncate(n_best);
    }

    /// Returns the text of the best translation.
    pub fn text(&self) -> &str {
        self.candidates
            .first()
            .map_or("", |candidate| candidate.text.as_str())
    }
}

impl Warning {
    /// Returns whether the warning is about the limits of the output length, and so probably about many lines.
    pub fn is_of_limits(&self) -> bool {
        match self {
            Self::Cut { .. } | Self::ManyTerms { .. } => false,
            Self::MinLen { .. } | Self::NoWords { .. } => true,
        }
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cut { n_kept } => write!(
                f,
                "the line has more than {n_kept} tokens, and only the first {n_kept} were translated; split it"
            ),
            Self::ManyTerms {
                n_terms,
                n_required,
            } => write!(
                f,
                "the line has {n_terms} terms of the glossary, and only the first {n_required} were required; \
                 split it"
            ),
            Self::MinLen { min_len, max_len } => write!(
                f,
                "its translation should have at least {min_len} tokens, but the limit, or the model, allows \
                 {max_len}; lower --min-len, or raise --max-len"
            ),
            Self::NoWords { max_len } => write!(
                f,
                "its translation may have {max_len} tokens, including EOS, and is empty; raise --max-len"
            ),
        }
    }
}
