//! [`Input`] and [`Translation`]: the input and the output of a translator, and their tokens ([`PreparedLine`]).

use transformer_core::text::{Direction, DirectionError, Tokenizer, UNK};
use transformer_search::{Hypothesis, Phrase, Request, Search, SearchError};

use super::Translator;
use super::term_tokenizer::{TermTokenizer, unmet};
use crate::TranslatorError;
use crate::batch::Source;

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
        let best = self.candidates.first();
        best.map_or("", |best| best.text.as_str())
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

/// Number of characters of a prefix that an error shows.
const MAX_SHOWN_CHARS: usize = 200;

impl Translator {
    /// Tokenizes lines, prefixes and terms; a line may have an error. Fails if the search is invalid.
    pub(crate) fn prepare(
        &self,
        inputs: &[Input<'_>],
        search: &Search,
    ) -> Result<Vec<Result<PreparedLine, TranslatorError>>, TranslatorError> {
        search.validate()?;
        let directions = inputs.iter().map(|it| self.direction_of(it.direction));
        let directions: Vec<Direction> = directions.collect::<Result<_, _>>()?;
        let texts: Vec<&str> = inputs.iter().map(|input| input.text).collect();
        let most = self.limits.max_src_len;
        let mut ids = encode(self.tokenizers.src(), &texts, most);
        for (ids, direction) in ids.iter_mut().zip(&directions) {
            direction.mark(ids, most);
        }
        let prefixes: Vec<&str> = inputs.iter().map(|input| input.prefix).collect();
        let max_len = |ids: &Vec<u32>| self.limits.request(search, ids.len()).max_len;
        let most = ids.iter().map(max_len).max().unwrap_or(0);
        let mut prefix_ids = encode(self.tokenizers.tgt(), &prefixes, most);
        for (prefix, direction) in prefix_ids.iter_mut().zip(&directions) {
            prefix.splice(0..0, direction.first());
        }
        let phrases = self.phrases(inputs, search)?;
        let lines = ids.into_iter().zip(prefix_ids).zip(phrases).zip(directions);
        let lines = lines.map(|(((ids, prefix), phrases), direction)| PreparedLine {
            ids,
            prefix,
            phrases,
            direction,
        });
        let check = |(index, prepared): (usize, PreparedLine)| {
            let line = index + 1;
            let PreparedLine { ids, prefix, .. } = &prepared;
            if prefix.contains(&UNK) {
                let prefix = prefixes[index].chars().take(MAX_SHOWN_CHARS).collect();
                return Err(TranslatorError::Prefix { line, prefix });
            }
            let most = max_len(ids);
            // EOS is a token, too.
            if !ids.is_empty() && !prefixes[index].trim().is_empty() && prefix.len() >= most {
                return Err(TranslatorError::LongPrefix { line, most });
            }
            Ok(prepared)
        };
        Ok(lines.enumerate().map(check).collect())
    }

    fn phrases(
        &self,
        inputs: &[Input<'_>],
        search: &Search,
    ) -> Result<Vec<Vec<Phrase>>, TranslatorError> {
        if inputs.iter().all(|input| input.terms.is_empty()) {
            return Ok(vec![Vec::new(); inputs.len()]);
        }
        if search.sampling.is_some() {
            return Err(SearchError::SampledPhrases.into());
        }
        let tokenizer = self.tokenizers.tgt();
        let terms = self.terms.get_or_init(|| TermTokenizer::new(tokenizer));
        let phrases = inputs.iter().map(|it| terms.phrases(tokenizer, it.terms));
        Ok(phrases.collect())
    }

    pub(crate) fn direction_of(
        &self,
        direction: Option<Direction>,
    ) -> Result<Direction, DirectionError> {
        match direction.or(self.direction) {
            Some(direction) => Ok(direction),
            None => self.direction(None, None),
        }
    }

    /// Converts the hypotheses for a line to its translation, or to an error if the model computed NaN. `line` is its index
    /// among those given, and `n_src_tokens` the number of its tokens before it is cut.
    pub(crate) fn translation(
        &self,
        line: usize,
        n_src_tokens: usize,
        hypotheses: Vec<Hypothesis>,
        (terms, direction): (&[&str], Direction),
        search: &Search,
    ) -> Result<Translation, TranslatorError> {
        let is_broken = |hypothesis: &Hypothesis| !hypothesis.log_prob.is_finite();
        if hypotheses.iter().any(is_broken) {
            let (line, origin) = (line + 1, self.origin);
            return Err(TranslatorError::NotANumber { line, origin });
        }
        let tokenizer = self.tokenizers.tgt();
        let candidate = |hypothesis: Hypothesis| Candidate {
            text: tokenizer.decode(&hypothesis.ids),
            hypothesis,
        };
        let candidates: Vec<Candidate> = hypotheses.into_iter().map(candidate).collect();
        let text = candidates.first().map_or("", |best| best.text.as_str());
        Ok(Translation {
            unmet_terms: unmet(tokenizer, text, terms),
            candidates,
            direction,
            warning: self.warning(search, n_src_tokens, terms.len()),
        })
    }

    fn warning(&self, search: &Search, n_tokens: usize, n_terms: usize) -> Option<Warning> {
        let n_kept = self.limits.max_src_len;
        let n_required = Request::MOST_PHRASES;
        let request = self.limits.request(search, n_tokens);
        let (min_len, max_len) = (request.min_len, request.max_len);
        if n_tokens > n_kept {
            Some(Warning::Cut { n_kept })
        } else if n_tokens == 0 {
            None // A blank line has the empty translation, under any search.
        } else if n_terms > n_required {
            Some(Warning::ManyTerms {
                n_terms,
                n_required,
            })
        } else if !search.at_limit.allows_words(max_len) {
            Some(Warning::NoWords { max_len })
        } else {
            (min_len > max_len).then_some(Warning::MinLen { min_len, max_len })
        }
    }
}

/// Tokenizes lines, but of a long line only the first `n_tokens` tokens and at least one more. A blank line has no
/// tokens, even if the tokenizer has tokens for spaces.
fn encode(tokenizer: &Tokenizer, lines: &[&str], n_tokens: usize) -> Vec<Vec<u32>> {
    let starts = lines.iter();
    let starts = starts.map(|line| tokenizer.start_of_line(line, n_tokens));
    let mut encoded = tokenizer.encode_all(&starts.collect::<Vec<_>>());
    for (ids, line) in encoded.iter_mut().zip(lines) {
        if line.trim().is_empty() {
            ids.clear();
        }
    }
    encoded
}

#[derive(Debug, Default)]
pub(crate) struct PreparedLine {
    /// The tokens of the line and its language, without EOS; for a long line more than the limit, but not all.
    pub(crate) ids: Vec<u32>,
    /// The tokens that the translation begins with, that of its language included.
    pub(super) prefix: Vec<u32>,
    pub(crate) direction: Direction,
    pub(super) phrases: Vec<Phrase>,
}

impl PreparedLine {
    pub(crate) fn source(&self, index: u64) -> Source<'_> {
        Source {
            ids: &self.ids,
            prefix: &self.prefix,
            n_free: usize::from(self.direction.first().is_some()),
            phrases: &self.phrases,
            index,
        }
    }
}
