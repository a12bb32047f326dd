//! [`to_safetensors`], and functions that write the files common to all export formats.

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

/// Removes a file if it exists.
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

/// Writes a JSON file.
pub(super) fn write_json(folder: &Path, name: &str, json: &Value) -> Result<(), ExportError> {
    write(folder, name, format!("{json:#}\n").as_bytes())
}

/// Writes a file atomically.
pub(super) fn write(folder: &Path, name: &str, content: &[u8]) -> Result<(), ExportError> {
    replace_file(folder, name, content).map_err(|source| ExportError::Write {
        path: folder.join(name),
        source,
    })
}
