//! Writing a model directory so that a whole model can be read from it at any moment.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::atomic::{UNFINISHED, create_folder, undo_on_failure, write_file};
use super::manifest::{
    CONFIG, MANIFEST, SHORTLIST, SRC_TOKENIZER, TGT_TOKENIZER, TOKENIZER, WEIGHTS,
};
use super::{DirectoryError, FileEntry, Files, Manifest, ModelDirectory, Precision, Tokenizers};
use crate::Shortlist;
use crate::config::TransformerConfig;
use crate::regular_file::{self, MAX_JSON_BYTES};

/// The parts of a model to be written.
#[derive(Debug)]
pub struct ModelParts<'a> {
    /// Configuration.
    pub config: &'a TransformerConfig,
    /// Vocabularies of the sizes in the configuration.
    pub tokenizers: &'a Tokenizers,
    /// Weights: the bytes of a Burn record in single precision.
    pub weights: &'a [u8],
    /// The training and the scores of the model, in any form.
    pub training: Value,
}

impl ModelDirectory {
    /// Writes a model into the directory `path`, and replaces a model that is there.
    ///
    /// Creates the directory if needed, and keeps files that belong to no model. A kill at any moment leaves the old
    /// model or the new one. Only one process may write at a time.
    ///
    /// # Errors
    ///
    /// Returns a [`DirectoryError`] if the parts do not fit together, or if writing fails, for example on a full disk.
    /// The old model is then kept, and a folder that was absent or empty is restored to that.
    pub fn write(path: impl AsRef<Path>, parts: &ModelParts<'_>) -> Result<(), DirectoryError> {
        Self::write_stored(path.as_ref(), parts, Precision::F32)
    }

    /// Adds a shortlist to the model in a directory, or replaces the model's. Its ids must be those of the model.
    ///
    /// # Errors
    ///
    /// Returns a [`DirectoryError`] if there is no model, or if writing fails. The model then stays as it was.
    pub fn add_shortlist(
        path: impl AsRef<Path>,
        shortlist: &Shortlist,
    ) -> Result<(), DirectoryError> {
        let (files, mut manifest) = Self::find(&path.as_ref().into())?;
        let (path, old) = (files.path(), manifest.clone());
        manifest.files.shortlist = Some(put(path, SHORTLIST, &shortlist.to_bytes())?);
        commit(path, &manifest)?;
        sweep(path, Some(&old), &manifest);
        Ok(())
    }

    pub(super) fn write_stored(
        path: &Path,
        parts: &ModelParts<'_>,
        precision: Precision,
    ) -> Result<(), DirectoryError> {
        undo_on_failure(path, || {
            let manifest = stage(path, parts, precision)?;
            let old = regular_file::read(&path.join(MANIFEST), MAX_JSON_BYTES).ok();
            let old = old.and_then(|json| Manifest::parse(&json, &path.join(MANIFEST)).ok());
            commit(path, &manifest)?;
            sweep(path, old.as_ref(), &manifest);
            Ok(())
        })
    }
}

/// Writes the files of the model beside those of the old one.
pub(super) fn stage(
    path: &Path,
    parts: &ModelParts<'_>,
    precision: Precision,
) -> Result<Manifest, DirectoryError> {
    let ModelParts {
        config,
        tokenizers,
        weights,
        training,
    } = parts;
    let config_path = path.join(CONFIG);
    config.validate().map_err(|source| DirectoryError::Config {
        path: config_path.clone(),
        source,
    })?;
    let (src, tgt) = match tokenizers {
        Tokenizers::Joint(_) => (TOKENIZER, TOKENIZER),
        Tokenizers::Separate { .. } => (SRC_TOKENIZER, TGT_TOKENIZER),
    };
    tokenizers.check(config, &path.join(src), &path.join(tgt))?;
    let config = to_json(config).map_err(|source| DirectoryError::Json {
        path: config_path,
        source: source.into(),
    })?;

    create_folder(path).map_err(|source| DirectoryError::Write {
        path: path.to_owned(),
        source,
    })?;
    let mut files = Files {
        config: put(path, CONFIG, config.as_bytes())?,
        weights: put(path, WEIGHTS, weights)?,
        tokenizer: None,
        src_tokenizer: None,
        tgt_tokenizer: None,
        shortlist: None,
    };
    for (name, tokenizer) in tokenizers.files() {
        let entry = match name {
            TOKENIZER => &mut files.tokenizer,
            SRC_TOKENIZER => &mut files.src_tokenizer,
            _ => &mut files.tgt_tokenizer,
        };
        *entry = Some(put(path, name, tokenizer.to_json().as_bytes())?);
    }
    Ok(Manifest::new(files, precision, training.clone()))
}

/// Replaces the manifest, which makes the staged files the model.
pub(super) fn commit(path: &Path, manifest: &Manifest) -> Result<(), DirectoryError> {
    let json = to_json(manifest).map_err(|source| DirectoryError::Json {
        path: path.join(MANIFEST),
        source: source.into(),
    })?;
    write_file(path, MANIFEST, json.as_bytes())
}

/// Removes files that only the old model had, and leftovers of interrupted writes.
///
/// Errors are ignored: the next write sweeps again.
fn sweep(path: &Path, old: Option<&Manifest>, new: &Manifest) {
    let is_current = |name: &str| new.files.iter().any(|entry| entry.name == name);
    let of_old = old
        .into_iter()
        .flat_map(|old| old.files.iter().map(|entry| entry.name.clone()));
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let leftovers = names.filter(|name| name.starts_with(UNFINISHED) || is_hashed_name(name));
    for name in of_old.chain(leftovers).filter(|name| !is_current(name)) {
        let _ = fs::remove_file(path.join(name));
    }
}

/// Writes a file under its plain name, or, if a file of that name has other content, under a name with
/// its hash.
fn put(path: &Path, name: &str, content: &[u8]) -> Result<FileEntry, DirectoryError> {
    let mut entry = FileEntry::new(name, content);
    for n_digits in [0, 8, entry.sha256.len()] {
        entry.name = hashed_name(name, &entry.sha256[..n_digits]);
        let target = path.join(&entry.name);
        if entry.matches(&target) {
            return Ok(entry);
        }
        if target.symlink_metadata().is_err() {
            break;
        }
    }
    write_file(path, &entry.name, content)?;
    Ok(entry)
}

/// Inserts digits into a name: `weights.bpk` becomes `weights.0a1b2c3d.bpk`.
fn hashed_name(name: &str, digits: &str) -> String {
    match name.split_once('.') {
        Some((stem, extension)) if !digits.is_empty() => format!("{stem}.{digits}.{extension}"),
        _ => name.to_owned(),
    }
}

fn is_hashed_name(name: &str) -> bool {
    let plain = [
        CONFIG,
        WEIGHTS,
        TOKENIZER,
        SRC_TOKENIZER,
        TGT_TOKENIZER,
        SHORTLIST,
    ];
    name.split('.').nth(1).is_some_and(|digits| {
        matches!(digits.len(), 8 | 64)
            && digits
                .bytes()
                .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
            && plain.iter().any(|plain| hashed_name(plain, digits) == name)
    })
}

fn to_json(value: &impl serde::Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(|json| json + "\n")
}
