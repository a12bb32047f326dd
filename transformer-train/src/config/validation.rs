//! `[validation]`: how a model is measured during training and at its end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transformer_metrics::Tokenization;
use transformer_search::{LengthLimit, LengthPenalty, Search};

use crate::config::{CommandFailure, ScoreCommand, length_penalty, optional};
use crate::tasks::Task;

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

    /// Returns the settings for a built-in task: greedy search, because there is one correct answer.
    pub fn for_task(task: Task) -> Self {
        match task {
            Task::Numbers | Task::Reverse | Task::Copy => Self {
                max_sentences: 100,
                beam_size: 1,
                length_penalty: LengthPenalty::None,
                ..Self::default()
            },
        }
    }
}
