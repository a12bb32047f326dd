//! What becomes of an output that reaches its longest length without an end.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::SearchError;

/// Names what happens at the last token that the length limit leaves.
///
/// Written as text, the rules are `cut`, `end` and `free-end`. A forced prefix goes before all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtLimit {
    /// It is a token as any other: the output is cut behind it, and comes behind all outputs that ended
    /// by themselves.
    #[default]
    Cut,
    /// It is EOS, at the log-probability that the model gives it, so that outputs that run into the limit
    /// compete with those that ended before: fairseq's rule. With [`Search::renormalize`](super::Search) it is the
    /// only token that may follow, so that its share is 1, and the rule is that of `FreeEnd`.
    End,
    /// It is EOS, and costs nothing: the rule of Hugging Face's Transformers for models with
    /// `forced_eos_token_id`. The log-probabilities that are reported stay the model's; the score of a search
    /// has this token for free, and that of a sample is the model's.
    FreeEnd,
}

impl AtLimit {
    /// All rules, the default first.
    pub const ALL: [Self; 3] = [Self::Cut, Self::End, Self::FreeEnd];

    /// Returns the name of the rule.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::End => "end",
            Self::FreeEnd => "free-end",
        }
    }
}

impl FromStr for AtLimit {
    type Err = SearchError;

    fn from_str(text: &str) -> Result<Self, SearchError> {
        let named = Self::ALL.into_iter().find(|rule| rule.name() == text);
        named.ok_or_else(|| SearchError::UnknownAtLimit {
            text: text.to_owned(),
        })
    }
}

impl fmt::Display for AtLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_in_text_and_in_files() {
        for rule in AtLimit::ALL {
            assert_eq!(rule.name().parse(), Ok(rule));
            let json = serde_json::to_string(&rule).expect("a name is JSON");
            assert_eq!(json, format!("\"{rule}\""));
        }
    }

    #[test]
    fn unknown_rules_are_refused_with_the_known_ones() {
        let error = "stop".parse::<AtLimit>().expect_err("no rule is `stop`");
        assert_eq!(
            error.to_string(),
            "`stop` says nothing about the length limit; write cut, end or free-end"
        );
    }
}
