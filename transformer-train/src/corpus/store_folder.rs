//! Where the token store of a run lies, and whether it is of this text and these settings.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use transformer_core::directory::{
    FileEntry, ModelDirectory, SRC_TOKENIZER, TGT_TOKENIZER, TOKENIZER, Tokenizers, write_file,
};
use transformer_core::random::hash;
use transformer_core::text::Tokenizer;

use crate::config::{CorpusSource, DataSource, Experiment, Store};
use crate::corpus::{CorpusError, CorpusSummary, DiskStore, Fingerprint, LENGTHS, StoreWriter};
use crate::progress::LogFn;

/// The version of the stores that this program writes, and the only one that it reads.
const FORMAT: u64 = 1;

/// Text of so many bytes goes to disk by itself: its ids take about a quarter of them.
const AUTO_BYTES: u64 = 2 << 30;

/// About how much smaller gzip makes text.
const GZIP: u64 = 3;

const MANIFEST: &str = "store.json";

/// The folder of a run that holds its stores.
const STORES: &str = "store";

/// The file that whoever makes a store locks.
const LOCK: &str = "lock";

/// What the name of a store begins with.
const TOKENS: &str = "tokens-";

/// What it begins with while it is made.
const UNFINISHED: &str = ".unfinished-";

/// Names the folder of a store.
#[derive(Clone, Debug)]
pub(crate) struct StorePlace {
    folder: PathBuf,
    /// Whether the folder is the run's own, where nobody else needs what it does not.
    is_own: bool,
    name: String,
    if_missing: IfMissing,
}

/// Says what happens when there is no store that is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfMissing {
    /// It is made.
    Make,
    /// The ids are held in memory, and nothing is written.
    Hold,
}

/// What a store has beside the ids.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    format: u64,
    fingerprint: u64,
    summary: CorpusSummary,
    joint: bool,
    /// Pairs held out for validation; `None` if there are files to validate on.
    held_out: Option<Vec<(String, String)>>,
    /// Every file but the ids, which are checked as they are read.
    files: Vec<FileEntry>,
}

/// Holds what a store knows about a corpus.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) store: DiskStore,
    pub(crate) tokenizers: Tokenizers,
    pub(crate) summary: CorpusSummary,
    pub(crate) fingerprint: u64,
    pub(crate) held_out: Option<Vec<(String, String)>>,
}

impl StorePlace {
    /// Returns where the store of this experiment is or will be; `None` if its ids are held in memory. `folder` is
    /// the run's, and `base` the model that it goes on from.
    pub(crate) fn of(
        experiment: &Experiment,
        folder: &Path,
        base: Option<&ModelDirectory>,
        if_missing: IfMissing,
    ) -> Result<Option<Self>, CorpusError> {
        let data = &experiment.data;
        let DataSource::Corpus { train, valid } = data.source()? else {
            return Ok(None);
        };
        let mut facts = vec![
            format!("format {FORMAT}"),
            format!("{:?}", data.filter()),
            format!("{:?}", experiment.tokenizer.vocabularies()),
            format!("{} {}", data.tokenizer_sample, experiment.training.seed),
        ];
        facts.extend(base.map(tokenizers_of));
        if train.len() > 1 {
            facts.push("fingerprint of sizes too".to_owned());
        }
        if valid.is_none() {
            facts.push(format!("{} held out", data.valid_pairs));
        }
        let mut n_bytes = 0;
        for (source, _) in &train {
            let paths = match source {
                CorpusSource::Files { src, tgt } => vec![src, tgt],
                CorpusSource::Tsv { path } => vec![path],
            };
            for path in paths {
                // Standard input and pipes cannot be known again.
                let Some((n, fact)) = file_facts(path) else {
                    return Ok(None);
                };
                n_bytes += n;
                facts.push(fact);
            }
        }
        let is_on_disk = match data.store {
            Store::Auto => n_bytes >= AUTO_BYTES,
            Store::Memory => false,
            Store::Disk => true,
        };
        let of_run = || folder.join(STORES);
        Ok(is_on_disk.then(|| Self {
            is_own: data.store_folder.is_none(),
            folder: data.store_folder.clone().unwrap_or_else(of_run),
            name: format!("{TOKENS}{:016x}", key(&facts)),
            if_missing,
        }))
    }

    /// Returns the folder of the store.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Says whether a store that is not there is made.
    pub(crate) fn is_to_be_made(&self) -> bool {
        self.if_missing == IfMissing::Make
    }

    /// Opens the store, if it is there and whole.
    pub(crate) fn open(&self, log: &LogFn) -> Option<Stored> {
        let path = self.path();
        if !path.exists() {
            return None;
        }
        match Stored::open(&path) {
            Ok(stored) => {
                log(&format!("store       {}", path.display()));
                Some(stored)
            }
            Err(error) => {
                let path = path.display();
                log(&format!("damaged     `{path}`: {error}; it is made anew"));
                None
            }
        }
    }

    /// Makes the store: `fill` gets the folder, and returns what stands in the manifest. Nothing is left behind
    /// when it fails, not even a folder that holds nothing else, and a store that is there is whole, whenever the
    /// program is killed.
    pub(crate) fn build(
        &self,
        tokenizers: &Tokenizers,
        held_out: Option<Vec<(String, String)>>,
        log: &LogFn,
        fill: impl FnOnce(StoreWriter) -> Result<(CorpusSummary, Fingerprint), CorpusError>,
    ) -> Result<Stored, CorpusError> {
        let path = self.path();
        let unfinished = self.folder.join(format!("{UNFINISHED}{}", self.name));
        fs::create_dir_all(&self.folder).map_err(CorpusError::write(&self.folder))?;
        // Of two runs that share a folder, one waits for the other.
        let lock_path = self.folder.join(LOCK);
        let lock = File::create(&lock_path).map_err(CorpusError::write(&lock_path))?;
        // Not every file system has locks.
        if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
            log("store       waiting for another program that makes it");
            let _ = lock.lock();
        }
        if let Ok(stored) = Stored::open(&path) {
            return Ok(stored);
        }
        self.remove_unfinished();
        fs::create_dir_all(&unfinished).map_err(CorpusError::write(&unfinished))?;
        if let Err(error) = make(&unfinished, tokenizers, held_out, fill) {
            self.remove_unfinished();
            drop(lock);
            // The lock alone holds nothing that is worth a folder; others stay.
            if only_entry(&self.folder).is_some_and(|name| name == LOCK) {
                let _ = fs::remove_dir_all(&self.folder);
                if self.folder.ends_with(STORES) {
                    let _ = self.folder.parent().map(fs::remove_dir);
                }
            }
            return Err(error);
        }
        if path.exists() {
            let removed = fs::remove_dir_all(&path);
            removed.map_err(|source| CorpusError::Store {
                path: path.clone(),
                source,
            })?;
        }
        fs::rename(&unfinished, &path).map_err(CorpusError::write(&path))?;
        Stored::open(&path).map_err(|source| {
            let path = path.clone();
            CorpusError::Store { path, source }
        })
    }

    /// Removes the stores of text, or of settings, that the run no longer has; not where others may need them.
    pub(crate) fn remove_others(&self) {
        if !self.is_own {
            return;
        }
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_store = name.to_str().is_some_and(|name| name.starts_with(TOKENS));
            if is_store && name != *self.name {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Removes what was begun in the folder and not brought to its end: whoever has the lock is alone.
    fn remove_unfinished(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for entry in entries {
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// Says whether a folder was meant for a run and holds nothing but the stores of its text, which nobody is making.
pub(crate) fn holds_only_stores(directory: &Path) -> bool {
    let stores = directory.join(STORES);
    let is_idle = || match File::open(stores.join(LOCK)) {
        Ok(lock) => lock.try_lock().is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    only_entry(directory).is_some_and(|name| name == STORES) && is_idle()
}

/// Returns the name of what is in a folder, if that is one file or folder.
fn only_entry(directory: &Path) -> Option<OsString> {
    let mut entries = fs::read_dir(directory).ok()?.flatten();
    let first = entries.next()?;
    entries.next().is_none().then(|| first.file_name())
}

fn make(
    directory: &Path,
    tokenizers: &Tokenizers,
    held_out: Option<Vec<(String, String)>>,
    fill: impl FnOnce(StoreWriter) -> Result<(CorpusSummary, Fingerprint), CorpusError>,
) -> Result<(), CorpusError> {
    let vocab_size = tokenizers
        .src()
        .vocab_size()
        .max(tokenizers.tgt().vocab_size());
    let writer = StoreWriter::new(directory, vocab_size).map_err(CorpusError::write(directory))?;
    let (summary, fingerprint) = fill(writer)?;
    let mut files = Vec::new();
    for (name, tokenizer) in tokenizers.files() {
        let json = tokenizer.to_json();
        write_file(directory, name, json.as_bytes())?;
        files.push(FileEntry::new(name, json.as_bytes()));
    }
    let lengths = directory.join(LENGTHS);
    let lengths = fs::read(&lengths).map_err(CorpusError::write(&lengths))?;
    files.push(FileEntry::new(LENGTHS, &lengths));
    let manifest = Manifest {
        format: FORMAT,
        fingerprint: fingerprint.value(),
        summary,
        joint: matches!(tokenizers, Tokenizers::Joint(_)),
        held_out,
        files,
    };
    let json = serde_json::to_vec_pretty(&manifest).expect("a manifest is numbers and text");
    Ok(write_file(directory, MANIFEST, &json)?)
}

impl Stored {
    fn open(path: &Path) -> io::Result<Self> {
        let invalid = |message: String| io::Error::new(io::ErrorKind::InvalidData, message);
        let text = fs::read(path.join(MANIFEST))?;
        let manifest: Manifest = serde_json::from_slice(&text)?;
        if manifest.format != FORMAT {
            let format = manifest.format;
            return Err(invalid(format!(
                "its format is {format} instead of {FORMAT}"
            )));
        }
        if let Some(file) = manifest.files.iter().find(|file| !file.is_intact_in(path)) {
            return Err(invalid(format!("`{}` is not what was written", file.name)));
        }
        let read = |name: &str| {
            let read = Tokenizer::read(path.join(name));
            read.map_err(|error| invalid(error.to_string()))
        };
        let tokenizers = match manifest.joint {
            true => Tokenizers::Joint(read(TOKENIZER)?),
            false => Tokenizers::Separate {
                src: read(SRC_TOKENIZER)?,
                tgt: read(TGT_TOKENIZER)?,
            },
        };
        let sizes = [tokenizers.src().vocab_size(), tokenizers.tgt().vocab_size()];
        Ok(Self {
            store: DiskStore::open(path, sizes[0].max(sizes[1]))?,
            tokenizers,
            summary: manifest.summary,
            fingerprint: manifest.fingerprint,
            held_out: manifest.held_out,
        })
    }
}

/// Returns the size of a file once unpacked, in bytes, and by what it is known again: path, size and time of the
/// last change. `None` if it is none that can be read twice.
fn file_facts(path: &Path) -> Option<(u64, String)> {
    if path == Path::new("-") {
        return None;
    }
    let whole = path.canonicalize().ok()?;
    let metadata = whole.metadata().ok().filter(fs::Metadata::is_file)?;
    let changed = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let is_packed = path.extension().is_some_and(|extension| extension == "gz");
    let n_bytes = metadata.len() * if is_packed { GZIP } else { 1 };
    let fact = format!("{whole:?} {} {changed:?}", metadata.len());
    Some((n_bytes, fact))
}

/// Returns by what the tokenizers of a model are known again.
fn tokenizers_of(model: &ModelDirectory) -> String {
    let files = &model.manifest().files;
    let entries = [&files.tokenizer, &files.src_tokenizer, &files.tgt_tokenizer];
    let hashes = entries.into_iter().flatten();
    hashes.map(|entry| entry.sha256.as_str()).collect()
}

fn key(facts: &[String]) -> u64 {
    let bytes = facts.iter().flat_map(|fact| fact.bytes().chain([0]));
    bytes.fold(0, |mixed, byte| hash(mixed, u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_nothing_but_stores_is_free_unless_somebody_makes_one() {
        let run = tempfile::tempdir().expect("the system has temporary directories");
        assert!(!holds_only_stores(run.path()), "it is empty");
        let stores = run.path().join(STORES);
        fs::create_dir_all(stores.join("tokens")).expect("there is room");
        assert!(holds_only_stores(run.path()));
        let lock = File::create(stores.join(LOCK)).expect("there is room");
        lock.lock().expect("nobody else has it");
        assert!(!holds_only_stores(run.path()), "a store is being made");
        drop(lock);
        assert!(holds_only_stores(run.path()));
        File::create(run.path().join("experiment.toml")).expect("there is room");
        assert!(!holds_only_stores(run.path()), "a run has begun");
    }
}
