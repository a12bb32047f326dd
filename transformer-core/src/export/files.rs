//! Files that formats have in common, [`to_safetensors`], and [`Check`]: whether a format supports a model's settings.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde_json::{Value, json};

use super::ExportError;
use crate::config::TransformerConfig;
use crate::directory::{MANIFEST, Tokenizers, create_folder, replace_file};
use crate::import::StateDict;
use crate::import::marian::vocabulary::{
    OWN_TOKENIZERS, PEGASUS_MODEL, SRC_MODEL, SRC_VOCABULARY, TGT_MODEL, TGT_VOCABULARY,
};
use crate::model::Transformer;

/// Writes `config.json` (a [`TransformerConfig`]), `model.safetensors` (with the names of a model directory's record)
/// and the tokenizers into a folder, for use by other programs.
///
/// # Errors
///
/// Returns an [`ExportError`] if the folder is a model directory, or if a file cannot be written.
pub fn to_safetensors(
    folder: impl AsRef<Path>,
    model: &Transformer,
    config: &TransformerConfig,
    tokenizers: &Tokenizers,
) -> Result<(), ExportError> {
    let folder = folder.as_ref();
    create(folder)?;
    // First: without it the folder is not a model while other files are replaced.
    remove(folder, "config.json")?;
    write(
        folder,
        "model.safetensors",
        &StateDict::from_model(model).to_safetensors()?,
    )?;
    write_tokenizers(folder, tokenizers)?;
    write_json(folder, "config.json", &json!(config))
}

/// Creates the folder if needed, and checks that it is not a model directory.
pub(super) fn create(folder: &Path) -> Result<(), ExportError> {
    if folder.join(MANIFEST).exists() {
        let path = folder.to_owned();
        return Err(ExportError::ModelDirectory { path });
    }
    create_folder(folder).map_err(|source| ExportError::Write {
        path: folder.to_owned(),
        source,
    })
}

pub(super) fn remove(folder: &Path, name: &str) -> Result<(), ExportError> {
    let path = folder.join(name);
    match fs::remove_file(&path) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(ExportError::Write { path, source })
        }
        _ => Ok(()),
    }
}

/// Writes the tokenizers in their original format, and removes those of another model.
pub(super) fn write_tokenizers(folder: &Path, tokenizers: &Tokenizers) -> Result<(), ExportError> {
    let others = [
        SRC_MODEL,
        TGT_MODEL,
        SRC_VOCABULARY,
        TGT_VOCABULARY,
        PEGASUS_MODEL,
    ];
    for name in OWN_TOKENIZERS.into_iter().chain(others) {
        remove(folder, name)?;
    }
    let (src, tgt) = (tokenizers.src(), tokenizers.tgt());
    let (Some(src), Some(tgt)) = (src.pieces(), tgt.pieces()) else {
        for (name, tokenizer) in tokenizers.files() {
            write(folder, name, tokenizer.to_json().as_bytes())?;
        }
        let json = json!({
            "tokenizer_class": "PreTrainedTokenizerFast",
            "pad_token": "<pad>",
            "unk_token": "<unk>",
            "bos_token": "<s>",
            "eos_token": "</s>",
        });
        return write_json(folder, "tokenizer_config.json", &json);
    };
    let are_separate = src.tokens() != tgt.tokens();
    let ids = |tokens: &[String]| -> Value {
        let ids = tokens.iter().cloned().zip(0..);
        Value::Object(
            ids.map(|(token, id): (_, u32)| (token, id.into()))
                .collect(),
        )
    };
    write(folder, SRC_MODEL, src.model().file())?;
    write(folder, TGT_MODEL, tgt.model().file())?;
    write_json(folder, SRC_VOCABULARY, &ids(src.tokens()))?;
    if are_separate {
        write_json(folder, TGT_VOCABULARY, &ids(tgt.tokens()))?;
    }
    let json = json!({ "tokenizer_class": "MarianTokenizer", "separate_vocabs": are_separate });
    write_json(folder, "tokenizer_config.json", &json)
}

pub(super) fn write_json(folder: &Path, name: &str, json: &Value) -> Result<(), ExportError> {
    write(folder, name, format!("{json:#}\n").as_bytes())
}

pub(super) fn write(folder: &Path, name: &str, content: &[u8]) -> Result<(), ExportError> {
    replace_file(folder, name, content).map_err(|source| ExportError::Write {
        path: folder.join(name),
        source,
    })
}

/// The settings that [`Check::standard_attention`] checks.
const CHECKED: [&str; 4] = ["d_k", "d_v", "encoder_window", "decoder_window"];

pub(super) struct Check {
    pub(super) key: &'static str,
    pub(super) is_supported: bool,
    pub(super) found: String,
    pub(super) expected: &'static str,
}

impl Check {
    fn standard_attention(config: &TransformerConfig) -> [Self; 4] {
        let width = config.d_model / config.n_heads;
        let is_even = width * config.n_heads == config.d_model;
        let width_of = |key, found: usize| Self {
            key,
            is_supported: is_even && found == width,
            found: found.to_string(),
            expected: "d_model / n_heads",
        };
        let window = |key, found: Option<usize>| Self {
            key,
            is_supported: found.is_none(),
            found: json!(found).to_string(),
            expected: "attention without a window",
        };
        [
            width_of("d_k", config.head_d_k()),
            width_of("d_v", config.head_d_v()),
            window("encoder_window", config.encoder_window),
            window("decoder_window", config.decoder_window),
        ]
    }
}

/// Refuses a table of positions, `[n_positions, d_model]`, of 4 GiB or more; the number of sinusoids has no other
/// limit. The error names the setting `cause`.
pub(super) fn check_positions(
    shape: [usize; 2],
    cause: &str,
    format: &'static str,
) -> Result<(), ExportError> {
    let n_bytes = shape
        .into_iter()
        .try_fold(size_of::<f32>(), usize::checked_mul);
    match n_bytes.is_some_and(|n_bytes| u32::try_from(n_bytes).is_ok()) {
        true => Ok(()),
        false => Err(ExportError::TooLarge {
            name: cause.to_owned(),
            format,
        }),
    }
}

/// Refuses the first setting with a value that the format does not support: by a check, or because it is one that saved
/// models have only if it differs from the default, and not in `supported`.
pub(super) fn refuse_unsupported(
    format: &'static str,
    config: &TransformerConfig,
    supported: &[&str],
    checks: impl IntoIterator<Item = Check>,
) -> Result<(), ExportError> {
    let mut checks = checks.into_iter().chain(Check::standard_attention(config));
    let unsupported = checks.find(|check| !check.is_supported);
    let unsupported = unsupported.map(|it| (it.key.to_owned(), it.found, it.expected));
    let (settings, always) = (json!(config), json!(TransformerConfig::default()));
    let mut others = settings
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| {
            let is_known = CHECKED.contains(&key.as_str()) || supported.contains(&key.as_str());
            always.get(key).is_none() && !is_known
        });
    let other = || {
        let (key, value) = others.next()?;
        Some((key.clone(), value.to_string(), "the default"))
    };
    match unsupported.or_else(other) {
        None => Ok(()),
        Some((key, found, expected)) => Err(ExportError::Setting {
            key,
            found,
            format,
            expected: expected.to_owned(),
        }),
    }
}
