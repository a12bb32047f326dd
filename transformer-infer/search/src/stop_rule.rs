//! [`StopRule`]: the rule that stops the beam search of a sentence.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::SearchError;

/// The rule that stops the beam search of a sentence before its length limit.
///
/// No rule applies before `beam_size` hypotheses are finished. A beam of one stops at its first finished hypothesis
/// under any rule: it is greedy search. Written as text, the rules are `present-length`, `beam-finished` and `never`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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

    /// Returns the name of the rule.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PresentLength => "present-length",
            Self::BeamFinished => "beam-finished",
            Self::Never => "never",
        }
    }
}

impl FromStr for StopRule {
    type Err = SearchError;

    fn from_str(text: &str) -> Result<Self, SearchError> {
        let named = Self::ALL.into_iter().find(|rule| rule.name() == text);
        named.ok_or_else(|| SearchError::UnknownStopRule {
            text: text.to_owned(),
        })
    }
}

impl fmt::Display for StopRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_files_use_the_same_names() {
        for rule in StopRule::ALL {
            assert_eq!(rule.name().parse(), Ok(rule));
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
