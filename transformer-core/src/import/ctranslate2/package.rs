//! [`Package`]: the files of a model, in a folder or in a package of Argos Translate.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use zip::ZipArchive;
use zip::result::ZipError;

use super::CTranslate2Error;
use super::container::damaged;
use crate::directory::Languages;
use crate::import::MarianError;
use crate::json;
use crate::regular_file::{self, MAX_JSON_BYTES};

const MODEL: &str = "model.bin";
const METADATA: &str = "metadata.json";

const ZIP: &[u8] = b"PK\x03\x04";

/// First bytes of a file in Marian's binary format, which may have the same name.
const MARIAN: [u8; 8] = 1_u64.to_le_bytes();

/// The files of a model. Those of an archive are read into memory, and never written.
pub(super) struct Package {
    path: PathBuf,
    archive: Option<RefCell<ZipArchive<File>>>,
    /// Prefix of all names in the archive.
    folder: String,
    /// Prefix of the names of the model's own files.
    model: &'static str,
    /// Maximum size of a file of the archive.
    max_bytes: u64,
}

/// The relevant part of an Argos package's `metadata.json`.
#[derive(Debug, Deserialize)]
struct Metadata {
    from_code: Option<String>,
    to_code: Option<String>,
    r#type: Option<String>,
    target_prefix: Option<String>,
}

/// Returns the maximum size of a file of an archive, or of its files together, by the size of the archive.
pub(in crate::import) fn max_expanded(n_bytes: u64) -> u64 {
    n_bytes.saturating_mul(16).max(1 << 20)
}

/// Returns whether a path is a model of CTranslate2, its `model.bin`, or a zip archive other than Marian's `.npz`.
pub(in super::super) fn is_ctranslate2(path: &Path) -> bool {
    let starts_with = |path: &Path, bytes: &[u8]| {
        let mut start = Vec::new();
        let file = regular_file::open(path).map(|file| file.take(bytes.len() as u64));
        file.is_ok_and(|mut file| file.read_to_end(&mut start).is_ok() && start == bytes)
    };
    let is_model = |path: &Path| {
        let is_named = path.file_name().is_some_and(|name| name == MODEL);
        is_named && path.is_file() && !starts_with(path, &MARIAN)
    };
    let in_folder = [path.join(MODEL), path.join("model").join(MODEL)];
    let is_package = || path.extension().is_none_or(|it| it != "npz") && starts_with(path, ZIP);
    is_model(path) || in_folder.iter().any(|path| is_model(path)) || is_package()
}

impl Package {
    pub(super) fn open(path: &Path) -> Result<Self, MarianError> {
        let is_archive = path.is_file() && path.file_name().is_none_or(|name| name != MODEL);
        let folder = match path.is_file() && !is_archive {
            true => path.parent().unwrap_or(path),
            false => path,
        };
        let mut package = Self {
            path: folder.to_owned(),
            archive: None,
            folder: String::new(),
            model: "",
            max_bytes: u64::MAX,
        };
        if is_archive {
            let read = |source| MarianError::Read {
                path: path.to_owned(),
                source,
            };
            let file = regular_file::open(path).map_err(read)?;
            let n_bytes = file.metadata().map_err(read)?.len();
            package.max_bytes = max_expanded(n_bytes);
            let archive = ZipArchive::new(file).map_err(|error| package.damaged(&error))?;
            let folders = archive.file_names().filter_map(|name| {
                let name = name.ok()?;
                let folder = name.strip_suffix(METADATA)?.strip_suffix('/')?;
                (!["", "..", "."].contains(&folder) && !folder.contains('/'))
                    .then(|| format!("{folder}/"))
            });
            let folders: Vec<String> = folders.collect();
            let [folder] = &folders[..] else {
                let n_folders = folders.len();
                let fault =
                    format_args!("it has {n_folders} folders with a metadata.json, and not one");
                return Err(package.refuse("", damaged(fault)));
            };
            package.folder.clone_from(folder);
            package.archive = Some(RefCell::new(archive));
        }
        if is_archive || !folder.join(MODEL).exists() {
            package.model = "model/";
        }
        Ok(package)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.path.join(format!("{}{name}", self.folder))
    }

    /// Returns the error with the path of a file; of the package, if the name is empty.
    pub(super) fn refuse(&self, name: &str, source: CTranslate2Error) -> MarianError {
        let path = match name {
            "" => self.path.clone(),
            name => self.path(name),
        };
        MarianError::CTranslate2 { path, source }
    }

    /// Returns the name of one of the model's own files.
    pub(super) fn of_model(&self, name: &str) -> String {
        format!("{}{name}", self.model)
    }

    pub(super) fn read(&self, name: &str, max_bytes: u64) -> Result<Option<Vec<u8>>, MarianError> {
        let path = self.path(name);
        let Some(archive) = &self.archive else {
            return found(&path, regular_file::read(&path, max_bytes));
        };
        self.read_entry(archive, name, max_bytes, |entry| {
            let mut content = Vec::new();
            let read = entry.read_to_end(&mut content);
            read.map(|_| content)
                .map_err(|source| MarianError::Read { path, source })
        })
    }

    /// Reads a file in parts, whatever its size. Returns `None` if it does not exist.
    pub(super) fn read_with<T>(
        &self,
        name: &str,
        read: impl FnOnce(&mut dyn Read) -> Result<T, MarianError>,
    ) -> Result<Option<T>, MarianError> {
        if let Some(archive) = &self.archive {
            return self.read_entry(archive, name, u64::MAX, read);
        }
        let path = self.path(name);
        let file = found(&path, regular_file::open(&path))?;
        file.map(|file| read(&mut BufReader::new(file))).transpose()
    }

    fn read_entry<T>(
        &self,
        archive: &RefCell<ZipArchive<File>>,
        name: &str,
        max_bytes: u64,
        read: impl FnOnce(&mut dyn Read) -> Result<T, MarianError>,
    ) -> Result<Option<T>, MarianError> {
        let mut archive = archive.borrow_mut();
        let entry = match archive.by_name(&format!("{}{name}", self.folder)) {
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(self.damaged(&error)),
            Ok(entry) => entry,
        };
        let max_bytes = max_bytes.min(self.max_bytes);
        let is_too_large = entry.size() > max_bytes;
        let mut start = entry.take(max_bytes.saturating_add(1));
        let content = (!is_too_large).then(|| read(&mut start));
        // The declared size may be wrong.
        match content.filter(|_| start.limit() > 0) {
            Some(content) => content.map(Some),
            None => {
                let fault = format_args!("`{name}` in it expands to more than {max_bytes} bytes");
                Err(self.refuse("", damaged(fault)))
            }
        }
    }

    pub(super) fn read_json<T: DeserializeOwned>(
        &self,
        name: &str,
        max_bytes: u64,
    ) -> Result<Option<T>, MarianError> {
        let Some(content) = self.read(name, max_bytes)? else {
            return Ok(None);
        };
        let value = json::from_slice(&content);
        value.map(Some).map_err(|source| MarianError::Json {
            path: self.path(name),
            source,
        })
    }

    /// Returns the languages of an Argos package, after checking that it translates; `None` for other models.
    pub(super) fn argos_languages(&self) -> Result<Option<Languages>, MarianError> {
        // Other models may have such a file beside `model.bin`.
        if self.model.is_empty() {
            return Ok(None);
        }
        let Some(metadata) = self.read_json::<Metadata>(METADATA, MAX_JSON_BYTES)? else {
            return Ok(None);
        };
        let settings = [
            ("type", metadata.r#type, "translate", "`translate`"),
            ("target_prefix", metadata.target_prefix, "", "an empty one"),
        ];
        for (key, value, allowed, expected) in settings {
            if let Some(value) = value.filter(|value| value != allowed) {
                let refusal = CTranslate2Error::setting(key, &format!("`{value}`"), expected);
                return Err(self.refuse(METADATA, refusal));
            }
        }
        let code = |code: Option<String>| code?.parse().ok();
        Ok(Some(Languages {
            src: code(metadata.from_code),
            tgt: code(metadata.to_code),
        }))
    }

    fn damaged(&self, error: &ZipError) -> MarianError {
        self.refuse("", damaged(format_args!("{error}")))
    }
}

/// Returns the content of the file at this path, or `None` if it does not exist.
fn found<T>(path: &Path, content: io::Result<T>) -> Result<Option<T>, MarianError> {
    match content {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(MarianError::Read {
            path: path.to_owned(),
            source,
        }),
        Ok(content) => Ok(Some(content)),
    }
}
