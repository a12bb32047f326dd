//! Limits of output length that grow with the source (§6.1).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::SearchError;

/// Counts generated tokens, EOS included: `factor · source tokens + extra`.
///
/// It serves as the most and as the fewest tokens to generate. The source tokens are counted without
/// EOS. Written as text, a limit is `1x+50`, `2x` or `100`, where `x` stands for the number of source
/// tokens.
///
/// # Example
///
/// ```
/// use transformer_infer::search::LengthLimit;
///
/// let limit: LengthLimit = "1.5x+10".parse()?;
/// assert_eq!(limit.limit(4), 16);
/// # Ok::<(), transformer_infer::search::SearchError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LengthLimit {
    /// Generated tokens for each source token, at least 0.
    pub factor: f64,
    /// Generated tokens beside those, in tokens.
    pub extra: usize,
}

impl LengthLimit {
    /// The paper's longest output: as many tokens as the source has, and 50 (§6.1).
    pub const PAPER: Self = Self {
        factor: 1.0,
        extra: 50,
    };

    /// The largest number in a limit: more tokens than any text has that is translated at once.
    pub const MOST_TOKENS: usize = 1_000_000;

    /// No token at all: as the fewest tokens to generate, it demands nothing.
    pub const ZERO: Self = Self {
        factor: 0.0,
        extra: 0,
    };

    /// Returns the number of tokens, EOS included, for a source of `src_len`.
    pub fn limit(self, src_len: usize) -> usize {
        ((self.factor * src_len as f64) as usize).saturating_add(self.extra)
    }

    /// Checks that the factor is a number of at least 0, and that there is an end.
    pub(super) fn validate(self) -> Result<(), SearchError> {
        let Self { factor, extra } = self;
        if !(factor.is_finite() && factor >= 0.0) {
            return Err(SearchError::Factor { factor });
        }
        let most = Self::MOST_TOKENS;
        if extra > most || factor > most as f64 {
            let limit = self.to_string();
            return Err(SearchError::NoEnd { limit, most });
        }
        Ok(())
    }
}

impl FromStr for LengthLimit {
    type Err = SearchError;

    fn from_str(text: &str) -> Result<Self, SearchError> {
        let unknown = || SearchError::UnknownLimit {
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

impl fmt::Display for LengthLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { factor, extra } = *self;
        if factor == 0.0 {
            write!(f, "{extra}")
        } else {
            write!(f, "{factor}x+{extra}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_read_as_it_is_written() {
        for text in ["1.5x+10", "0", "100"] {
            let limit: LengthLimit = text.parse().expect("the text is a limit");
            assert_eq!(limit.to_string(), text);
        }
    }

    #[test]
    fn a_limit_counts_by_source_tokens() {
        let limit: LengthLimit = "1.5x+10".parse().expect("the text is a limit");
        assert_eq!(limit.limit(3), 14);
    }

    #[test]
    fn a_bare_number_is_a_limit_for_every_source() {
        let limit: LengthLimit = "7".parse().expect("the text is a limit");
        assert_eq!((limit.limit(0), limit.limit(100)), (7, 7));
    }

    #[test]
    fn a_limit_beyond_all_numbers_is_the_largest() {
        let limit = LengthLimit {
            factor: f64::MAX,
            extra: 5,
        };
        assert_eq!(limit.limit(5000), usize::MAX);
    }

    #[test]
    fn limits_that_are_no_numbers_are_refused_with_examples() {
        let error = "x50"
            .parse::<LengthLimit>()
            .expect_err("the sign is missing");
        assert_eq!(
            error.to_string(),
            "`x50` is no length limit; write 100, 2x or 1x+50, where x is the number of source tokens"
        );
    }
}
