//! [`Generation`]: a model's settings for decoding.

use std::path::Path;

use serde::Deserialize;

use super::MarianError;
use super::settings::{Family, Settings, read_optional};

const GENERATION: &str = "generation_config.json";

/// The relevant part of `generation_config.json`, or of `config.json` in older models.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct GenerationSettings {
    num_beams: Option<usize>,
    max_length: Option<usize>,
    min_length: Option<usize>,
    no_repeat_ngram_size: Option<usize>,
    length_penalty: Option<f64>,
    early_stopping: Option<serde_json::Value>,
    forced_eos_token_id: Option<u32>,
    forced_bos_token_id: Option<u32>,
    bad_words_ids: Option<Vec<Vec<u32>>>,
    renormalize_logits: Option<bool>,
}

/// A model's settings for decoding, with the meanings of Hugging Face's Transformers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Generation {
    /// Beam size.
    pub num_beams: Option<usize>,
    /// Maximum number of generated tokens, `</s>` included.
    pub max_len: Option<usize>,
    /// Maximum number of generated tokens for each source token, `</s>` included in both; it has priority over
    /// `max_len`.
    pub max_len_factor: Option<f64>,
    /// Minimum number of generated tokens, `</s>` included.
    pub min_len: usize,
    /// Length of the sequences of tokens of which none is generated twice.
    pub no_repeat_ngram: Option<usize>,
    /// True if the last token that `max_len` allows is always `</s>`, with log-probability 0.
    pub forces_end: bool,
    /// The model's id of the token of a language with which all translations begin.
    pub forced_first: Option<u32>,
    /// Exponent of the length by which scores are divided.
    pub length_penalty: f64,
    /// The condition that stops beam search.
    pub early_stopping: EarlyStopping,
    /// Sequences of Marian's ids that are never generated.
    pub banned: Vec<Vec<u32>>,
    /// True if probabilities are renormalized after banned tokens are removed.
    pub renormalizes: bool,
}

/// The values of `early_stopping` in Hugging Face's Transformers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EarlyStopping {
    /// `false`: stops when the best running hypothesis would lose if it ended now.
    #[default]
    Heuristic,
    /// `true`: stops when as many hypotheses have ended as the beam size.
    Early,
    /// `"never"`: stops when no running hypothesis can win any more.
    Never,
}

impl Settings {
    /// Returns the settings for decoding, from `generation_config.json`, or from `config.json` if there is none.
    pub(super) fn generation(&self, folder: &Path) -> Result<Generation, MarianError> {
        let found = read_optional::<GenerationSettings>(&folder.join(GENERATION))?;
        let settings = found.unwrap_or_else(|| GenerationSettings {
            forced_eos_token_id: self.forced_eos_token_id,
            ..self.generation.clone()
        });
        let forced = settings.forced_eos_token_id;
        if let Some(id) = forced.filter(|id| *id != self.eos_token_id) {
            let expected = "only `eos_token_id` or null";
            return Err(self.refuse(folder, "forced_eos_token_id", id.to_string(), expected));
        }
        let first = settings.forced_bos_token_id;
        if self.family == Family::Bart && first != Some(0) {
            let found = first.map_or("null".to_owned(), |id| id.to_string());
            return Err(self.refuse(folder, "forced_bos_token_id", found, "only 0, `<s>`,"));
        }
        Ok(Generation {
            num_beams: settings.num_beams,
            // Transformers counts the token that decoding starts from.
            max_len: settings.max_length.map(|len| len.saturating_sub(1)),
            max_len_factor: None,
            // Transformers counts the token that decoding starts from, but not the end.
            min_len: settings.min_length.unwrap_or_default(),
            no_repeat_ngram: settings.no_repeat_ngram_size.filter(|size| *size > 0),
            forces_end: forced.is_some(),
            forced_first: first,
            length_penalty: settings.length_penalty.unwrap_or(1.0),
            early_stopping: match settings.early_stopping {
                Some(serde_json::Value::Bool(true)) => EarlyStopping::Early,
                Some(serde_json::Value::String(text)) if text == "never" => EarlyStopping::Never,
                _ => EarlyStopping::Heuristic,
            },
            banned: settings.bad_words_ids.unwrap_or_default(),
            renormalizes: settings.renormalize_logits.unwrap_or_default(),
        })
    }
}
