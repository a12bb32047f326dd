//! [`LengthLimit`]: limits of the output length that depend on the source length (§6.1).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::SearchError;

/// A number of generated tokens, EOS included: `factor · source tokens + extra`.
///
/// It is used as the maximum and as the minimum length of the output. Source tokens are counted without EOS. Written as
/// text, a limit is `1x+50`, `2x` or `100`, where `x` is the number of source tokens.
///
/// # Example
///
/// ```
/// use transformer_search::LengthLimit;
///
/// let limit: LengthLimit = "1.5x+10".parse()?;
/// assert_eq!(limit.limit(4), 16);
/// # Ok::<(), transformer_search::SearchError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LengthLimit {
    /// Generated tokens for each source token, at least 0.
    pub factor: f64,
    /// Generated tokens in addition.
    pub extra: usize,
}

impl LengthLimit {
    /// The paper's longest output: source length + 50 (§6.1).
    pub const PAPER: Self = Self {
        factor: 1.0,
        extra: 50,
    };

    /// The largest number allowed in a limit.
    pub const MOST_TOKENS: usize = 1_000_000;

    /// Zero tokens: as the minimum length, no restriction.
    pub const ZERO: Self = Self {
        factor: 0.0,
        extra: 0,
    };

    /// Returns the number of tokens, EOS included, for a source of `src_len` tokens.
    pub fn limit(self, src_len: usize) -> usize {
        ((self.factor * src_len as f64) as usize).saturating_add(self.extra)
    }

    /// Checks that the factor is at least 0 and that neither number is too large.
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
    fn a_limit_grows_with_the_source() {
        let limit: LengthLimit = "1.5x+10".parse().expect("the text is a limit");
        assert_eq!(limit.limit(3), 14);
    }

    #[test]
    fn a_plain_number_is_a_limit_for_every_source() {
        let limit: LengthLimit = "7".parse().expect("the text is a limit");
        assert_eq!((limit.limit(0), limit.limit(100)), (7, 7));
    }

    #[test]
    fn a_limit_that_overflows_is_the_largest_number() {
        let limit = LengthLimit {
            factor: f64::MAX,
            extra: 5,
        };
        assert_eq!(limit.limit(5000), usize::MAX);
    }

    #[test]
    fn the_error_for_a_malformed_limit_has_examples() {
        let error = "x50"
            .parse::<LengthLimit>()
            .expect_err("the plus sign is missing");
        assert_eq!(
            error.to_string(),
            "`x50` is not a valid length limit; write 100, 2x or 1x+50, where x is the number of source tokens"
        );
    }
}
