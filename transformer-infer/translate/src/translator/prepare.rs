//! From lines to tokens ([`PreparedLine`]), and from hypotheses back to translations.

use transformer_core::text::{Direction, DirectionError, Tokenizer, UNK};
use transformer_search::{Hypothesis, Phrase, Request, Search, SearchError};

use super::term_tokenizer::{TermTokenizer, unmet};
use super::{Candidate, Input, Translation, Translator, Warning};
use crate::TranslatorError;
use crate::batch::Source;

/// Number of characters of a prefix that an error shows.
const MAX_SHOWN_CHARS: usize = 200;

impl Translator {
    /// Tokenizes lines, their prefixes and their terms. A line with an error has the error as its result.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] if the search is not valid, or cannot require terms.
    pub(crate) fn prepare(
        &self,
        inputs: &[Input<'_>],
        search: &Search,
    ) -> Result<Vec<Result<PreparedLine, TranslatorError>>, TranslatorError> {
        search.validate()?;
        let directions = inputs
            .iter()
            .map(|input| self.direction_of(input.direction));
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

    /// Returns the phrases that the translation of each line must contain.
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

    /// Returns the languages of a line, or else those of the translator.
    pub(crate) fn direction_of(
        &self,
        direction: Option<Direction>,
    ) -> Result<Direction, DirectionError> {
        match direction.or(self.direction) {
            Some(direction) => Ok(direction),
            None => self.direction(None, None),
        }
    }

    /// Converts the hypotheses for a line to its translation. `line` is its index among those given, and `n_src_tokens`
    /// the number of its tokens before it is cut.
    ///
    /// # Errors
    ///
    /// Returns [`TranslatorError::NotANumber`] if the model computed NaN.
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
        let Request {
            min_len, max_len, ..
        } = self.limits.request(search, n_tokens);
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
    let starts = lines
        .iter()
        .map(|line| tokenizer.start_of_line(line, n_tokens));
    let mut encoded = tokenizer.encode_all(&starts.collect::<Vec<_>>());
    for (ids, line) in encoded.iter_mut().zip(lines) {
        if line.trim().is_empty() {
            ids.clear();
        }
    }
    encoded
}

/// A line as tokens.
#[derive(Debug, Default)]
pub(crate) struct PreparedLine {
    /// The tokens of the line and its language, without EOS; for a long line more than the limit, but not all.
    pub(crate) ids: Vec<u32>,
    /// The tokens that the translation begins with, that of its language included.
    pub(super) prefix: Vec<u32>,
    /// The tokens of the languages.
    pub(crate) direction: Direction,
    /// The phrases that the translation must contain.
    pub(super) phrases: Vec<Phrase>,
}

impl PreparedLine {
    /// Returns the line as the source of a search.
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
