//! [`Glossaries`]: the folder of glossaries.

use std::collections::{HashSet, VecDeque};
use std::fs::{self, File};
use std::io::{self, BufReader, Error, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::{Mutex, MutexGuard};
use tempfile::{Builder, NamedTempFile};
use transformer_core::text::one_line;
use transformer_translate::Glossary;

use super::stored::invalid;
use super::{Dictionary, Entries, GlossaryInfo, Pair, StoredGlossary};
use crate::http::ApiError;

const EXTENSION: &str = "glossary";

const MAX_GLOSSARIES: usize = 1000;

/// Maximum number of bytes of all files, of which an account holds at most as many as it leaves free.
const MAX_BYTES: u64 = 1 << 30;

/// The file that is locked while another is changed, by all servers that share the folder.
const LOCK: &str = ".lock";

const UNFINISHED: &str = ".unfinished-";

/// Time after which a file that is being written belongs to a killed server, on file systems without locks.
const ABANDONED: Duration = Duration::from_secs(3600);

const MAX_NAME_CHARS: usize = 1024;

/// Maximum size of the files of the dictionaries that stay in memory, in bytes.
const MAX_BYTES_IN_MEMORY: u64 = 4 << 20;

/// The glossaries of clients, in files of a folder, which several servers may share.
///
/// Every call reads the folder. With keys, each account sees only its own glossaries.
#[derive(Debug, Default)]
pub(crate) struct Glossaries {
    folder: Option<PathBuf>,
    writing: Mutex<()>,
    /// Dictionaries that were used, the last ones at the end.
    in_memory: Mutex<VecDeque<InMemory>>,
}

#[derive(Clone, Debug)]
struct InMemory {
    id: String,
    pair: Pair,
    version: (SystemTime, u64),
    glossary: Arc<Glossary>,
}

impl Glossaries {
    /// Uses a folder, which is made if it is missing. Files that killed servers did not finish are removed.
    pub(crate) fn new(folder: Option<&Path>) -> io::Result<Self> {
        if let Some(folder) = folder {
            fs::create_dir_all(folder)?;
            unfinished(folder)?;
            remove_abandoned(folder)?;
        }
        Ok(Self {
            folder: folder.map(Path::to_owned),
            ..Self::default()
        })
    }

    /// Lists the glossaries of an account, the oldest first.
    pub(crate) fn list(&self, account: Option<&str>) -> Result<Vec<GlossaryInfo>, ApiError> {
        let Some(folder) = &self.folder else {
            return Ok(Vec::new());
        };
        let mut all = all(folder)?;
        all.retain(|(info, _)| info.account.as_deref() == account);
        all.sort_by(|(a, _), (b, _)| (&a.creation_time, &a.id).cmp(&(&b.creation_time, &b.id)));
        Ok(all.into_iter().map(|(info, _)| info).collect())
    }

    pub(crate) fn info(&self, id: &str, account: Option<&str>) -> Result<GlossaryInfo, ApiError> {
        self.open(id, account).map(|(info, ..)| info)
    }

    pub(crate) fn read(&self, id: &str, account: Option<&str>) -> Result<StoredGlossary, ApiError> {
        let (info, mut file, _) = self.open(id, account)?;
        info.with_entries(&mut file).map_err(failed)
    }

    pub(crate) fn create(
        &self,
        name: &str,
        account: Option<&str>,
        dictionaries: Vec<Dictionary>,
    ) -> Result<GlossaryInfo, ApiError> {
        let _writing = self.lock()?;
        if self.list(account)?.len() >= MAX_GLOSSARIES {
            return Err(ApiError::request(format!(
                "there are {MAX_GLOSSARIES} glossaries already; delete one"
            )));
        }
        let glossary = StoredGlossary::new(checked_name(name)?, account, dictionaries);
        self.write(&new_id(), &glossary)
    }

    pub(crate) fn change(
        &self,
        id: &str,
        account: Option<&str>,
        change: impl FnOnce(&mut StoredGlossary) -> Result<(), ApiError>,
    ) -> Result<GlossaryInfo, ApiError> {
        let _writing = self.lock()?;
        let mut glossary = self.read(id, account)?;
        change(&mut glossary)?;
        glossary.name = checked_name(&glossary.name)?;
        self.write(id, &glossary)
    }

    pub(crate) fn delete(&self, id: &str, account: Option<&str>) -> Result<(), ApiError> {
        let _writing = self.lock()?;
        self.open(id, account)?;
        fs::remove_file(self.path(id)?).map_err(failed)
    }

    /// Returns the terms of a glossary of an account for a pair of languages, ready to be found in texts.
    pub(crate) fn terms(
        &self,
        id: &str,
        account: Option<&str>,
        pair: &Pair,
    ) -> Result<Arc<Glossary>, ApiError> {
        let (info, mut file, version) = self.open(id, account)?;
        let is_it = |it: &InMemory| it.id == id && it.pair == *pair && it.version == version;
        // Held while the terms are prepared, so that requests at the same time share them.
        let mut in_memory = self.in_memory.lock();
        if let Some(known) = in_memory.iter().find(|it| is_it(it)) {
            return Ok(known.glossary.clone());
        }
        let stored = info.with_entries(&mut file).map_err(failed)?;
        let dictionary = stored.of_pair(pair).ok_or_else(no_dictionary)?;
        let glossary = Arc::new(found_in(dictionary)?);
        in_memory.retain(|it| it.id != id || it.pair != *pair);
        in_memory.push_back(InMemory {
            id: id.to_owned(),
            pair: pair.clone(),
            version,
            glossary: glossary.clone(),
        });
        let n_bytes = |all: &VecDeque<InMemory>| all.iter().map(|it| it.version.1).sum::<u64>();
        while in_memory.len() > 1 && n_bytes(&in_memory) > MAX_BYTES_IN_MEMORY {
            in_memory.pop_front();
        }
        Ok(glossary)
    }

    /// Returns the terms of several glossaries; of equal ones the first counts.
    pub(crate) fn terms_of_several(
        &self,
        ids: &[String],
        account: Option<&str>,
        pair: &Pair,
    ) -> Result<Arc<Glossary>, ApiError> {
        let mut entries: Entries = Vec::new();
        let mut known = HashSet::new();
        for id in ids {
            let stored = self.read(id, account)?;
            let dictionary = stored.of_pair(pair).ok_or_else(no_dictionary)?;
            for (source, target) in &dictionary.entries {
                let words: Vec<&str> = source.split_whitespace().collect();
                if known.insert(words.join(" ")) {
                    entries.push((source.clone(), target.clone()));
                }
            }
        }
        let pair = pair.clone();
        found_in(&Dictionary { pair, entries }).map(Arc::new)
    }

    /// Opens the file of a glossary, after its description. The last value is its version.
    #[expect(clippy::type_complexity, reason = "only the calls above use it")]
    fn open(
        &self,
        id: &str,
        account: Option<&str>,
    ) -> Result<(GlossaryInfo, BufReader<File>, (SystemTime, u64)), ApiError> {
        let (mut file, version) = open(&self.path(id)?).map_err(failed)?;
        let info = GlossaryInfo::read(id, &mut file).map_err(failed)?;
        match info.account.as_deref() == account {
            true => Ok((info, file, version)),
            false => Err(ApiError::NotFound),
        }
    }

    /// Keeps other requests and other servers from changing files until it is dropped. Not every file system has locks.
    fn lock(&self) -> Result<(MutexGuard<'_, ()>, Option<File>), ApiError> {
        let guard = self.writing.lock();
        let Some(folder) = &self.folder else {
            return Ok((guard, None));
        };
        let file = File::create(folder.join(LOCK)).map_err(failed)?;
        let is_locked = file.lock().is_ok();
        Ok((guard, is_locked.then_some(file)))
    }

    fn path(&self, id: &str) -> Result<PathBuf, ApiError> {
        let is_dash = |index: usize| matches!(index, 8 | 13 | 18 | 23);
        let is_right = |(index, c): (usize, char)| match is_dash(index) {
            true => c == '-',
            false => c.is_ascii_hexdigit() && !c.is_ascii_uppercase(),
        };
        if id.len() != 36 || !id.char_indices().all(is_right) {
            return Err(ApiError::request("Invalid or missing glossary id"));
        }
        let folder = self.folder.as_ref().ok_or(ApiError::NotFound)?;
        Ok(folder.join(id).with_extension(EXTENSION))
    }

    /// Writes the file of a glossary: under another name, which is replaced.
    fn write(&self, id: &str, glossary: &StoredGlossary) -> Result<GlossaryInfo, ApiError> {
        let Some(folder) = &self.folder else {
            return Err(ApiError::request(
                "this server stores no glossaries; start it with --glossaries FOLDER",
            ));
        };
        // All of them must be ones that can be found in texts.
        glossary
            .dictionaries
            .iter()
            .try_for_each(|it| found_in(it).map(drop))?;
        let (path, content) = (self.path(id)?, glossary.written().map_err(failed)?);
        check_share(folder, id, glossary, content.len() as u64)?;
        let written = unfinished(folder).and_then(|mut file| {
            file.write_all(&content)?;
            file.as_file().sync_all()?;
            file.persist(path)?;
            // Systems that cannot open a folder make renames durable by themselves.
            File::open(folder).map_or(Ok(()), |folder| folder.sync_all())
        });
        written.map_err(failed)?;
        Ok(glossary.info(id))
    }
}

fn unfinished(folder: &Path) -> io::Result<NamedTempFile> {
    Builder::new().prefix(UNFINISHED).tempfile_in(folder)
}

/// Removes the files that killed servers did not finish: all that are there while no server writes, or else old ones.
fn remove_abandoned(folder: &Path) -> io::Result<()> {
    let lock = File::create(folder.join(LOCK))?;
    let is_locked = lock.try_lock().is_ok();
    for entry in fs::read_dir(folder)?.flatten() {
        let name = entry.file_name();
        let is_unfinished = name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes());
        let written = || entry.metadata().and_then(|it| it.modified()).ok();
        let is_old = || written().and_then(|it| it.elapsed().ok()) >= Some(ABANDONED);
        if is_unfinished && (is_locked || is_old()) {
            // Another server may be removing it.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// Returns the description and the size of each glossary, of all accounts.
fn all(folder: &Path) -> Result<Vec<(GlossaryInfo, u64)>, ApiError> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_none_or(|it| it != EXTENSION) {
            continue;
        }
        let Some(id) = path.file_stem().and_then(|it| it.to_str()) else {
            continue;
        };
        let read = open(&path).and_then(|(mut file, (_, n_bytes))| {
            let info = GlossaryInfo::read(id, &mut file)?;
            Ok((info, n_bytes))
        });
        match read {
            Ok(found) => all.push(found),
            // Another server may have deleted it meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                let path = path.display();
                tracing::error!(%path, %error, "cannot read a glossary; it is left out");
            }
        }
    }
    Ok(all)
}

/// Checks that the account of a glossary still leaves free as many bytes as it holds, if the glossary gets a new size. A
/// glossary may always get smaller.
fn check_share(
    folder: &Path,
    id: &str,
    glossary: &StoredGlossary,
    n_bytes: u64,
) -> Result<(), ApiError> {
    let (mut own, mut others) = (n_bytes, 0);
    for (info, size) in all(folder)? {
        if info.id == id {
            if n_bytes <= size {
                return Ok(());
            }
        } else if info.account == glossary.account {
            own += size;
        } else {
            others += size;
        }
    }
    let limit = MAX_BYTES.saturating_sub(others) / 2;
    match own > limit {
        true => Err(ApiError::GlossaryShare { limit }),
        false => Ok(()),
    }
}

fn no_dictionary() -> ApiError {
    ApiError::request("the glossary has no dictionary for given 'source_lang' and 'target_lang'")
}

fn found_in(dictionary: &Dictionary) -> Result<Glossary, ApiError> {
    let entries = dictionary.entries.iter();
    let pairs = entries.map(|(source, target)| (source.as_str(), target.as_str()));
    let glossary = Glossary::from_pairs("the dictionary", pairs);
    glossary.map_err(|error| invalid(one_line(&error)))
}

fn checked_name(name: &str) -> Result<String, ApiError> {
    let name = name.trim();
    match name.is_empty() || name.chars().count() > MAX_NAME_CHARS {
        true => Err(ApiError::request(format!(
            "Missing or invalid argument: name; give 1 to {MAX_NAME_CHARS} characters"
        ))),
        false => Ok(name.to_owned()),
    }
}

fn open(path: &Path) -> io::Result<(BufReader<File>, (SystemTime, u64))> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let version = (metadata.modified()?, metadata.len());
    Ok((BufReader::new(file), version))
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
fn failed(error: Error) -> ApiError {
    match error.kind() {
        ErrorKind::NotFound => ApiError::NotFound,
        kind => {
            tracing::error!(%error, "cannot use the folder of glossaries");
            match kind {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ApiError::Storage,
                _ => ApiError::Internal,
            }
        }
    }
}

/// Returns an id that cannot be guessed: a UUID of version 4.
fn new_id() -> String {
    let digits = crate::files::random_name().to_ascii_lowercase();
    let parts = [0..8, 8..12, 13..16, 17..20, 20..32];
    let [a, b, c, d, e] = parts.map(|range| &digits[range]);
    format!("{a}-{b}-4{c}-a{d}-{e}")
}
