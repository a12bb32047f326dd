//! [`AtLimit`]: the rule for an output that reaches its length limit without EOS; [`StopRule`]: the rule that stops the
//! beam search of a sentence.

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
    SearchError::UnknownAtLimit {
        text: text.to_owned(),
    }
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
    SearchError::UnknownStopRule {
        text: text.to_owned(),
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
