//! [`AtLimit`]: the rule for an output that reaches its length limit without EOS; [`StopRule`]: the rule that stops the
//! beam search of a sentence; [`LengthLimit`] and [`LengthPenalty`]: lengths of outputs (§6.1).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString};

use super::SearchError;

/// The rule for the last token that the length limit allows.
///
/// Written as text, the rules are `cut`, `compete`, `end` and `free-end`. A forced prefix takes precedence over all
/// of them.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Display, EnumString,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case", parse_err_ty = SearchError, parse_err_fn = unknown_at_limit)]
#[non_exhaustive]
pub enum AtLimit {
    /// No special rule: the output is cut after this token, and ranks after all outputs that end with EOS.
    #[default]
    Cut,
    /// The output is cut after this token, and competes with the others by its score: the rule of CTranslate2, and of
    /// Hugging Face's Transformers for models without `forced_eos_token_id`. Of a beam, only the `beam_size` likeliest
    /// continuations of the last token compete, finished or not; with phrases, the whole beam does, which is wider.
    Compete,
    /// The token is EOS, with the log-probability that the model gives it, so that outputs that reach the limit compete
    /// with those that ended earlier: fairseq's rule. With [`Search::renormalize`](super::Search) EOS is the only token
    /// left, its probability becomes 1, and the rule is the same as `FreeEnd`.
    End,
    /// The token is EOS and adds nothing to the score: the rule of Hugging Face's Transformers for models with
    /// `forced_eos_token_id`. The reported log-probabilities are always the model's, and so is the score of a sample.
    FreeEnd,
}

impl AtLimit {
    /// All rules, the default first.
    pub const ALL: [Self; 4] = [Self::Cut, Self::Compete, Self::End, Self::FreeEnd];

    /// Returns whether an output of at most `max_len` tokens can have a token other than EOS.
    pub fn allows_words(self, max_len: usize) -> bool {
        self.max_words(max_len) > 0
    }

    /// Returns the maximum number of tokens before EOS, in an output of at most `max_len` tokens.
    pub(crate) fn max_words(self, max_len: usize) -> usize {
        max_len.saturating_sub(usize::from(self.forces_eos()))
    }

    /// Returns whether the last token is EOS.
    pub fn forces_eos(self) -> bool {
        matches!(self, Self::End | Self::FreeEnd)
    }
}

fn unknown_at_limit(text: &str) -> SearchError {
    let text = text.to_owned();
    SearchError::UnknownAtLimit { text }
}

/// The rule that stops the beam search of a sentence before its length limit.
///
/// No rule applies before `beam_size` hypotheses are finished. A beam of one stops at its first finished hypothesis
/// under any rule: it is greedy search. Written as text, the rules are `present-length`, `beam-finished` and `never`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Display, EnumString,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case", parse_err_ty = SearchError, parse_err_fn = unknown_stop_rule)]
pub enum StopRule {
    /// Stops when the best unfinished hypothesis, scored at its present length, is not better than the worst of
    /// the `beam_size` best finished ones. Without a length penalty the result is exact; with one, a hypothesis
    /// is lost only if a greater length would have raised its score.
    #[default]
    PresentLength,
    /// Stops when `beam_size` hypotheses are finished: the fastest rule. `early_stopping=True` in Hugging
    /// Face's Transformers, and the usual rule of fairseq.
    BeamFinished,
    /// Stops when no unfinished hypothesis can beat the worst of the `beam_size` best finished ones at any
    /// length within its limit.
    Never,
}

impl StopRule {
    /// All rules, the default first.
    pub const ALL: [Self; 3] = [Self::PresentLength, Self::BeamFinished, Self::Never];
}

fn unknown_stop_rule(text: &str) -> SearchError {
    let text = text.to_owned();
    SearchError::UnknownStopRule { text }
}

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

/// The divisor of log-probabilities that grows with the length `n` of the output.
///
/// The length is the number of generated tokens, EOS included. Written as text, the kinds are `none`,
/// `gnmt:0.6` and `power:1`; `gnmt` and `power` alone stand for these values of α.
///
/// # Example
///
/// ```
/// use transformer_search::LengthPenalty;
///
/// let penalty: LengthPenalty = "gnmt:1".parse()?;
/// assert_eq!(penalty.score(-3.0, 7), -1.5); // -3 / ((5 + 7) / 6)
/// # Ok::<(), transformer_search::SearchError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum LengthPenalty {
    /// The divisor is 1: hypotheses compete by their probability.
    None,
    /// The divisor is `((5 + n) / 6)^α` (Wu et al. 2016, Eq. 14, <https://arxiv.org/abs/1609.08144>).
    Gnmt {
        /// The exponent α, at least 0. The paper uses 0.6.
        alpha: f64,
    },
    /// The divisor is `n^α`; with α = 1, hypotheses compete by their probability per token.
    Power {
        /// The exponent α, at least 0.
        alpha: f64,
    },
}

impl Default for LengthPenalty {
    /// Returns the penalty of the paper: GNMT with α = 0.6 (§6.1).
    fn default() -> Self {
        Self::Gnmt { alpha: 0.6 }
    }
}

impl LengthPenalty {
    /// Divides a log-probability by the penalty for `n_tokens` generated tokens, EOS included.
    ///
    /// Without generated tokens the log-probability is returned unchanged.
    pub fn score(self, log_prob: f64, n_tokens: usize) -> f64 {
        if n_tokens == 0 {
            return log_prob;
        }
        let n_tokens = n_tokens as f64;
        match self {
            Self::None => log_prob,
            Self::Gnmt { alpha } => log_prob / ((5.0 + n_tokens) / 6.0).powf(alpha),
            Self::Power { alpha } => log_prob / n_tokens.powf(alpha),
        }
    }

    pub(super) fn validate(self) -> Result<(), SearchError> {
        match self {
            Self::None => Ok(()),
            Self::Gnmt { alpha } | Self::Power { alpha } => {
                let allowed = alpha.is_finite() && alpha >= 0.0;
                allowed.then_some(()).ok_or(SearchError::Alpha { alpha })
            }
        }
    }
}

impl FromStr for LengthPenalty {
    type Err = SearchError;

    fn from_str(text: &str) -> Result<Self, SearchError> {
        let unknown = || SearchError::UnknownPenalty {
            text: text.to_owned(),
        };
        let (kind, alpha) = match text.split_once(':') {
            Some((kind, alpha)) => (kind, Some(alpha.parse::<f64>().map_err(|_| unknown())?)),
            None => (text, None),
        };
        let penalty = match (kind, alpha) {
            ("none", None) => Self::None,
            ("gnmt", alpha) => Self::Gnmt {
                alpha: alpha.unwrap_or(0.6),
            },
            ("power", alpha) => Self::Power {
                alpha: alpha.unwrap_or(1.0),
            },
            _ => return Err(unknown()),
        };
        penalty.validate()?;
        Ok(penalty)
    }
}

impl fmt::Display for LengthPenalty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Gnmt { alpha } => write!(f, "gnmt:{alpha}"),
            Self::Power { alpha } => write!(f, "power:{alpha}"),
        }
    }
}

#[cfg(test)]
mod at_limit_tests {
    use super::*;

    #[test]
    fn flags_and_files_use_the_same_names() {
        for rule in AtLimit::ALL {
            assert_eq!(rule.to_string().parse(), Ok(rule));
            let json = serde_json::to_string(&rule).expect("a name is JSON");
            assert_eq!(json, format!("\"{rule}\""));
        }
    }

    #[test]
    fn the_error_for_an_unknown_rule_lists_the_known_ones() {
        let error = "stop".parse::<AtLimit>().expect_err("no rule is `stop`");
        assert_eq!(
            error.to_string(),
            "`stop` is not a valid `at_limit`; write cut, compete, end or free-end"
        );
    }
}

#[cfg(test)]
mod stop_rule_tests {
    use super::*;

    #[test]
    fn flags_and_files_use_the_same_names() {
        for rule in StopRule::ALL {
            assert_eq!(rule.to_string().parse(), Ok(rule));
            let json = serde_json::to_string(&rule).expect("a name is JSON");
            assert_eq!(json, format!("\"{rule}\""));
        }
    }

    #[test]
    fn the_error_for_an_unknown_rule_lists_the_known_ones() {
        let error = "first".parse::<StopRule>().expect_err("no rule is `first`");
        assert_eq!(
            error.to_string(),
            "`first` is not a valid stop rule; write present-length, beam-finished or never"
        );
    }
}

#[cfg(test)]
mod length_limit_tests {
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

#[cfg(test)]
mod penalty_tests {
    use super::*;

    #[test]
    fn power_one_is_the_mean_over_all_tokens() {
        assert_eq!(LengthPenalty::Power { alpha: 1.0 }.score(-6.0, 4), -1.5);
    }

    #[test]
    fn a_single_token_is_not_penalized_by_gnmt() {
        assert_eq!(LengthPenalty::Gnmt { alpha: 0.6 }.score(-2.0, 1), -2.0);
    }

    #[test]
    fn an_empty_output_is_no_division_by_zero() {
        assert_eq!(LengthPenalty::Power { alpha: 1.0 }.score(0.0, 0), 0.0);
    }

    #[test]
    fn a_penalty_is_written_as_it_is_read() {
        for text in ["none", "gnmt:0.6", "power:1"] {
            let penalty: LengthPenalty = text.parse().expect("the text names a penalty");
            assert_eq!(penalty.to_string(), text);
        }
    }

    #[test]
    fn the_error_for_an_unknown_penalty_lists_the_known_ones() {
        let error = "wu:0.6"
            .parse::<LengthPenalty>()
            .expect_err("`wu` is no kind");
        assert_eq!(
            error.to_string(),
            "`wu:0.6` is not a valid length penalty; write none, gnmt:0.6 or power:1, where the number is alpha"
        );
    }

    #[test]
    fn negative_alpha_is_refused() {
        let error = "gnmt:-1"
            .parse::<LengthPenalty>()
            .expect_err("alpha is negative");
        assert_eq!(
            error.to_string(),
            "alpha of the length penalty is -1; choose a number of at least 0"
        );
    }
}
