//! [`StoreLocation`]: the path of a run's token store on disk. Its name is a hash of the text files and settings.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use transformer_core::directory::{Languages, ModelDirectory, Tokenizers, create_folder};
use transformer_core::random::hash;

use crate::config::{
    CorpusSource, DataSettings, DataSource, Experiment, LineLimit, Store, Tags, ValidationSource,
    Vocabularies,
};
use crate::corpus::stored_corpus::{FORMAT, StoredCorpus, write_store};
use crate::corpus::{CLEANING_RULES, CorpusSummary, DiskWriter, Fingerprint};
use crate::error::TrainError;
use crate::progress::LogFn;

/// With `data.store = "auto"`, the size of text from which its tokens are stored on disk, in bytes. They take about a
/// quarter of it.
const AUTO_BYTES: u64 = 2 << 30;

const GZIP_RATIO: u64 = 3;

const BLOCK_BYTES: usize = 1 << 16;

const MAX_BLOCKS: u64 = 1 << 10;

const STORES: &str = "store";

const LOCK: &str = "lock";

const TOKENS: &str = "tokens-";

/// The prefix of the name of a store that is being built.
const UNFINISHED: &str = ".unfinished-";

#[derive(Clone, Debug)]
pub(crate) struct StoreLocation {
    folder: PathBuf,
    /// True if the folder belongs to the run, so that no other run needs its stores.
    is_own: bool,
    name: String,
    if_missing: IfMissing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfMissing {
    Build,
    /// Keep the ids in memory, and write nothing.
    UseMemory,
}

impl StoreLocation {
    /// Returns the location of an experiment's store, which need not exist; `None` if its ids are
    /// kept in memory. `cleaned_as` are the languages by which the text is cleaned, `folder` is the run's folder, and
    /// `base` the model that the run starts from.
    pub(crate) fn of(
        experiment: &Experiment,
        cleaned_as: &Languages,
        folder: &Path,
        base: Option<&ModelDirectory>,
        if_missing: IfMissing,
    ) -> Result<Option<Self>, TrainError> {
        let data = &experiment.data;
        let DataSource::Corpus { train, valid } = data.source()? else {
            return Ok(None);
        };
        // These strings are hashed: changing one, or a `Debug` format, makes every existing store unusable.
        let mut facts = vec![
            format!("format {FORMAT}"),
            fact_of_filter(data),
            fact_of_vocabularies(&experiment.vocabularies()),
            format!("{} {}", data.tokenizer_sample, experiment.training.seed),
        ];
        facts.extend(base.map(tokenizers_of));
        // Only a limit that is not the default, so that older stores stay usable.
        let limit = data.line_limit();
        facts.extend((limit != LineLimit::default()).then(|| format!("{limit:?}")));
        let languages = (&cleaned_as.src, &cleaned_as.tgt);
        facts.extend(
            data.clean
                .then(|| format!("cleaned {CLEANING_RULES} {languages:?}")),
        );
        if train.len() > 1 {
            facts.push("fingerprint of sizes too".to_owned());
        }
        if valid == ValidationSource::HeldOut {
            facts.push(format!("{} held out", data.valid_pairs));
        }
        let mut n_bytes = 0;
        for (corpus, _) in &train {
            let tags = &corpus.tags;
            facts.extend((*tags != Tags::default()).then(|| format!("{tags:?}")));
            let paths = match &corpus.source {
                CorpusSource::Files { src, tgt } => vec![src, tgt],
                CorpusSource::Tsv { path } => vec![path],
            };
            for path in paths {
                // Standard input and pipes cannot be recognized.
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
        let own_folder = || folder.join(STORES);
        Ok(is_on_disk.then(|| Self {
            is_own: data.store_folder.is_none(),
            folder: data.store_folder.clone().unwrap_or_else(own_folder),
            name: format!("{TOKENS}{:016x}", key(&facts)),
            if_missing,
        }))
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    pub(crate) fn builds_missing(&self) -> bool {
        self.if_missing == IfMissing::Build
    }

    /// Opens the store, if it exists and is intact.
    pub(crate) fn open(&self, log: &LogFn) -> Option<StoredCorpus> {
        let path = self.path();
        if !path.exists() {
            return None;
        }
        match StoredCorpus::open(&path) {
            Ok(stored) => {
                log(&format!("store       {}", path.display()));
                Some(stored)
            }
            Err(error) => {
                let path = path.display();
                log(&format!("damaged     `{path}`: {error}; it is built again"));
                None
            }
        }
    }

    /// Builds the store; `fill` writes the pairs, and completes the store in the folder that it gets. The store appears
    /// only when it is complete, even if the program is killed. An error leaves nothing on disk; the folder of the stores
    /// is removed too if it is otherwise empty.
    pub(crate) fn build(
        &self,
        tokenizers: &Tokenizers,
        held_out: Option<Vec<(String, String)>>,
        log: &LogFn,
        fill: impl FnOnce(DiskWriter, &Path) -> Result<(CorpusSummary, Fingerprint), TrainError>,
    ) -> Result<StoredCorpus, TrainError> {
        let path = self.path();
        let unfinished = self.folder.join(format!("{UNFINISHED}{}", self.name));
        create_folder(&self.folder).map_err(TrainError::write_store(&self.folder))?;
        // Two runs that share a folder build in turn.
        let lock_path = self.folder.join(LOCK);
        let lock = File::create(&lock_path).map_err(TrainError::write_store(&lock_path))?;
        // Some file systems have no locks; then the store is built without one.
        if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
            log("store       waiting for another run that is building it");
            let _ = lock.lock();
        }
        if let Ok(stored) = StoredCorpus::open(&path) {
            return Ok(stored);
        }
        self.remove_unfinished();
        fs::create_dir_all(&unfinished).map_err(TrainError::write_store(&unfinished))?;
        if let Err(error) = write_store(&unfinished, tokenizers, held_out, fill) {
            self.remove_unfinished();
            drop(lock);
            // Removes a folder that contains only the lock.
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
            removed.map_err(|source| TrainError::Store {
                path: path.clone(),
                source,
            })?;
        }
        fs::rename(&unfinished, &path).map_err(TrainError::write_store(&path))?;
        StoredCorpus::open(&path).map_err(|source| {
            let path = path.clone();
            TrainError::Store { path, source }
        })
    }

    /// Removes the stores of the run's earlier text or settings, unless other runs may share the folder.
    pub(crate) fn remove_others(&self) {
        if self.is_own {
            self.remove(|name| name.starts_with(TOKENS) && name != self.name);
        }
    }

    /// Removes unfinished stores. Requires the lock.
    fn remove_unfinished(&self) {
        self.remove(|name| name.starts_with(UNFINISHED));
    }

    fn remove(&self, is_outdated: impl Fn(&str) -> bool) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(&is_outdated) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// Returns whether the folder of a run contains only token stores, and none is being built.
pub(crate) fn contains_only_stores(directory: &Path) -> bool {
    let stores = directory.join(STORES);
    let is_idle = || match File::open(stores.join(LOCK)) {
        Ok(lock) => lock.try_lock().is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    only_entry(directory).is_some_and(|name| name == STORES) && is_idle()
}

/// Returns the name of the file or folder in a folder, if there is exactly one.
fn only_entry(directory: &Path) -> Option<OsString> {
    let mut entries = fs::read_dir(directory).ok()?.flatten();
    let first = entries.next()?;
    entries.next().is_none().then(|| first.file_name())
}

/// Returns the unpacked size of a file, in bytes, and the facts that identify it: path, size, modification time, and a
/// hash of its blocks. `None` if it is not a regular file.
fn file_facts(path: &Path) -> Option<(u64, String)> {
    if path == Path::new("-") {
        return None;
    }
    let absolute = path.canonicalize().ok()?;
    let metadata = absolute.metadata().ok().filter(fs::Metadata::is_file)?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let is_gzip = path.extension().is_some_and(|extension| extension == "gz");
    let n_bytes = metadata.len() * if is_gzip { GZIP_RATIO } else { 1 };
    let blocks = hash_of_blocks(&absolute, metadata.len()).ok()?;
    let fact = format!("{absolute:?} {} {modified:?} {blocks:016x}", metadata.len());
    Some((n_bytes, fact))
}

/// Hashes a file of at most 64 MiB whole, and of a larger one as much, in blocks at equal distances that include the
/// first and the last one.
///
/// Some programs restore size and modification time after an edit. In a small file such an edit is found; in a large
/// one it is found if it changes one of the blocks, as different text does. Hashing all of 10 GB would take 10 to 60
/// seconds at each start; this takes a tenth of a second, or a few seconds on a spinning disk.
fn hash_of_blocks(path: &Path, n_bytes: u64) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let mut block = vec![0; BLOCK_BYTES];
    let n_blocks = n_bytes.div_ceil(BLOCK_BYTES as u64);
    let n_hashed = n_blocks.min(MAX_BLOCKS);
    let mut hashed = n_bytes;
    for index in 0..n_hashed {
        let number = match n_hashed {
            1 => 0,
            _ => u128::from(index) * u128::from(n_blocks - 1) / u128::from(n_hashed - 1),
        };
        file.seek(SeekFrom::Start(number as u64 * BLOCK_BYTES as u64))?;
        block.clear();
        (&mut file)
            .take(BLOCK_BYTES as u64)
            .read_to_end(&mut block)?;
        let (words, rest) = block.as_chunks::<8>();
        let words = words.iter().map(|word| u64::from_le_bytes(*word));
        let rest = rest.iter().map(|byte| u64::from(*byte));
        hashed = words.chain(rest).fold(hashed, hash);
    }
    Ok(hashed)
}

/// Returns the text that identifies the filter of pairs, as earlier versions wrote it.
fn fact_of_filter(data: &DataSettings) -> String {
    format!(
        "Filter {{ max_len: {:?}, over_long: {:?}, max_ratio: {:?}, empty: {:?}, duplicates: {:?}, copies: {:?} }}",
        data.max_len, data.over_long, data.max_ratio, data.empty, data.duplicates, data.copies
    )
}

/// Returns the text that identifies the settings of tokenizers. Without user-defined symbols that setting is left out,
/// so that the stores of earlier versions stay usable.
fn fact_of_vocabularies(vocabularies: &Vocabularies) -> String {
    // A symbol cannot spell this, because it has no spaces.
    format!("{vocabularies:?}").replace(", user_symbols: []", "")
}

/// Returns the text that identifies the tokenizers of a model: their hashes.
fn tokenizers_of(model: &ModelDirectory) -> String {
    let files = &model.manifest().files;
    let entries = [&files.tokenizer, &files.src_tokenizer, &files.tgt_tokenizer];
    let hashes = entries.into_iter().flatten();
    hashes.map(|entry| entry.sha256.as_str()).collect()
}

fn key(facts: &[String]) -> u64 {
    let bytes = facts.iter().flat_map(|fact| fact.bytes().chain([0]));
    bytes.fold(0, |hashed, byte| hash(hashed, u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_contains_only_stores_unless_one_is_being_built() {
        let run = tempfile::tempdir().expect("the system has temporary directories");
        assert!(!contains_only_stores(run.path()), "it is empty");
        let stores = run.path().join(STORES);
        fs::create_dir_all(stores.join("tokens")).expect("the folder is writable");
        assert!(contains_only_stores(run.path()));
        let lock = File::create(stores.join(LOCK)).expect("the folder is writable");
        lock.lock().expect("it is not locked");
        assert!(!contains_only_stores(run.path()), "a store is being built");
        drop(lock);
        assert!(contains_only_stores(run.path()));
        File::create(run.path().join("experiment.toml")).expect("the folder is writable");
        assert!(!contains_only_stores(run.path()), "a run has started");
    }

    #[test]
    fn a_store_without_symbols_has_the_name_that_it_had_before_there_were_any() {
        let vocabularies = Experiment::default().vocabularies();
        let before = "Joint(TokenizerConfig { kind: Bpe, vocab_size: 37000, case: Keep, byte_fallback: \
                      false })";
        assert_eq!(fact_of_vocabularies(&vocabularies), before);
    }

    #[test]
    fn a_filter_has_the_name_that_it_had_before() {
        let before = "Filter { max_len: 256, over_long: Drop, max_ratio: Some(2.5), empty: Drop, duplicates: Keep, \
                      copies: Keep }";
        let data = DataSettings {
            max_ratio: Some(2.5),
            ..DataSettings::default()
        };
        assert_eq!(fact_of_filter(&data), before);
    }

    #[test]
    fn stores_with_different_symbols_have_different_names() {
        let fact = |symbols: &[&str]| {
            let mut experiment = Experiment::default();
            let symbols = symbols.iter().map(|it| (*it).to_owned());
            experiment.tokenizer.user_symbols = symbols.collect();
            fact_of_vocabularies(&experiment.vocabularies())
        };
        assert_ne!(fact(&["<2de>"]), fact(&["<2fr>"]));
        assert_ne!(fact(&["<2de>"]), fact(&[]));
    }

    /// Writes a file of zeros but for one byte, and returns its hash.
    fn hash_with(n_bytes: u64, changed: u64) -> u64 {
        let mut file = tempfile::NamedTempFile::new().expect("the system has temporary files");
        file.as_file().set_len(n_bytes).expect("it is writable");
        file.seek(SeekFrom::Start(changed))
            .expect("it has positions");
        io::Write::write_all(&mut file, b"x").expect("it is writable");
        hash_of_blocks(file.path(), n_bytes).expect("it is readable")
    }

    #[test]
    fn every_byte_of_a_small_text_changes_its_hash() {
        let n_bytes = BLOCK_BYTES as u64 + 13;
        let positions = [0, 1, 7, 8, 65_535, 65_536, n_bytes - 6, n_bytes - 1];
        let mut hashes = positions
            .map(|position| hash_with(n_bytes, position))
            .to_vec();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), positions.len());
    }

    #[test]
    fn first_and_last_bytes_of_a_large_text_change_its_hash() {
        // Larger than what is hashed, by a block and a bit; most of the file is a hole.
        let n_bytes = (MAX_BLOCKS + 1) * BLOCK_BYTES as u64 + 13;
        let positions = [0, 65_535, n_bytes - 13, n_bytes - 1];
        let hashes = positions.map(|position| hash_with(n_bytes, position));
        assert!((1..4).all(|index| !hashes[..index].contains(&hashes[index])));
    }
}
