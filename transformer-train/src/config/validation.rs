//! `[validation]`: how a model is measured during training and at its end; and [`ScoreCommand`]: a command line with places for
//! the names of files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transformer_metrics::Tokenization;
use transformer_search::{LengthLimit, LengthPenalty, Search};

use crate::config::{ConfigError, length_penalty, optional};

/// Measuring a model: at every validation during training, and when it is finished.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ValidationSettings {
    /// Maximum number of validation pairs to translate at each validation, for BLEU, chrF and exact
    /// matches. The loss is always computed on all pairs. Default 200.
    pub max_sentences: usize,
    /// Beam size for translations during training; 1 is greedy search, which takes about a quarter
    /// of the time of beam size 4. Default 1.
    pub interval_beam_size: usize,
    /// Beam size for translations with the finished model; 1 is greedy search. Default 4 (§6.1).
    pub beam_size: usize,
    /// Length penalty, which divides the log-probability of a hypothesis of `n` tokens: `gnmt:0.6`
    /// is `((5 + n)/6)^0.6`, `power:1` is `n`, and `none` is 1. A number alone is the exponent of
    /// `gnmt`. Default: `gnmt:0.6` (§6.1).
    #[serde(with = "length_penalty")]
    #[schemars(schema_with = "length_penalty::schema")]
    pub length_penalty: LengthPenalty,
    /// Maximum length of a translation beyond the length of its source, in tokens. Default 50 (§6.1).
    pub max_extra_len: usize,
    /// Tokenization for BLEU, by sacreBLEU's names: `13a`, `intl`, `zh` (Chinese), `char` (other languages without
    /// spaces, such as Japanese), or `none` for text that is already tokenized. Default: `13a`.
    pub tokenize: Tokenization,
    /// Number of validation pairs whose translations are printed, at each validation and at the end. Default 2.
    pub n_samples: usize,
    /// Command that scores translations at every validation and at the end, for example with COMET. `{src}`, `{hyp}`
    /// and `{ref}` in it stand for the paths of files with sources, translations and references, one a line. It starts
    /// without a shell: blanks separate words, and double quotes enclose a word with blanks. The last number on the
    /// last line that it prints is the score; higher is better. Default: none.
    #[serde(with = "optional")]
    #[schemars(with = "Option<ScoreCommand>")]
    pub command: Option<ScoreCommand>,
    /// Maximum time of the command, in seconds, after which it is killed and has failed. Default 600.
    pub command_time_limit: u64,
    /// Consequence of a failure of the command: `warn` or `stop`. Default: `warn`.
    pub command_failure: CommandFailure,
}

impl Default for ValidationSettings {
    fn default() -> Self {
        Self {
            max_sentences: 200,
            interval_beam_size: 1,
            beam_size: 4,
            length_penalty: LengthPenalty::default(),
            max_extra_len: 50,
            tokenize: Tokenization::default(),
            n_samples: 2,
            command: None,
            command_time_limit: 600,
            command_failure: CommandFailure::Warn,
        }
    }
}

impl ValidationSettings {
    /// Returns the beam search with this beam size.
    pub fn search(&self, beam_size: usize) -> Search {
        Search {
            beam_size,
            length_penalty: self.length_penalty,
            max_len: LengthLimit {
                factor: 1.0,
                extra: self.max_extra_len,
            },
            ..Search::default()
        }
    }
}

const FILES: [&str; 3] = ["{src}", "{hyp}", "{ref}"];

/// The command line of a program that scores translations, split into words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct ScoreCommand {
    text: String,
    words: Vec<String>,
}

/// The consequence of a failure of the command that scores translations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CommandFailure {
    /// The run warns and goes on; a validation without a score is never the best.
    Warn,
    /// The run ends with an error. The checkpoint before it is kept.
    Stop,
}

impl ScoreCommand {
    /// Returns the program and its arguments, with these paths in place of `{src}`, `{hyp}` and `{ref}`.
    pub(crate) fn with_files(&self, paths: [&str; 3]) -> Vec<String> {
        let with_paths = |word: &String| replaced(word, paths);
        self.words.iter().map(with_paths).collect()
    }
}

/// Replaces the names of files in a word; what a path contains stays as it is.
fn replaced(word: &str, paths: [&str; 3]) -> String {
    let mut text = String::new();
    let mut rest = word;
    while let Some(start) = rest.find('{') {
        text.push_str(&rest[..start]);
        rest = &rest[start..];
        let found = FILES
            .iter()
            .zip(paths)
            .find(|(name, _)| rest.starts_with(**name));
        let (len, inserted) = found.map_or((1, "{"), |(name, path)| (name.len(), path));
        text.push_str(inserted);
        rest = &rest[len..];
    }
    text + rest
}

impl TryFrom<String> for ScoreCommand {
    type Error = ConfigError;

    fn try_from(text: String) -> Result<Self, ConfigError> {
        let mut words: Vec<String> = Vec::new();
        let (mut is_quoted, mut is_in_word) = (false, false);
        for c in text.chars() {
            let is_blank = c.is_whitespace() && !is_quoted;
            if !is_blank && !is_in_word {
                words.push(String::new());
            }
            is_in_word = !is_blank;
            match words.last_mut() {
                _ if c == '"' => is_quoted = !is_quoted,
                Some(word) if !is_blank => word.push(c),
                _ => {}
            }
        }
        if is_quoted {
            return Err(ConfigError::OpenQuote { text });
        }
        if words.first().is_none_or(String::is_empty) {
            return Err(ConfigError::EmptyCommand);
        }
        if !words.iter().any(|word| word.contains("{hyp}")) {
            return Err(ConfigError::NoTranslations { text });
        }
        Ok(Self { text, words })
    }
}

impl From<ScoreCommand> for String {
    fn from(command: ScoreCommand) -> Self {
        command.text
    }
}

impl std::fmt::Display for ScoreCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Vec<String>, ConfigError> {
        let command = ScoreCommand::try_from(text.to_owned())?;
        Ok(command.with_files(["S", "a {ref} b", "R"]))
    }

    #[test]
    fn blanks_separate_words_and_quotes_join_them() {
        let expected = ["/opt/my scorer", "-t", "a {ref} b", "", "xy"];
        let words = words("  \"/opt/my scorer\"\t-t {hyp} \"\" x\"\"y ");
        assert_eq!(words, Ok(expected.map(str::to_owned).to_vec()));
    }

    #[test]
    fn a_path_stands_within_a_word_and_is_not_replaced_itself() {
        let words = words("score --in={hyp},{src} {other} {").expect("it has translations");
        assert_eq!(words, ["score", "--in=a {ref} b,S", "{other}", "{"]);
    }

    #[test]
    fn what_is_no_command_is_refused_with_the_reason() {
        assert_eq!(words(" "), Err(ConfigError::EmptyCommand));
        let text = "score \"{hyp}".to_owned();
        assert_eq!(words(&text), Err(ConfigError::OpenQuote { text }));
        let text = "score {ref}".to_owned();
        assert_eq!(words(&text), Err(ConfigError::NoTranslations { text }));
    }

    #[test]
    fn a_command_is_written_as_it_was_given() {
        let text = "score  \"{hyp}\"".to_owned();
        let command = ScoreCommand::try_from(text.clone()).expect("it has translations");
        assert_eq!(String::from(command), text);
    }
}
