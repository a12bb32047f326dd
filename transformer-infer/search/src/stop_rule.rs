//! [`StopRule`]: the rule that stops the beam search of a sentence.

use serde::{Deserialize, Serialize};

use super::SearchError;

/// The rule that stops the beam search of a sentence before its length limit.
///
/// No rule applies before `beam_size` hypotheses are finished. A beam of one stops at its first finished hypothesis
/// under any rule: it is greedy search. Written as text, the rules are `present-length`, `beam-finished` and `never`.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case", parse_err_ty = SearchError, parse_err_fn = unknown)]
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

fn unknown(text: &str) -> SearchError {
    SearchError::UnknownStopRule {
        text: text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
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
