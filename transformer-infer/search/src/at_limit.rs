//! [`AtLimit`]: the rule for an output that reaches its length limit without EOS.

use serde::{Deserialize, Serialize};

use super::SearchError;

/// The rule for the last token that the length limit allows.
///
/// Written as text, the rules are `cut`, `compete`, `end` and `free-end`. A forced prefix takes precedence over all
/// of them.
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

fn unknown(text: &str) -> SearchError {
    SearchError::UnknownAtLimit {
        text: text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
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
