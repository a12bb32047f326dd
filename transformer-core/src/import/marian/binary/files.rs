//! [`Files`]: the files of a model.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::BinaryError;
use super::settings::Yaml;
use crate::directory::{Languages, ModelFiles};
use crate::import::MarianError;
use crate::import::marian::settings;
use crate::json;
use crate::regular_file::{MAX_JSON_BYTES, MAX_SETTINGS_BYTES};
use crate::text::LanguageCode;

const MODEL: [&str; 2] = ["model", ".bin"];
const NPZ: [&str; 2] = ["", ".npz"];
const DECODER: &str = "decoder.yml";
const METADATA: &str = "metadata.json";

pub(super) struct Files {
    folder: ModelFiles,
    pub(super) model: String,
    /// A SentencePiece model, or a vocabulary in YAML.
    pub(super) src_vocabulary: String,
    /// `None` if the source's is of both sides.
    pub(super) tgt_vocabulary: Option<String>,
    pub(super) shortlist: Option<String>,
    pub(super) search: Option<String>,
}

/// Returns whether a path is a file, or a folder with a model in one of Marian's own formats and without one of
/// Transformers.
pub(in super::super) fn is_binary(path: &Path) -> bool {
    let folder = ModelFiles::from(path);
    let has = |pattern| names(&folder, pattern).is_ok_and(|names| !names.is_empty());
    let has_model = || has(MODEL) || has(NPZ);
    path.is_file() || !folder.has("config.json") && has_model()
}

impl Files {
    /// Finds the files of a model, given its folder or the file of its weights.
    pub(super) fn find(files: &ModelFiles) -> Result<Self, MarianError> {
        let (folder, model) = match files {
            ModelFiles::Path(path) if path.is_file() => {
                let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
                let name = path.file_name().unwrap_or_default();
                let name = name.to_string_lossy().into_owned();
                (folder.unwrap_or(Path::new(".")).into(), Some(name))
            }
            folder => (folder.clone(), model_in(folder)?),
        };
        let model = model.ok_or_else(|| MarianError::Missing {
            path: folder.path().join("model.*.bin"),
        })?;
        let pair = pair(&model);
        let other = |pattern| find(&folder, pattern, pair.as_deref());
        let missing = |pattern| MarianError::Binary {
            path: folder.path().to_owned(),
            source: BinaryError::NoFile {
                pattern,
                model: folder.path().join(&model),
            },
        };
        let is_npz = model.ends_with(NPZ[1]);
        let (listed, in_yaml) = match is_npz {
            true => (listed(&folder, "vocabs")?, other(["", "vocab.yml"])?),
            false => (Vec::new(), None),
        };
        let joint = match in_yaml {
            None => other(["vocab.", ".spm"])?,
            found => found,
        };
        let (src_vocabulary, tgt_vocabulary) = match (&listed[..], joint) {
            ([src, tgt], _) => (src.clone(), Some(tgt.clone()).filter(|tgt| tgt != src)),
            (_, Some(joint)) => (joint, None),
            _ => match (other(["srcvocab.", ".spm"])?, other(["trgvocab.", ".spm"])?) {
                (Some(src), Some(tgt)) => (src, Some(tgt)),
                (Some(_), None) => return Err(missing("trgvocab.*.spm")),
                (None, _) => return Err(missing("vocab.*.spm")),
            },
        };
        let search = match is_npz && folder.has(DECODER) {
            true => Some(DECODER.to_owned()),
            false => other(["config.", ".yml"])?,
        };
        Ok(Self {
            src_vocabulary,
            tgt_vocabulary,
            shortlist: other(["lex.", ".bin"])?,
            search,
            model,
            folder,
        })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn read(&self, name: &str, max_bytes: u64) -> Result<Cow<'_, [u8]>, MarianError> {
        let content = self.folder.read(name, max_bytes);
        content.map_err(|source| MarianError::Read {
            path: self.path(name),
            source,
        })
    }

    pub(super) fn take(&self, name: &str) -> Result<Cow<'_, [u8]>, MarianError> {
        match self.folder.take(name) {
            Some(file) => Ok(Cow::Owned(file.content)),
            None => self.read(name, u64::MAX),
        }
    }

    pub(super) fn names(&self) -> Vec<String> {
        let all = [
            Some(&self.model),
            Some(&self.src_vocabulary),
            self.tgt_vocabulary.as_ref(),
            self.shortlist.as_ref(),
            self.search.as_ref(),
        ];
        all.into_iter().flatten().cloned().collect()
    }

    /// Returns the languages in `metadata.json`, or else in a name such as `model.ende.intgemm.alphas.bin`; of an `.npz`
    /// file, those in the name of the folder, such as `opus-mt-en-de`.
    pub(super) fn languages(&self) -> Result<Languages, MarianError> {
        if self.folder.has(METADATA) {
            let json = json::parse(&self.read(METADATA, MAX_JSON_BYTES)?);
            let json = json.map_err(|source| MarianError::Json {
                path: self.path(METADATA),
                source,
            })?;
            let code = |key: &str| json[key].as_str()?.parse().ok();
            let (src, tgt) = (code("sourceLanguage"), code("targetLanguage"));
            return Ok(Languages { src, tgt });
        }
        if let (true, ModelFiles::Path(folder)) = (self.model.ends_with(NPZ[1]), &self.folder) {
            return settings::languages(folder);
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

/// Returns the name of the weights in a folder: that of `decoder.yml`, or the only one.
fn model_in(folder: &ModelFiles) -> Result<Option<String>, MarianError> {
    let mut listed = listed(folder, "models")?;
    listed.retain(|name| name.ends_with(NPZ[1]));
    match &listed[..] {
        [] => match find(folder, MODEL, None)? {
            None => find(folder, NPZ, None),
            model => Ok(model),
        },
        names => one_of(folder, names),
    }
}

/// Returns `ende` of `model.ende.intgemm.alphas.bin`.
fn pair(model: &str) -> Option<String> {
    let pair = model.split('.').nth(1)?;
    let is_pair = pair.len() == 4 && pair.bytes().all(|byte| byte.is_ascii_lowercase());
    is_pair.then(|| pair.to_owned())
}

/// Finds the file with a name of this start and end. Of several, it is the one with the languages in its name.
fn find(
    folder: &ModelFiles,
    pattern: [&str; 2],
    pair: Option<&str>,
) -> Result<Option<String>, MarianError> {
    let mut names = names(folder, pattern)?;
    if let (Some(pair), true) = (pair, names.len() > 1) {
        names.retain(|name| name.split('.').nth(1) == Some(pair));
    }
    one_of(folder, &names)
}

/// Returns the only name, or `None` if there is none.
fn one_of(folder: &ModelFiles, names: &[String]) -> Result<Option<String>, MarianError> {
    match names {
        [first, second, ..] => Err(MarianError::Binary {
            path: folder.path().to_owned(),
            source: BinaryError::Several {
                first: first.clone(),
                second: second.clone(),
            },
        }),
        names => Ok(names.first().cloned()),
    }
}

/// Returns the names of files in a list of `decoder.yml`, without their folders; an empty list without
/// that file.
fn listed(folder: &ModelFiles, key: &str) -> Result<Vec<String>, MarianError> {
    if !folder.has(DECODER) {
        return Ok(Vec::new());
    }
    let path = || folder.path().join(DECODER);
    let text = folder.read(DECODER, MAX_SETTINGS_BYTES);
    let text = text.map_err(|source| MarianError::Read {
        path: path(),
        source,
    })?;
    let yaml = Yaml::parse(&String::from_utf8_lossy(&text));
    let yaml = yaml.map_err(|source| MarianError::Binary {
        path: path(),
        source,
    })?;
    let list = yaml.get(key).unwrap_or_default();
    let names = list.trim_matches(['[', ']']).split(',');
    let names = names.filter_map(|path| path.trim().rsplit('/').next());
    Ok(names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect())
}

/// Returns the names with this start and end, in alphabetical order.
fn names(folder: &ModelFiles, [start, end]: [&str; 2]) -> Result<Vec<String>, MarianError> {
    let names = folder.names().map_err(|source| MarianError::Read {
        path: folder.path().to_owned(),
        source,
    })?;
    let fits = |name: &String| name.starts_with(start) && name.ends_with(end);
    Ok(names.into_iter().filter(fits).collect())
}
