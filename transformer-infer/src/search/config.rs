//! What a search is asked to do.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Hypothesis, LengthPenalty, NextToken, beam_search, greedy_search};

/// Says how outputs are searched for. `Default` is the paper's (§6.1).
///
/// # Example
///
/// ```
/// use transformer_infer::search::Search;
///
/// let search = Search { beam_size: 8, n_best: 3, ..Search::default() };
/// assert!(search.validate().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Search {
    /// Number of hypotheses followed at once; 1 is greedy search. Default 4 (§6.1).
    pub beam_size: usize,
    /// How length is taken out of the comparison. Default: GNMT with α = 0.6 (§6.1).
    pub length_penalty: LengthPenalty,
    /// Number of hypotheses returned for each source, at most `beam_size`. Default 1. It only says how
    /// many of those found are returned; it changes none of them.
    pub n_best: usize,
    /// Where generation is cut. Default: source length + 50 (§6.1).
    pub max_len: MaxLen,
}

/// Limits the number of generated tokens, EOS included, to `factor · source tokens + extra`.
///
/// The source tokens are counted without EOS. Written as text, a limit is `1x+50`, `2x` or `100`, where
/// `x` stands for the number of source tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MaxLen {
    /// Generated tokens for each source token, at least 0. Default 1 (§6.1).
    pub factor: f64,
    /// Generated tokens beside those, in tokens. Default 50 (§6.1).
    pub extra: usize,
}

/// Says why a search cannot be done as asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// A beam of no hypotheses finds none.
    #[error("`beam_size` is 0; choose at least 1 (1 is greedy search)")]
    NoBeam,
    /// More or fewer hypotheses are asked for than a beam holds.
    #[error(
        "`n_best` is {n_best} with a beam of {beam_size}; choose 1 to {beam_size}, or a larger beam"
    )]
    NBest {
        /// The number of hypotheses asked for.
        n_best: usize,
        /// The number of hypotheses followed.
        beam_size: usize,
    },
    /// The exponent of the length penalty is no exponent.
    #[error("alpha of the length penalty is {alpha}; choose a number of at least 0")]
    Alpha {
        /// The exponent given.
        alpha: f64,
    },
    /// The text names no length penalty.
    #[error(
        "`{text}` is no length penalty; write none, gnmt:0.6 or power:1, the number being alpha"
    )]
    UnknownPenalty {
        /// The text given.
        text: String,
    },
    /// The factor of the length limit is no factor.
    #[error("the factor of the length limit is {factor}; choose a number of at least 0")]
    Factor {
        /// The factor given.
        factor: f64,
    },
    /// The text is no length limit.
    #[error(
        "`{text}` is no length limit; write 100, 2x or 1x+50, where x is the number of source tokens"
    )]
    UnknownMaxLen {
        /// The text given.
        text: String,
    },
}

impl Default for Search {
    fn default() -> Self {
        Self {
            beam_size: 4,
            length_penalty: LengthPenalty::default(),
            n_best: 1,
            max_len: MaxLen::default(),
        }
    }
}

impl Search {
    /// Returns the search that takes the likeliest token at each step.
    pub fn greedy() -> Self {
        Self {
            beam_size: 1,
            ..Self::default()
        }
    }

    /// Checks that the search can be done.
    ///
    /// # Errors
    ///
    /// Returns a [`SearchError`] whose text names the field and a value that would do.
    pub fn validate(&self) -> Result<(), SearchError> {
        let Self {
            beam_size,
            length_penalty,
            n_best,
            max_len,
        } = *self;
        if beam_size == 0 {
            return Err(SearchError::NoBeam);
        }
        if n_best == 0 || n_best > beam_size {
            return Err(SearchError::NBest { n_best, beam_size });
        }
        length_penalty.validate()?;
        max_len.validate()
    }

    /// Searches for the outputs of all rows of a model, and returns those of each row, best first.
    ///
    /// Every row gets at least one hypothesis and at most `n_best`. Row `i` generates at most
    /// `max_lens[i]` tokens, EOS included: [`MaxLen::limit`] tells how many that should be.
    ///
    /// # Panics
    ///
    /// Panics if `max_lens` does not hold one limit for each row of the model.
    pub fn run(&self, model: &mut impl NextToken, max_lens: &[usize]) -> Vec<Vec<Hypothesis>> {
        assert_eq!(
            model.n_rows(),
            max_lens.len(),
            "each row needs one length limit"
        );
        if self.beam_size <= 1 {
            let found = greedy_search(model, max_lens, self.length_penalty);
            found
                .into_iter()
                .map(|hypothesis| vec![hypothesis])
                .collect()
        } else {
            beam_search(model, max_lens, self)
        }
    }
}

impl Default for MaxLen {
    fn default() -> Self {
        Self {
            factor: 1.0,
            extra: 50,
        }
    }
}

impl MaxLen {
    /// Returns the largest number of tokens, EOS included, to generate for a source of `src_len`.
    pub fn limit(self, src_len: usize) -> usize {
        ((self.factor * src_len as f64) as usize).saturating_add(self.extra)
    }

    fn validate(self) -> Result<(), SearchError> {
        let allowed = self.factor.is_finite() && self.factor >= 0.0;
        allowed.then_some(()).ok_or(SearchError::Factor {
            factor: self.factor,
        })
    }
}

impl FromStr for MaxLen {
    type Err = SearchError;

    fn from_str(text: &str) -> Result<Self, SearchError> {
        let unknown = || SearchError::UnknownMaxLen {
            text: text.to_owned(),
        };
        let count = |text: &str| text.parse::<usize>().map_err(|_| unknown());
        let Some((factor, extra)) = text.split_once('x') else {
            return Ok(Self {
                factor: 0.0,
                extra: count(text)?,
            });
        };
        let extra = match extra.strip_prefix('+') {
            Some(extra) => count(extra)?,
            None if extra.is_empty() => 0,
            None => return Err(unknown()),
        };
        let limit = Self {
            factor: factor.parse().map_err(|_| unknown())?,
            extra,
        };
        limit.validate()?;
        Ok(limit)
    }
}

impl fmt::Display for MaxLen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x+{}", self.factor, self.extra)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_the_papers_search() {
        let search = Search::default();
        assert_eq!(search.beam_size, 4);
        assert_eq!(search.length_penalty, LengthPenalty::Gnmt { alpha: 0.6 });
        assert_eq!(search.max_len.limit(13), 63);
        assert_eq!(search.validate(), Ok(()));
    }

    #[test]
    fn a_limit_is_read_as_it_is_written() {
        let limit: MaxLen = "1.5x+10".parse().expect("the text is a limit");
        assert_eq!(
            limit,
            MaxLen {
                factor: 1.5,
                extra: 10
            }
        );
        assert_eq!(limit.to_string(), "1.5x+10");
        assert_eq!(limit.limit(3), 14);
    }

    #[test]
    fn a_bare_number_is_a_limit_for_every_source() {
        let limit: MaxLen = "7".parse().expect("the text is a limit");
        assert_eq!((limit.limit(0), limit.limit(100)), (7, 7));
    }

    #[test]
    fn limits_that_are_no_numbers_are_refused_with_examples() {
        let error = "x50".parse::<MaxLen>().expect_err("the sign is missing");
        assert_eq!(
            error.to_string(),
            "`x50` is no length limit; write 100, 2x or 1x+50, where x is the number of source tokens"
        );
    }

    #[test]
    fn more_hypotheses_than_the_beam_holds_are_refused() {
        let error = Search {
            n_best: 5,
            ..Search::default()
        }
        .validate();
        let expected = Err(SearchError::NBest {
            n_best: 5,
            beam_size: 4,
        });
        assert_eq!(error, expected);
    }

    #[test]
    fn unknown_keys_are_refused() {
        let read = serde_json::from_str::<Search>(r#"{"beam": 4}"#);
        assert!(read.is_err_and(|error| error.to_string().contains("beam")));
    }
}
