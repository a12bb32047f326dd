//! When a beam search is done with a sentence.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::SearchError;

/// Names the rule by which a beam search is done with a sentence before its length limit.
///
/// No rule applies before `beam_size` hypotheses are finished. A beam of one is done with its first
/// finished hypothesis, whatever the rule: it is greedy search. Written as text, the rules are
/// `present-length`, `beam-finished` and `never`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopRule {
    /// The best running hypothesis, scored at the length it has now, is not better than the worst of
    /// the `beam_size` best finished ones. Without a length penalty this loses nothing; with one it
    /// gives up only what would have to be saved by its length.
    #[default]
    PresentLength,
    /// `beam_size` hypotheses are finished: the fastest. `early_stopping=True` in Hugging Face's
    /// Transformers, and the usual rule of fairseq.
    BeamFinished,
    /// Nothing that runs can still beat the worst of the `beam_size` best finished ones, whatever
    /// length within its limit it reaches.
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
    fn names_are_the_same_in_text_and_in_files() {
        for rule in StopRule::ALL {
            assert_eq!(rule.name().parse(), Ok(rule));
            let json = serde_json::to_string(&rule).expect("a name is JSON");
            assert_eq!(json, format!("\"{rule}\""));
        }
    }

    #[test]
    fn unknown_rules_are_refused_with_the_known_ones() {
        let error = "first".parse::<StopRule>().expect_err("no rule is `first`");
        assert_eq!(
            error.to_string(),
            "`first` is no stop rule; write present-length, beam-finished or never"
        );
    }
}
