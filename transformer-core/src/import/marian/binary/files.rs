//! [`Files`]: the files of a model.

use std::fs;
use std::path::{Path, PathBuf};

use super::BinaryError;
use crate::directory::Languages;
use crate::import::MarianError;
use crate::json;
use crate::regular_file::{self, MAX_JSON_BYTES};
use crate::text::LanguageCode;

const MODEL: [&str; 2] = ["model", ".bin"];
const METADATA: &str = "metadata.json";

/// The files of a model.
pub(super) struct Files {
    pub(super) model: PathBuf,
    pub(super) src_vocabulary: PathBuf,
    /// `None` if the source's is of both sides.
    pub(super) tgt_vocabulary: Option<PathBuf>,
    pub(super) shortlist: Option<PathBuf>,
    /// Settings of search.
    pub(super) search: Option<PathBuf>,
}

/// Returns whether a path is a file, or a folder with a model in Marian's binary format and without one of
/// Transformers.
pub(in super::super) fn is_binary(path: &Path) -> bool {
    let has_model = || names(path, MODEL).is_ok_and(|names| !names.is_empty());
    path.is_file() || !path.join("config.json").exists() && has_model()
}

impl Files {
    /// Finds the files of a model, given its folder or its binary file.
    pub(super) fn find(path: &Path) -> Result<Self, MarianError> {
        let (folder, model) = match path.is_file() {
            true => (path.parent().unwrap_or(path), Some(path.to_owned())),
            false => (path, find(path, MODEL, None)?),
        };
        let folder = match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        };
        let model = model.ok_or_else(|| MarianError::Missing {
            path: folder.join("model.*.bin"),
        })?;
        let pair = pair(&model);
        let other = |pattern| find(folder, pattern, pair.as_deref());
        let missing = |pattern| MarianError::Binary {
            path: folder.to_owned(),
            source: BinaryError::NoFile {
                pattern,
                model: model.clone(),
            },
        };
        let (src_vocabulary, tgt_vocabulary) = match other(["vocab.", ".spm"])? {
            Some(joint) => (joint, None),
            None => match (other(["srcvocab.", ".spm"])?, other(["trgvocab.", ".spm"])?) {
                (Some(src), Some(tgt)) => (src, Some(tgt)),
                (Some(_), None) => return Err(missing("trgvocab.*.spm")),
                (None, _) => return Err(missing("vocab.*.spm")),
            },
        };
        Ok(Self {
            src_vocabulary,
            tgt_vocabulary,
            shortlist: other(["lex.", ".bin"])?,
            search: other(["config.", ".yml"])?,
            model,
        })
    }

    /// Returns the names of the files.
    pub(super) fn names(&self) -> Vec<String> {
        let Self {
            model,
            src_vocabulary,
            tgt_vocabulary,
            shortlist,
            search,
        } = self;
        let all = [
            Some(model),
            Some(src_vocabulary),
            tgt_vocabulary.as_ref(),
            shortlist.as_ref(),
            search.as_ref(),
        ];
        all.into_iter()
            .flatten()
            .map(|path| file_name(path))
            .collect()
    }

    /// Returns the languages in `metadata.json`, or else in a name such as `model.ende.intgemm.alphas.bin`.
    pub(super) fn languages(&self) -> Result<Languages, MarianError> {
        let path = self.model.with_file_name(METADATA);
        if path.exists() {
            let text = read(&path, MAX_JSON_BYTES)?;
            let json = json::parse(&text);
            let json = json.map_err(|source| MarianError::Json { path, source })?;
            let code = |key: &str| json[key].as_str()?.parse().ok();
            let (src, tgt) = (code("sourceLanguage"), code("targetLanguage"));
            return Ok(Languages { src, tgt });
        }
        let pair = pair(&self.model);
        let pair = pair.as_deref().and_then(|pair| pair.split_at_checked(2));
        let code = |code: &str| code.parse::<LanguageCode>().ok();
        Ok(Languages {
            src: pair.and_then(|(src, _)| code(src)),
            tgt: pair.and_then(|(_, tgt)| code(tgt)),
        })
    }
}

/// Returns the content of a file.
pub(super) fn read(path: &Path, max_bytes: u64) -> Result<Vec<u8>, MarianError> {
    regular_file::read(path, max_bytes).map_err(|source| MarianError::Read {
        path: path.to_owned(),
        source,
    })
}

/// Returns `ende` of `model.ende.intgemm.alphas.bin`.
fn pair(model: &Path) -> Option<String> {
    let name = file_name(model);
    let pair = name.split('.').nth(1)?;
    let is_pair = pair.len() == 4 && pair.bytes().all(|byte| byte.is_ascii_lowercase());
    is_pair.then(|| pair.to_owned())
}

/// Finds the file with a name of this start and end. Of several, it is the one with the languages in its name.
fn find(
    folder: &Path,
    pattern: [&str; 2],
    pair: Option<&str>,
) -> Result<Option<PathBuf>, MarianError> {
    let mut names = names(folder, pattern)?;
    if let (Some(pair), true) = (pair, names.len() > 1) {
        names.retain(|name| name.split('.').nth(1) == Some(pair));
    }
    match &names[..] {
        [first, second, ..] => Err(MarianError::Binary {
            path: folder.to_owned(),
            source: BinaryError::Several {
                first: first.clone(),
                second: second.clone(),
            },
        }),
        names => Ok(names.first().map(|name| folder.join(name))),
    }
}

/// Returns the names in a folder with this start and end, in alphabetical order.
fn names(folder: &Path, [start, end]: [&str; 2]) -> Result<Vec<String>, MarianError> {
    let read = |source| MarianError::Read {
        path: folder.to_owned(),
        source,
    };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(read)? {
        let name = entry
            .map_err(read)?
            .file_name()
            .to_string_lossy()
            .into_owned();
        if name.starts_with(start) && name.ends_with(end) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
