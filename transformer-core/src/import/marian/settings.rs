//! [`Settings`]: the JSON files of a Marian model.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::MarianError;
use super::generation::GenerationSettings;
use crate::config::{Activation, NormPlacement, Positions, TransformerConfig, Tying};
use crate::directory::Languages;
use crate::json;
use crate::regular_file::{self, MAX_TOKENIZER_BYTES};

const CONFIG: &str = "config.json";
const TOKENIZER: &str = "tokenizer_config.json";

/// The relevant part of `config.json`.
#[derive(Debug, Deserialize)]
pub(super) struct Settings {
    #[serde(rename = "model_type")]
    pub(super) family: Family,
    pub(super) tokenizer_class: Option<String>,
    vocab_size: usize,
    decoder_vocab_size: Option<usize>,
    pub(super) d_model: usize,
    encoder_layers: usize,
    decoder_layers: usize,
    encoder_attention_heads: usize,
    decoder_attention_heads: usize,
    encoder_ffn_dim: usize,
    decoder_ffn_dim: usize,
    activation_function: String,
    #[serde(default)]
    scale_embedding: bool,
    #[serde(default = "yes")]
    pub(super) share_encoder_decoder_embeddings: bool,
    #[serde(default = "yes")]
    tie_word_embeddings: bool,
    max_position_embeddings: Option<usize>,
    #[serde(default)]
    dropout: f64,
    #[serde(default)]
    attention_dropout: f64,
    #[serde(default)]
    activation_dropout: f64,
    pad_token_id: u32,
    pub(super) eos_token_id: u32,
    decoder_start_token_id: u32,
    pub(super) forced_eos_token_id: Option<u32>,
    #[serde(flatten)]
    pub(super) generation: GenerationSettings,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Family {
    Marian,
    /// M2M-100, NLLB-200 and SMALL-100.
    #[serde(rename = "m2m_100")]
    M2m100,
    Mbart,
    Bart,
    Pegasus,
}

/// The relevant part of `tokenizer_config.json`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct TokenizerSettings {
    #[serde(default)]
    pub(super) separate_vocabs: bool,
    /// True if BART puts a space before a text without one.
    pub(super) add_prefix_space: Option<bool>,
    /// Difference of an id of Pegasus and that of SentencePiece.
    pub(super) offset: Option<u32>,
    /// Often a group of languages, which has no code.
    source_lang: Option<serde_json::Value>,
    target_lang: Option<serde_json::Value>,
}

fn yes() -> bool {
    true
}

impl Family {
    pub(super) const fn is_multilingual(self) -> bool {
        matches!(self, Self::M2m100 | Self::Mbart)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Marian => "Marian",
            Self::M2m100 => "M2M-100",
            Self::Mbart => "mBART",
            Self::Bart => "BART",
            Self::Pegasus => "Pegasus",
        }
    }

    /// Returns the default of Transformers for a `config.json` without `forced_eos_token_id`.
    fn forced_eos(self) -> Option<u32> {
        match self {
            Self::Marian => Some(0),
            Self::M2m100 => None,
            Self::Mbart | Self::Bart => Some(2),
            Self::Pegasus => Some(1),
        }
    }

    /// Returns what all models of the family have in common.
    fn config(self, base: TransformerConfig) -> TransformerConfig {
        match self {
            Self::Marian => TransformerConfig {
                positions: Positions::SinusoidalHalves,
                ..base
            },
            Self::M2m100 => TransformerConfig {
                positions: Positions::SinusoidalHalvesInclusive,
                first_position: 2,
                norm_placement: NormPlacement::Pre,
                final_norm: true,
                ..base
            },
            Self::Bart => TransformerConfig {
                positions: Positions::Learned,
                first_position: 2,
                embedding_norm: true,
                ..base
            },
            Self::Mbart => TransformerConfig {
                norm_placement: NormPlacement::Pre,
                final_norm: true,
                ..Self::Bart.config(base)
            },
            Self::Pegasus => TransformerConfig {
                norm_placement: NormPlacement::Pre,
                final_norm: true,
                ..Self::Marian.config(base)
            },
        }
    }
}

impl Settings {
    pub(super) fn read(folder: &Path) -> Result<Self, MarianError> {
        let path = folder.join(CONFIG);
        let mut value: serde_json::Value = read_json(&path)?;
        let Ok(family) = Family::deserialize(&value["model_type"]) else {
            let found = value["model_type"].as_str().unwrap_or("none").to_owned();
            return Err(MarianError::ModelType { path, found });
        };
        if let Some(keys) = value.as_object_mut() {
            let forced = keys.entry("forced_eos_token_id");
            forced.or_insert_with(|| family.forced_eos().into());
        }
        let settings = json::from_value(&value);
        settings.map_err(|source| MarianError::Json { path, source })
    }

    pub(super) fn refuse(
        &self,
        folder: &Path,
        key: &'static str,
        found: String,
        expected: &'static str,
    ) -> MarianError {
        MarianError::Setting {
            path: folder.join(CONFIG),
            key,
            found,
            expected,
        }
    }

    /// Returns the key and the value of the number of source tokens.
    pub(super) fn src_size(&self) -> (&'static str, usize) {
        ("vocab_size", self.vocab_size)
    }

    pub(super) fn tgt_size(&self) -> (&'static str, usize) {
        match self.decoder_vocab_size {
            Some(size) if !self.share_encoder_decoder_embeddings => ("decoder_vocab_size", size),
            _ => self.src_size(),
        }
    }

    pub(super) fn pad(&self) -> (&'static str, u32) {
        ("pad_token_id", self.pad_token_id)
    }

    pub(super) fn start(&self) -> (&'static str, u32) {
        ("decoder_start_token_id", self.decoder_start_token_id)
    }

    pub(super) fn eos(&self) -> (&'static str, u32) {
        ("eos_token_id", self.eos_token_id)
    }

    fn tying(&self) -> Tying {
        match (
            self.share_encoder_decoder_embeddings,
            self.tie_word_embeddings,
        ) {
            (true, true) => Tying::All,
            (false, true) => Tying::Decoder,
            (_, false) => Tying::None,
        }
    }

    pub(super) fn config(
        &self,
        folder: &Path,
        src_vocab_size: usize,
        tgt_vocab_size: usize,
    ) -> Result<TransformerConfig, MarianError> {
        let path = folder.join(CONFIG);
        let refuse = |key, found, expected| self.refuse(folder, key, found, expected);
        let activation = match self.activation_function.as_str() {
            "swish" | "silu" => Activation::Silu,
            "relu" => Activation::Relu,
            "gelu" => Activation::Gelu,
            other => {
                let found = format!("`{other}`");
                return Err(refuse("activation_function", found, "swish, relu or gelu"));
            }
        };
        if self.encoder_attention_heads != self.decoder_attention_heads {
            let found = self.decoder_attention_heads.to_string();
            let expected = "only as many as `encoder_attention_heads`";
            return Err(refuse("decoder_attention_heads", found, expected));
        }
        if self.encoder_ffn_dim != self.decoder_ffn_dim {
            let found = self.decoder_ffn_dim.to_string();
            return Err(refuse(
                "decoder_ffn_dim",
                found,
                "only the same as `encoder_ffn_dim`",
            ));
        }
        let base = TransformerConfig::base(src_vocab_size, tgt_vocab_size);
        let base = self.family.config(base);
        let config = TransformerConfig {
            d_model: self.d_model,
            d_ff: self.encoder_ffn_dim,
            n_heads: self.encoder_attention_heads,
            n_encoder_layers: self.encoder_layers,
            n_decoder_layers: self.decoder_layers,
            max_positions: self.max_position_embeddings.unwrap_or(base.max_positions),
            activation,
            tying: self.tying(),
            output_bias: true,
            scale_embeddings: self.scale_embedding,
            dropout: self.dropout,
            attention_dropout: self.attention_dropout,
            activation_dropout: self.activation_dropout,
            ..base
        };
        match config.validate() {
            Ok(()) => Ok(config),
            Err(source) => Err(MarianError::Config { path, source }),
        }
    }
}

impl TokenizerSettings {
    pub(super) fn read(folder: &Path) -> Result<Self, MarianError> {
        Ok(read_optional(&folder.join(TOKENIZER))?.unwrap_or_default())
    }
}

/// Returns the languages in `tokenizer_config.json`; if it has none, those in the name of the folder.
pub(super) fn languages(folder: &Path) -> Result<Languages, MarianError> {
    let settings = TokenizerSettings::read(folder)?;
    if settings.source_lang.is_some() || settings.target_lang.is_some() {
        let code = |value: Option<serde_json::Value>| value?.as_str()?.parse().ok();
        return Ok(Languages {
            src: code(settings.source_lang),
            tgt: code(settings.target_lang),
        });
    }
    let name = folder.file_name().and_then(|name| name.to_str());
    Ok(name.map_or_else(Languages::default, languages_in_name))
}

/// Returns the languages in a name such as `opus-mt-en-de` or `opus-mt-tc-big-en-de`; none if either is a group.
fn languages_in_name(name: &str) -> Languages {
    let codes = name.strip_prefix("opus-mt-").and_then(|rest| {
        let (rest, tgt) = rest.rsplit_once('-')?;
        let src = rest.rsplit('-').next()?;
        Some((src.parse().ok()?, tgt.parse().ok()?))
    });
    codes.map_or_else(Languages::default, |(src, tgt)| Languages {
        src: Some(src),
        tgt: Some(tgt),
    })
}

pub(super) fn read_optional<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, MarianError> {
    match path.exists() {
        true => read_json(path).map(Some),
        false => Ok(None),
    }
}

pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, MarianError> {
    json::from_slice(&read_file(path)?).map_err(|source| MarianError::Json {
        path: path.to_owned(),
        source,
    })
}

pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, MarianError> {
    let path: PathBuf = path.to_owned();
    regular_file::read(&path, MAX_TOKENIZER_BYTES).map_err(|source| match source.kind() {
        ErrorKind::NotFound => MarianError::Missing { path },
        _ => MarianError::Read { path, source },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the language codes of a folder with this name and this text in `tokenizer_config.json`.
    fn codes(name: &str, tokenizer: Option<&str>) -> [Option<String>; 2] {
        let parent = tempfile::tempdir().expect("the system has temporary directories");
        let folder = parent.path().join(name);
        std::fs::create_dir(&folder).expect("the folder is writable");
        if let Some(text) = tokenizer {
            std::fs::write(folder.join(TOKENIZER), text).expect("the folder is writable");
        }
        let Languages { src, tgt } = languages(&folder).expect("the file is JSON");
        [src, tgt].map(|code| code.map(|code| code.to_string()))
    }

    fn some(src: &str, tgt: &str) -> [Option<String>; 2] {
        [src, tgt].map(|code| Some(code.to_owned()))
    }

    #[test]
    fn the_languages_of_the_tokenizer_come_before_those_of_the_name() {
        let file = r#"{"source_lang": "eng", "target_lang": "deu", "separate_vocabs": true}"#;
        assert_eq!(codes("opus-mt-fr-it", Some(file)), some("eng", "deu"));
        let without = Some(r#"{"separate_vocabs": true}"#);
        assert_eq!(codes("opus-mt-en-de", without), some("en", "de"));
        assert_eq!(codes("opus-mt-en-de", None), some("en", "de"));
        assert_eq!(codes("opus-mt-tc-big-en-de", None), some("en", "de"));
    }

    #[test]
    fn a_group_of_languages_and_another_name_have_no_code() {
        let group = r#"{"source_lang": "ROMANCE", "target_lang": "en"}"#;
        let expected = [None, Some("en".to_owned())];
        assert_eq!(codes("opus-mt-ROMANCE-en", Some(group)), expected);
        let number = r#"{"source_lang": 7}"#;
        assert_eq!(codes("opus-mt-en-de", Some(number)), [None, None]);
        for name in [
            "opus-mt-en-ROMANCE",
            "opus-mt-de",
            "model-en-de",
            "opus-mt-",
        ] {
            assert_eq!(codes(name, None), [None, None], "{name}");
        }
    }
}
