//! `[[data.corpora]]`: several training corpora, with their tags, weights and validation pairs.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transformer_core::text::TokenizerConfig;

use crate::config::{ConfigError, range};

/// One of several training corpora: its files, tags and weight.
///
/// A corpus of `n` pairs makes up `weight·n` of the training data, divided by the sum of this over
/// all corpora; `data.sampling_temperature` can make small corpora more frequent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CorpusSettings {
    /// File with the source side.
    pub src: Option<PathBuf>,
    /// File with the target side: line n translates line n of `src`.
    pub tgt: Option<PathBuf>,
    /// File with both sides, instead of `src` and `tgt`: source, tab and target on each line.
    pub tsv: Option<PathBuf>,
    /// Symbol that is put in front of each source, for example `<2de>`. It is one token: see
    /// `tokenizer.user_symbols`. Default: none.
    pub tag: Option<String>,
    /// Symbol that is put in front of each target; translations begin with it (`--prefix`). Default: none.
    pub target_tag: Option<String>,
    /// Average number of times that each pair occurs in a pass over the data. Default 1.
    pub weight: f64,
    /// File with the source side of validation pairs of this corpus, which get its tags. Default: none.
    pub valid_src: Option<PathBuf>,
    /// File with the target side of these validation pairs.
    pub valid_tgt: Option<PathBuf>,
    /// File with both sides of these validation pairs, instead of `valid_src` and `valid_tgt`.
    pub valid_tsv: Option<PathBuf>,
}

/// The files of a parallel corpus.
///
/// Each is plain text or gzip, recognized by its content, or `-` for standard input (at most one).
/// Text is UTF-8. Lines end at `\n`; one `\r` before it is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CorpusSource {
    /// Two files with the same number of lines.
    Files {
        /// The source side.
        src: PathBuf,
        /// The target side.
        tgt: PathBuf,
    },
    /// One file, with source, tab and target on each line.
    Tsv {
        /// The file.
        path: PathBuf,
    },
}

/// The symbols in front of each line of a corpus that is not blank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tags {
    /// In front of the source.
    pub src: Option<String>,
    /// In front of the target.
    pub tgt: Option<String>,
}

/// A corpus and its tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaggedCorpus {
    /// The files.
    pub source: CorpusSource,
    /// The tags.
    pub tags: Tags,
}

/// The source of the validation pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValidationSource {
    /// They are held out of the training data.
    HeldOut,
    /// One corpus, as it is in its files.
    Files(CorpusSource),
    /// Pairs of several training corpora, which are scored apart. Each has the number of its training corpus, from 1.
    OfCorpora(Vec<(usize, TaggedCorpus)>),
}

impl Default for CorpusSettings {
    fn default() -> Self {
        Self {
            src: None,
            tgt: None,
            tsv: None,
            tag: None,
            target_tag: None,
            weight: 1.0,
            valid_src: None,
            valid_tgt: None,
            valid_tsv: None,
        }
    }
}

/// The keys of the files of a corpus and of its validation pairs.
pub(crate) const FILE_KEYS: [&str; 6] =
    ["src", "tgt", "tsv", "valid_src", "valid_tgt", "valid_tsv"];

impl CorpusSettings {
    pub(super) fn paths(&self) -> [(&'static str, &Option<PathBuf>); 6] {
        [
            ("src", &self.src),
            ("tgt", &self.tgt),
            ("tsv", &self.tsv),
            ("valid_src", &self.valid_src),
            ("valid_tgt", &self.valid_tgt),
            ("valid_tsv", &self.valid_tsv),
        ]
    }

    pub(super) fn check_paths(&self) -> Result<(), ConfigError> {
        for (key, path) in self.paths() {
            let is_path = path.as_ref().is_none_or(|it| !it.as_os_str().is_empty());
            range::require((key, "empty"), is_path, "the path of a file")?;
        }
        Ok(())
    }

    pub(super) fn files(&self) -> impl Iterator<Item = PathBuf> {
        let files = self.paths().into_iter();
        files.filter_map(|(_, path)| path.clone())
    }

    /// Returns the tags.
    pub fn tags(&self) -> Tags {
        Tags {
            src: self.tag.clone(),
            tgt: self.target_tag.clone(),
        }
    }

    pub(super) fn train(&self) -> Result<(TaggedCorpus, f64), ConfigError> {
        let [src, tgt, tsv, ..] = self.paths();
        let source = corpus([src, tgt, tsv])?.ok_or(ConfigError::NoFilesInCorpus)?;
        range::positive(("weight", self.weight))?;
        let allowed = "at most a million";
        let is_allowed = self.weight <= 1e6;
        range::require(("weight", self.weight), is_allowed, allowed)?;
        let tags = self.tags();
        for (key, tag) in [("tag", &tags.src), ("target_tag", &tags.tgt)] {
            let symbols = TokenizerConfig {
                user_symbols: tag.iter().cloned().collect(),
                ..TokenizerConfig::default()
            };
            let checked = symbols.check_user_symbols();
            checked.map_err(|source| ConfigError::Tag { key, source })?;
        }
        Ok((TaggedCorpus { source, tags }, self.weight))
    }

    pub(super) fn valid(&self) -> Result<Option<TaggedCorpus>, ConfigError> {
        let [_, _, _, files @ ..] = self.paths();
        let tags = self.tags();
        Ok(corpus(files)?.map(|source| TaggedCorpus { source, tags }))
    }
}

/// Returns the files of a corpus: two of one side each, or one with both sides.
pub(super) fn corpus(
    [(src_key, src), (tgt_key, tgt), (tsv_key, tsv)]: [(&'static str, &Option<PathBuf>); 3],
) -> Result<Option<CorpusSource>, ConfigError> {
    match (src.clone(), tgt.clone(), tsv.clone()) {
        (None, None, None) => Ok(None),
        (Some(src), Some(tgt), None) => Ok(Some(CorpusSource::Files { src, tgt })),
        (None, None, Some(path)) => Ok(Some(CorpusSource::Tsv { path })),
        (Some(_), _, Some(_)) => Err(ConfigError::conflict(src_key, tsv_key)),
        (None, Some(_), Some(_)) => Err(ConfigError::conflict(tgt_key, tsv_key)),
        (Some(_), None, None) => Err(ConfigError::missing(tgt_key, src_key)),
        (None, Some(_), None) => Err(ConfigError::missing(src_key, tgt_key)),
    }
}
