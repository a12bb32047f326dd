//! [`StoredCorpus`]: the folder of a token store on disk, with its manifest and tokenizers.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use transformer_core::directory::{
    FileEntry, SRC_TOKENIZER, TGT_TOKENIZER, TOKENIZER, Tokenizers, write_file,
};
use transformer_core::text::Tokenizer;
use transformer_core::{json, regular_file};

use crate::corpus::fingerprint::{has_own_hash, with_own_hash};
use crate::corpus::token_store::vocab_size_of;
use crate::corpus::{CorpusSummary, DiskWriter, Fingerprint, LENGTHS, TokenStore};
use crate::error::TrainError;

/// The version of the format, the only one that this program reads.
pub(super) const FORMAT: u64 = 2;

const MANIFEST: &str = "store.json";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    format: u64,
    /// The SHA-256 of the manifest itself, without this hash.
    sha256: String,
    pub(crate) fingerprint: u64,
    pub(crate) summary: CorpusSummary,
    /// True if one tokenizer serves both sides.
    joint: bool,
    /// The pairs that are held out for validation; `None` if there are validation files.
    pub(crate) held_out: Option<Vec<(String, String)>>,
    /// Every file except the ids, which have their own checksums, checked when they are read.
    files: Vec<FileEntry>,
}

#[derive(Debug)]
pub(crate) struct StoredCorpus {
    pub(crate) store: TokenStore,
    pub(crate) tokenizers: Tokenizers,
    pub(crate) manifest: Manifest,
}

/// Writes a token store into an empty folder; `fill` writes the pairs and completes the store.
pub(super) fn write_store(
    directory: &Path,
    tokenizers: &Tokenizers,
    held_out: Option<Vec<(String, String)>>,
    fill: impl FnOnce(DiskWriter, &Path) -> Result<(CorpusSummary, Fingerprint), TrainError>,
) -> Result<(), TrainError> {
    let writer = DiskWriter::on_disk(directory, vocab_size_of(tokenizers));
    let writer = writer.map_err(TrainError::write_store(directory))?;
    let (summary, fingerprint) = fill(writer, directory)?;
    let mut files = Vec::new();
    for (name, tokenizer) in tokenizers.files() {
        let json = tokenizer.to_json();
        write_file(directory, name, json.as_bytes())?;
        files.push(FileEntry::new(name, json.as_bytes()));
    }
    let lengths = directory.join(LENGTHS);
    let lengths =
        regular_file::read(&lengths, u64::MAX).map_err(TrainError::write_store(&lengths))?;
    files.push(FileEntry::new(LENGTHS, &lengths));
    let manifest = Manifest {
        format: FORMAT,
        sha256: String::new(),
        fingerprint: fingerprint.value(),
        summary,
        joint: matches!(tokenizers, Tokenizers::Joint(_)),
        held_out,
        files,
    };
    let json =
        serde_json::to_string_pretty(&manifest).expect("a manifest consists of numbers and text");
    let json = with_own_hash(&json);
    Ok(write_file(directory, MANIFEST, json.as_bytes())?)
}

impl StoredCorpus {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let invalid = |message: String| io::Error::new(io::ErrorKind::InvalidData, message);
        let text = regular_file::read_text(&path.join(MANIFEST), u64::MAX)?;
        let manifest =
            json::from_slice(text.as_bytes()).map_err(|error| invalid(error.to_string()));
        let manifest: Manifest = manifest?;
        if manifest.format != FORMAT {
            let format = manifest.format;
            return Err(invalid(format!(
                "its format is {format}, but this program reads format {FORMAT}"
            )));
        }
        if !has_own_hash(&text, &manifest.sha256) {
            return Err(invalid(format!("`{MANIFEST}` is not what was saved")));
        }
        if let Some(file) = manifest.files.iter().find(|file| !file.is_intact_in(path)) {
            return Err(invalid(format!("`{}` is damaged", file.name)));
        }
        let read = |name: &str| {
            Tokenizer::read(path.join(name)).map_err(|error| invalid(error.to_string()))
        };
        let tokenizers = match manifest.joint {
            true => Tokenizers::Joint(read(TOKENIZER)?),
            false => Tokenizers::Separate {
                src: read(SRC_TOKENIZER)?,
                tgt: read(TGT_TOKENIZER)?,
            },
        };
        if !manifest.summary.is_consistent() {
            return Err(invalid("its counts contradict each other".to_owned()));
        }
        Ok(Self {
            store: TokenStore::open(path, vocab_size_of(&tokenizers))?,
            tokenizers,
            manifest,
        })
    }
}
