//! [`ModelDirectory`]: a model on disk or in memory, with every file checked.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file_entry::ReadAhead;
use super::manifest::MANIFEST;
use super::stored_weights::ParsedRecord;
use super::{DirectoryError, FileEntry, Files, Languages, Manifest, ModelFiles, Tokenizers};
use crate::Shortlist;
use crate::config::TransformerConfig;
use crate::json;
use crate::regular_file::{self, MAX_JSON_BYTES, MAX_TOKENIZER_BYTES};
use crate::text::Tokenizer;

/// Name of a directory inside another one, such as a training run's, in which a model is also found.
const NESTED: &str = "model";

/// A model directory with every file checked.
#[derive(Debug, Clone)]
pub struct ModelDirectory {
    stored: ModelFiles,
    manifest: Manifest,
    config: TransformerConfig,
    tokenizers: Tokenizers,
    languages: Languages,
    shortlist: Option<Arc<Shortlist>>,
    /// The weights; [`open_with`](Self::open_with) starts to read them in advance.
    weights: Option<ReadAhead>,
}

impl ModelDirectory {
    /// Opens a model directory, given as a path or as [files in memory](ModelFiles). Training runs keep their model at
    /// `path/model`, which is found too.
    ///
    /// Checks the format version, the presence, size and SHA-256 of every file, the configuration, and that
    /// the tokenizers match it. Does not load the weights.
    ///
    /// # Errors
    ///
    /// Returns a [`DirectoryError`] that names the file if anything is missing, changed or inconsistent.
    pub fn open(files: impl Into<ModelFiles>) -> Result<Self, DirectoryError> {
        Self::open_newest(&files.into(), |stored, manifest| {
            let directory = Self::open_as(stored, manifest, None)?;
            manifest.files.weights.check(stored)?;
            Ok(directory)
        })
    }

    /// Opens a model directory, and checks all files but the weights, which are large.
    ///
    /// # Errors
    ///
    /// Returns the error of [`open`](Self::open).
    pub fn open_without_weights(files: impl Into<ModelFiles>) -> Result<Self, DirectoryError> {
        Self::open_newest(&files.into(), |stored, manifest| {
            Self::open_as(stored, manifest, None)
        })
    }

    /// Opens the files of the manifest with `open`, again if training writes a new model meanwhile.
    fn open_newest(
        files: &ModelFiles,
        open: impl Fn(&ModelFiles, &Manifest) -> Result<Self, DirectoryError>,
    ) -> Result<Self, DirectoryError> {
        let (stored, mut manifest) = Self::find(files)?;
        loop {
            let outcome = open(&stored, &manifest);
            // If training has written a new model meanwhile, the files of the old one are gone.
            let current = read_manifest(&stored)?;
            if outcome.is_ok() || current == manifest {
                return outcome;
            }
            manifest = current;
        }
    }

    /// Opens a model directory and passes it to `read`, which loads the weights.
    ///
    /// This is faster than [`open`](Self::open) and [`load`](Self::load): the weights are read and hashed
    /// once, and another thread reads them while this one parses the tokenizers.
    ///
    /// If training replaces the model meanwhile, the files of the old one are gone. Then this opens the new one and
    /// calls `read` again.
    ///
    /// # Errors
    ///
    /// Returns the error of [`open`](Self::open), or that of `read` if the model was not replaced.
    pub fn open_with<T, E: From<DirectoryError>>(
        files: impl Into<ModelFiles>,
        mut read: impl FnMut(&Self) -> Result<T, E>,
    ) -> Result<(Self, T), E> {
        let files = files.into();
        let open = || {
            Self::open_newest(&files, |stored, manifest| {
                let weights = ReadAhead::start(&manifest.files.weights, stored);
                Self::open_as(stored, manifest, Some(weights))
            })
        };
        let mut directory = open()?;
        loop {
            let error = match read(&directory) {
                Ok(value) => match directory.weights.take().and_then(|weights| weights.take()) {
                    // `read` did not load them, so their check is still to come.
                    Some(Err(error)) => error.into(),
                    Some(Ok(_)) | None => return Ok((directory, value)),
                },
                Err(error) => error,
            };
            if read_manifest(&directory.stored)? == directory.manifest {
                return Err(error);
            }
            directory = open()?;
        }
    }

    /// Returns the files of the model directory, and its manifest, without checking other files.
    pub(super) fn find(files: &ModelFiles) -> Result<(ModelFiles, Manifest), DirectoryError> {
        let stored = match files {
            ModelFiles::Path(path) => ModelFiles::Path(resolve(path)?),
            _ if !files.has(MANIFEST) => {
                return Err(DirectoryError::NotAModel {
                    path: files.path().to_owned(),
                });
            }
            _ => files.clone(),
        };
        let manifest = read_manifest(&stored)?;
        Ok((stored, manifest))
    }

    fn open_as(
        stored: &ModelFiles,
        manifest: &Manifest,
        weights: Option<ReadAhead>,
    ) -> Result<Self, DirectoryError> {
        let path = stored.path();
        let config = &manifest.files.config;
        let config_path = path.join(&config.name);
        let config: TransformerConfig =
            json::from_slice(&read_small(stored, config, MAX_JSON_BYTES)?).map_err(|source| {
                DirectoryError::Json {
                    path: config_path.clone(),
                    source,
                }
            })?;
        config.validate().map_err(|source| DirectoryError::Config {
            path: config_path,
            source,
        })?;
        let tokenizers = read_tokenizers(stored, manifest, &config)?;
        let entry = manifest.files.shortlist.as_ref();
        let shortlist = entry.map(|entry| read_shortlist(stored, entry, &config));
        Ok(Self {
            stored: stored.clone(),
            manifest: manifest.clone(),
            config,
            tokenizers,
            languages: manifest.languages(&path.join(MANIFEST))?,
            shortlist: shortlist.transpose()?,
            weights,
        })
    }

    /// Returns the path of the directory, which may be the `model` directory inside the path that was opened.
    pub fn path(&self) -> &Path {
        self.stored.path()
    }

    /// Returns the configuration.
    pub const fn config(&self) -> &TransformerConfig {
        &self.config
    }

    /// Returns the tokenizers.
    pub const fn tokenizers(&self) -> &Tokenizers {
        &self.tokenizers
    }

    /// Returns the languages of the model, as far as its manifest has them.
    pub const fn languages(&self) -> &Languages {
        &self.languages
    }

    /// Returns the shortlist of the model, if it has one.
    pub const fn shortlist(&self) -> Option<&Arc<Shortlist>> {
        self.shortlist.as_ref()
    }

    /// Returns the path of the weights, a Burn record.
    pub fn weights_path(&self) -> PathBuf {
        self.path().join(&self.manifest.files.weights.name)
    }

    pub(super) fn read_weights(&self) -> Result<ParsedRecord, DirectoryError> {
        let read_ahead = self.weights.as_ref().and_then(ReadAhead::take);
        read_ahead.unwrap_or_else(|| self.manifest.files.weights.read_record(&self.stored))
    }

    /// Returns the manifest, which also records the training of the model.
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }
}

/// Returns the model directory that `path` refers to: itself, or the one inside it.
fn resolve(path: &Path) -> Result<PathBuf, DirectoryError> {
    let nested = path.join(NESTED);
    let is_model = |path: &Path| path.join(MANIFEST).is_file();
    if is_model(path) {
        Ok(path.to_owned())
    } else if is_model(&nested) {
        Ok(nested)
    } else if path.exists() {
        Err(DirectoryError::NotAModel {
            path: path.to_owned(),
        })
    } else {
        Err(DirectoryError::Missing {
            path: path.to_owned(),
        })
    }
}

fn read_manifest(files: &ModelFiles) -> Result<Manifest, DirectoryError> {
    let path = files.path().join(MANIFEST);
    let json = files.read(MANIFEST, MAX_JSON_BYTES);
    let json = json.map_err(|source| DirectoryError::Read {
        path: path.clone(),
        source,
    })?;
    Manifest::parse(&json, &path)
}

fn read_tokenizers(
    stored: &ModelFiles,
    manifest: &Manifest,
    config: &TransformerConfig,
) -> Result<Tokenizers, DirectoryError> {
    let Files {
        tokenizer,
        src_tokenizer,
        tgt_tokenizer,
        ..
    } = &manifest.files;
    let path = stored.path();
    let read = |entry| read_tokenizer(stored, entry);
    let (tokenizers, src, tgt) = match (tokenizer, src_tokenizer, tgt_tokenizer) {
        (Some(joint), None, None) => (Tokenizers::Joint(read(joint)?), joint, joint),
        (None, Some(src_entry), Some(tgt_entry)) => {
            let (src, tgt) = (read(src_entry)?, read(tgt_entry)?);
            (Tokenizers::Separate { src, tgt }, src_entry, tgt_entry)
        }
        _ => {
            return Err(DirectoryError::TokenizerFiles {
                path: path.join(MANIFEST),
            });
        }
    };
    tokenizers.check(config, &path.join(&src.name), &path.join(&tgt.name))?;
    Ok(tokenizers)
}

/// Reads a file, unless the manifest says that it is larger than `max_bytes`. A size other than in the manifest is
/// refused anyway.
fn read_small(
    stored: &ModelFiles,
    entry: &FileEntry,
    max_bytes: u64,
) -> Result<Vec<u8>, DirectoryError> {
    match entry.bytes > max_bytes {
        true => Err(DirectoryError::Read {
            path: stored.path().join(&entry.name),
            source: regular_file::too_large(max_bytes),
        }),
        false => entry.read(stored),
    }
}

fn read_shortlist(
    stored: &ModelFiles,
    entry: &FileEntry,
    config: &TransformerConfig,
) -> Result<Arc<Shortlist>, DirectoryError> {
    let file = read_small(stored, entry, MAX_TOKENIZER_BYTES)?;
    let shortlist = Shortlist::parse(&file, config.src_vocab_size, config.tgt_vocab_size);
    shortlist
        .map(Arc::new)
        .map_err(|source| DirectoryError::Shortlist {
            path: stored.path().join(&entry.name),
            source,
        })
}

fn read_tokenizer(stored: &ModelFiles, entry: &FileEntry) -> Result<Tokenizer, DirectoryError> {
    let json = read_small(stored, entry, MAX_TOKENIZER_BYTES)?;
    let path = stored.path().join(&entry.name);
    let json = String::from_utf8(json).map_err(|error| DirectoryError::Read {
        path: path.clone(),
        source: io::Error::new(ErrorKind::InvalidData, error),
    })?;
    Tokenizer::from_json(&json).map_err(|source| DirectoryError::Tokenizer { path, source })
}
