//! Writing a model directory so that a model can be read from it at every moment.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use serde_json::Value;

use super::manifest::MANIFEST;
use super::{
    DirectoryError, FileEntry, Files, Manifest, ModelDirectory, Precision, SRC_TOKENIZER,
    TGT_TOKENIZER, TOKENIZER, Tokenizers, read,
};
use crate::config::TransformerConfig;

const CONFIG: &str = "config.json";
const WEIGHTS: &str = "weights.bpk";

/// How the name of a file starts while it is being written.
const UNFINISHED: &str = ".unfinished-";

/// What makes a model.
#[derive(Debug)]
pub struct ModelParts<'a> {
    /// The configuration.
    pub config: &'a TransformerConfig,
    /// The vocabularies that the configuration was made for.
    pub tokenizers: &'a Tokenizers,
    /// The weights: the bytes of a Burn record in single precision.
    pub weights: &'a [u8],
    /// How the model was trained and how it scored, in any form.
    pub training: Value,
}

impl ModelDirectory {
    /// Writes a model into the directory `path`, in place of the model that is there.
    ///
    /// Makes the directory if needed and leaves files alone that belong to no model. A kill at any
    /// moment leaves the old model or the new one. Only one process may write at a time.
    ///
    /// # Errors
    /// If the parts do not fit together or writing fails, for example because the disk is full; then the old model is
    /// still the model.
    pub fn write(path: impl AsRef<Path>, parts: &ModelParts<'_>) -> Result<(), DirectoryError> {
        Self::write_in(path.as_ref(), parts, Precision::F32)
    }

    /// As [`write`](Self::write), of weights that are stored in this precision.
    pub(crate) fn write_in(
        path: &Path,
        parts: &ModelParts<'_>,
        precision: Precision,
    ) -> Result<(), DirectoryError> {
        let manifest = stage(path, parts, precision)?;
        let old = fs::read(path.join(MANIFEST)).ok();
        let old = old.and_then(|json| Manifest::parse(&json, &path.join(MANIFEST)).ok());
        commit(path, &manifest)?;
        sweep(path, old.as_ref(), &manifest);
        Ok(())
    }
}

/// Writes the files of the model beside what is there.
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
    let config = json(config).map_err(|source| DirectoryError::Json {
        path: config_path,
        source,
    })?;

    fs::create_dir_all(path).map_err(|source| DirectoryError::Write {
        path: path.to_owned(),
        source,
    })?;
    let mut files = Files {
        config: put(path, CONFIG, config.as_bytes())?,
        weights: put(path, WEIGHTS, weights)?,
        tokenizer: None,
        src_tokenizer: None,
        tgt_tokenizer: None,
    };
    match tokenizers {
        Tokenizers::Joint(tokenizer) => {
            files.tokenizer = Some(put(path, TOKENIZER, tokenizer.to_json().as_bytes())?);
        }
        Tokenizers::Separate { src, tgt } => {
            files.src_tokenizer = Some(put(path, SRC_TOKENIZER, src.to_json().as_bytes())?);
            files.tgt_tokenizer = Some(put(path, TGT_TOKENIZER, tgt.to_json().as_bytes())?);
        }
    }
    Ok(Manifest::new(files, precision, training.clone()))
}

/// Makes the staged files the model.
pub(super) fn commit(path: &Path, manifest: &Manifest) -> Result<(), DirectoryError> {
    let json = json(manifest).map_err(|source| DirectoryError::Json {
        path: path.join(MANIFEST),
        source,
    })?;
    write_file(path, MANIFEST, json.as_bytes())
}

/// Removes the files that only the old model had, and what interrupted writes left behind.
///
/// A failure is no failure of the write: the next one sweeps again.
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

/// Writes a file under its plain name, or under one with its hash if the plain name is taken by
/// other content.
fn put(path: &Path, name: &str, content: &[u8]) -> Result<FileEntry, DirectoryError> {
    let mut entry = FileEntry::new(name, content);
    for digits in [0, 8, entry.sha256.len()] {
        entry.name = hashed_name(name, &entry.sha256[..digits]);
        let target = path.join(&entry.name);
        if read::matches(&target, &entry) {
            return Ok(entry);
        }
        if target.symlink_metadata().is_err() {
            break;
        }
    }
    write_file(path, &entry.name, content)?;
    Ok(entry)
}

/// `weights.bpk` becomes `weights.0a1b2c3d.bpk`.
fn hashed_name(name: &str, digits: &str) -> String {
    match name.split_once('.') {
        Some((stem, extension)) if !digits.is_empty() => format!("{stem}.{digits}.{extension}"),
        _ => name.to_owned(),
    }
}

fn is_hashed_name(name: &str) -> bool {
    let plain = [CONFIG, WEIGHTS, TOKENIZER, SRC_TOKENIZER, TGT_TOKENIZER];
    name.split('.').nth(1).is_some_and(|digits| {
        matches!(digits.len(), 8 | 64)
            && digits
                .bytes()
                .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
            && plain.iter().any(|plain| hashed_name(plain, digits) == name)
    })
}

/// Writes a file of a directory so that it appears under its name only when its content is safe on the disk.
///
/// A kill at any moment leaves the file that was there, or the new one, and at most one more whose name
/// starts with `.unfinished-`.
///
/// # Errors
///
/// Returns what the system says if the directory is not there or the disk is full.
pub fn replace_file(directory: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let unfinished = directory.join(format!("{UNFINISHED}{name}"));
    let replaced = replace(directory, &unfinished, &directory.join(name), content);
    if replaced.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    replaced
}

/// As [`replace_file`], for a file of a model or of a checkpoint.
///
/// # Errors
///
/// Returns [`DirectoryError::Write`] if the directory is not there or the disk is full.
pub fn write_file(path: &Path, name: &str, content: &[u8]) -> Result<(), DirectoryError> {
    replace_file(path, name, content).map_err(|source| DirectoryError::Write {
        path: path.join(name),
        source,
    })
}

fn replace(directory: &Path, unfinished: &Path, target: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create(unfinished)?;
    file.write_all(content)?;
    file.sync_all()?;
    drop(file);
    fs::rename(unfinished, target)?;
    // Systems that cannot open a directory, or not sync one, write renames down by themselves.
    match File::open(directory).map_or(Ok(()), |directory| directory.sync_all()) {
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        done => done,
    }
}

/// JSON for people to read, with a newline at its end.
fn json(value: &impl serde::Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(|json| json + "\n")
}
