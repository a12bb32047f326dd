//! [`ModelDirectory`]: a model that was read, and found whole.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::manifest::{MANIFEST, hex};
use super::{DirectoryError, FileEntry, Files, Manifest, Tokenizers};
use crate::config::TransformerConfig;
use crate::text::Tokenizer;

/// How much of the weights is hashed at once, in bytes.
const CHUNK: usize = 1 << 20;

/// A model directory whose every file was checked.
#[derive(Debug, Clone)]
pub struct ModelDirectory {
    path: PathBuf,
    manifest: Manifest,
    config: TransformerConfig,
    tokenizers: Tokenizers,
}

impl ModelDirectory {
    /// Opens a model directory, or the `model` directory in the directory of a training run.
    ///
    /// Checks the format version, the presence, size and SHA-256 of every file, the configuration,
    /// and that the tokenizers belong to it. Does not load the weights.
    ///
    /// # Errors
    /// If anything is missing, changed or does not fit; the message names the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DirectoryError> {
        let path = find(path.as_ref())?;
        let mut manifest = read_manifest(&path)?;
        loop {
            let outcome = Self::open_as(&path, &manifest);
            // If training wrote a new model meanwhile, the files of the old one are gone.
            let current = read_manifest(&path)?;
            if outcome.is_ok() || current == manifest {
                return outcome;
            }
            manifest = current;
        }
    }

    /// Opens a model directory and does with it what reads its weights; again if training writes a new model
    /// meanwhile, for then the weights of the old one are gone.
    ///
    /// # Errors
    /// Those of [`open`](Self::open) and of `read`, if the model is still the one that was opened.
    pub fn open_and<T, E: From<DirectoryError>>(
        path: impl AsRef<Path>,
        mut read: impl FnMut(&Self) -> Result<T, E>,
    ) -> Result<(Self, T), E> {
        let mut directory = Self::open(path.as_ref())?;
        loop {
            let outcome = read(&directory);
            let error = match outcome {
                Ok(value) => return Ok((directory, value)),
                Err(error) => error,
            };
            let current = Self::open(path.as_ref())?;
            if current.manifest == directory.manifest {
                return Err(error);
            }
            directory = current;
        }
    }

    /// Returns where the model that is meant by `path` lies, and what its manifest says; its other files are not
    /// looked at.
    pub(crate) fn find(path: &Path) -> Result<(PathBuf, Manifest), DirectoryError> {
        let path = find(path)?;
        let manifest = read_manifest(&path)?;
        Ok((path, manifest))
    }

    fn open_as(path: &Path, manifest: &Manifest) -> Result<Self, DirectoryError> {
        let Files {
            config, weights, ..
        } = &manifest.files;
        let config_path = path.join(&config.name);
        let config: TransformerConfig =
            serde_json::from_slice(&read_file(path, config)?).map_err(|source| {
                DirectoryError::Json {
                    path: config_path.clone(),
                    source,
                }
            })?;
        config.validate().map_err(|source| DirectoryError::Config {
            path: config_path,
            source,
        })?;
        let tokenizers = read_tokenizers(path, manifest, &config)?;
        check_file(path, weights)?;
        Ok(Self {
            path: path.to_owned(),
            manifest: manifest.clone(),
            config,
            tokenizers,
        })
    }

    /// Where the model lies; differs from what was opened if that was the directory of a run.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The configuration.
    pub const fn config(&self) -> &TransformerConfig {
        &self.config
    }

    /// The tokenizers.
    pub const fn tokenizers(&self) -> &Tokenizers {
        &self.tokenizers
    }

    /// The file of the weights, a Burn record.
    pub fn weights_path(&self) -> PathBuf {
        self.path.join(&self.manifest.files.weights.name)
    }

    /// Reads the file with the weights, and checks that it is the one that the manifest describes.
    pub(crate) fn read_weights(&self) -> Result<Vec<u8>, DirectoryError> {
        read_file(&self.path, &self.manifest.files.weights)
    }

    /// The manifest; it says how the model was trained.
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }
}

/// The model directory that is meant by `path`.
fn find(path: &Path) -> Result<PathBuf, DirectoryError> {
    let in_run = path.join("model");
    let is_model = |path: &Path| path.join(MANIFEST).is_file();
    if is_model(path) {
        Ok(path.to_owned())
    } else if is_model(&in_run) {
        Ok(in_run)
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

fn read_manifest(path: &Path) -> Result<Manifest, DirectoryError> {
    let path = path.join(MANIFEST);
    let json = fs::read(&path);
    let json = json.map_err(|source| DirectoryError::Read {
        path: path.clone(),
        source,
    })?;
    Manifest::parse(&json, &path)
}

fn read_tokenizers(
    path: &Path,
    manifest: &Manifest,
    config: &TransformerConfig,
) -> Result<Tokenizers, DirectoryError> {
    let Files {
        tokenizer,
        src_tokenizer,
        tgt_tokenizer,
        ..
    } = &manifest.files;
    let (tokenizers, src, tgt) = match (tokenizer, src_tokenizer, tgt_tokenizer) {
        (Some(entry), None, None) => (
            Tokenizers::Joint(read_tokenizer(path, entry)?),
            &entry.name,
            &entry.name,
        ),
        (None, Some(src), Some(tgt)) => {
            let (src_name, tgt_name) = (&src.name, &tgt.name);
            let src = read_tokenizer(path, src)?;
            let tgt = read_tokenizer(path, tgt)?;
            (Tokenizers::Separate { src, tgt }, src_name, tgt_name)
        }
        _ => {
            return Err(DirectoryError::TokenizerFiles {
                path: path.join(MANIFEST),
            });
        }
    };
    tokenizers.check(config, &path.join(src), &path.join(tgt))?;
    Ok(tokenizers)
}

fn read_tokenizer(path: &Path, entry: &FileEntry) -> Result<Tokenizer, DirectoryError> {
    let json = read_file(path, entry)?;
    let path = path.join(&entry.name);
    let json = String::from_utf8(json).map_err(|error| DirectoryError::Read {
        path: path.clone(),
        source: io::Error::new(ErrorKind::InvalidData, error),
    })?;
    Tokenizer::from_json(&json).map_err(|source| DirectoryError::Tokenizer { path, source })
}

/// Reads a file and checks it.
fn read_file(path: &Path, entry: &FileEntry) -> Result<Vec<u8>, DirectoryError> {
    let mut content = Vec::new();
    scan(path, entry, |chunk| {
        if content.capacity() == 0 {
            // The file has as many bytes as the entry says: that was looked at.
            content.reserve_exact(usize::try_from(entry.bytes).unwrap_or(0));
        }
        content.extend_from_slice(chunk);
    })?;
    Ok(content)
}

/// Checks a file without keeping it.
fn check_file(path: &Path, entry: &FileEntry) -> Result<(), DirectoryError> {
    scan(path, entry, |_| {})
}

fn scan(
    path: &Path,
    entry: &FileEntry,
    mut visit: impl FnMut(&[u8]),
) -> Result<(), DirectoryError> {
    let path = path.join(&entry.name);
    let failed = |source: io::Error| match source.kind() {
        ErrorKind::NotFound => DirectoryError::MissingFile { path: path.clone() },
        _ => DirectoryError::Read {
            path: path.clone(),
            source,
        },
    };
    let mut file = File::open(&path).map_err(failed)?;
    let (found, expected) = (file.metadata().map_err(failed)?.len(), entry.bytes);
    if found != expected {
        return Err(DirectoryError::Size {
            path,
            found,
            expected,
        });
    }
    let mut hash = Sha256::new();
    let mut chunk = vec![0; CHUNK.min(usize::try_from(expected).unwrap_or(CHUNK)).max(1)];
    loop {
        match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(n) => {
                hash.update(&chunk[..n]);
                visit(&chunk[..n]);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    if hex(hash) == entry.sha256 {
        Ok(())
    } else {
        Err(DirectoryError::Hash { path })
    }
}

impl FileEntry {
    /// Describes a file of this name and content.
    pub fn new(name: impl Into<String>, content: &[u8]) -> Self {
        Self {
            name: name.into(),
            bytes: content.len() as u64,
            sha256: hex(Sha256::new_with_prefix(content)),
        }
    }

    /// Says whether the directory has the file, with this content.
    pub fn is_whole_in(&self, directory: &Path) -> bool {
        self.check_in(directory).is_ok()
    }

    /// Checks that the directory has the file, with this content.
    ///
    /// # Errors
    ///
    /// Returns a [`DirectoryError`] that tells a file that cannot be read from one that is not there, or another.
    pub fn check_in(&self, directory: &Path) -> Result<(), DirectoryError> {
        check_file(directory, self)
    }
}

/// Whether the file at `path` is what `entry` says, whatever its name.
pub(super) fn matches(path: &Path, entry: &FileEntry) -> bool {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let entry = FileEntry {
        name: name.unwrap_or_default(),
        ..entry.clone()
    };
    path.parent()
        .is_some_and(|directory| check_file(directory, &entry).is_ok())
}
