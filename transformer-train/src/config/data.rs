//! `[data]`: what to train on.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config::{ConfigError, optional};
use crate::corpus::{Copies, CorpusSource, Duplicates, Empty, Filter, OverLong};
use crate::tasks::Task;

/// Says where the data is, and which of it is trained on.
///
/// One of `task`, `src` with `tgt`, and `tsv` must be given. Files may be plain or gzip, and one of
/// them `-`; relative paths start at the working directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataSettings {
    /// A built-in task. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<Task>,
    /// The source lines to train on. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src: Option<PathBuf>,
    /// The target lines to train on, as many. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tgt: Option<PathBuf>,
    /// Lines of source, tab, target to train on. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tsv: Option<PathBuf>,
    /// The source lines to validate on. Default: none, and pairs are held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_src: Option<PathBuf>,
    /// The target lines to validate on, as many. Default: none, and pairs are held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_tgt: Option<PathBuf>,
    /// Lines of source, tab, target to validate on. Default: none, and pairs are held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_tsv: Option<PathBuf>,
    /// Longest source and longest target, in tokens without `BOS` and `EOS`. Default 256: of ordinary
    /// sentences fewer than one in a thousand is longer (not in the paper).
    pub max_len: usize,
    /// What happens to a pair with a longer side: `drop` or `cut`. Default: `drop`.
    pub over_long: OverLong,
    /// Largest ratio of the longer to the shorter side of a pair, in tokens; pairs beyond it are left out.
    /// Validation pairs are not. Default: none. Translations are seldom beyond 3.
    #[serde(with = "optional")]
    pub max_ratio: Option<f64>,
    /// What happens to a pair with an empty or blank side: `drop` or `refuse`, which ends the run and names the lines.
    /// Default: `drop`.
    pub empty: Empty,
    /// What happens to a pair that came before: `keep` or `drop`. Default: `keep`.
    pub duplicates: Duplicates,
    /// What happens to a pair to train on whose target is its source: `keep` or `drop`. Default: `keep`.
    pub copies: Copies,
    /// Number of pairs, drawn from all, that the tokenizers are trained on. Default 1,000,000.
    pub tokenizer_sample: usize,
    /// Number of validation pairs that are made for a task, or held out of a corpus that comes
    /// without (a tenth of it at most). Default 1000.
    pub valid_pairs: usize,
    /// Number of training pairs that are made for a task. Default 100,000. Not read otherwise.
    pub task_pairs: usize,
    /// Where the tokens of the text to train on are held: `memory`, `disk`, or `auto`, which is on disk for text of
    /// 2 GiB or more (packed files count three times). A store on disk is made once, and known again by path, size
    /// and time of the files. Default: `auto`.
    pub store: Store,
    /// Folder for token stores on disk, which several runs may share. Default: `store` in the run's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store_folder: Option<PathBuf>,
    /// Several corpora to train on, instead of one: `[[data.corpora]]` with `src` and `tgt`, or `tsv`, and
    /// `weight`, which says how often each of its pairs comes in a pass, on average (default 1). Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub corpora: Vec<CorpusSettings>,
}

/// Names one of several corpora: two files or one, and a weight.
///
/// The share of a corpus of `n` pairs in what is trained on is `weight·n` over the sum of that for all. To
/// sample by a temperature `T`, as multilingual models do, give each `weight = (n/N)^(1/T − 1)`, where `N` is the
/// number of all pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CorpusSettings {
    /// The source lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src: Option<PathBuf>,
    /// The target lines, as many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tgt: Option<PathBuf>,
    /// Lines of source, tab, target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tsv: Option<PathBuf>,
    /// How often each pair comes in a pass, on average. Default 1.
    pub weight: f64,
}

impl Default for CorpusSettings {
    fn default() -> Self {
        Self {
            src: None,
            tgt: None,
            tsv: None,
            weight: 1.0,
        }
    }
}

/// Says where the tokens of a corpus are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Store {
    /// On disk when the text is large.
    #[default]
    Auto,
    /// In memory.
    Memory,
    /// On disk, but for what comes from standard input.
    Disk,
}

/// Says where training and validation pairs come from, once the settings are seen to agree.
#[derive(Clone, Debug, PartialEq)]
pub enum DataSource {
    /// A built-in task makes them.
    Task(Task),
    /// Files have them.
    Corpus {
        /// The corpora to train on, each with how often its pairs come in a pass.
        train: Vec<(CorpusSource, f64)>,
        /// The pairs to validate on; without, some are held out.
        valid: Option<CorpusSource>,
    },
}

impl Default for DataSettings {
    fn default() -> Self {
        Self {
            task: None,
            src: None,
            tgt: None,
            tsv: None,
            valid_src: None,
            valid_tgt: None,
            valid_tsv: None,
            max_len: 256,
            over_long: OverLong::Drop,
            max_ratio: None,
            empty: Empty::Drop,
            duplicates: Duplicates::Keep,
            copies: Copies::Keep,
            tokenizer_sample: 1_000_000,
            valid_pairs: 1000,
            task_pairs: 100_000,
            store: Store::Auto,
            store_folder: None,
            corpora: Vec::new(),
        }
    }
}

impl DataSettings {
    /// Returns the data of a built-in task: 100,000 pairs to train on, 500 to validate on.
    pub fn for_task(task: Task) -> Self {
        Self {
            task: Some(task),
            max_len: 64,
            valid_pairs: 500,
            ..Self::default()
        }
    }

    /// Returns which pairs of a corpus are trained on.
    pub fn filter(&self) -> Filter {
        Filter {
            max_len: self.max_len,
            over_long: self.over_long,
            max_ratio: self.max_ratio,
            empty: self.empty,
            duplicates: self.duplicates,
            copies: self.copies,
        }
    }

    /// Returns where the pairs come from.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] when there is no data, when there is data of two kinds, when one of
    /// two files is missing, or when two files are standard input.
    pub fn source(&self) -> Result<DataSource, ConfigError> {
        let files = [
            &self.src,
            &self.tgt,
            &self.tsv,
            &self.valid_src,
            &self.valid_tgt,
            &self.valid_tsv,
        ];
        let of_corpora = |it: &CorpusSettings| [it.src.clone(), it.tgt.clone(), it.tsv.clone()];
        let of_corpora = self.corpora.iter().flat_map(of_corpora);
        let files = files.into_iter().cloned().chain(of_corpora);
        let is_stdin = |path: &Option<PathBuf>| path.as_deref().is_some_and(|path| path == "-");
        if files.filter(is_stdin).count() > 1 {
            return Err(ConfigError::StandardInputTwice);
        }
        let one = corpus([("src", &self.src), ("tgt", &self.tgt), ("tsv", &self.tsv)])?;
        let train = match (one, self.several()?) {
            (Some(one), None) => Some(vec![(one, 1.0)]),
            (None, several) => several,
            (Some(_), Some(_)) => {
                return Err(ConfigError::Conflict {
                    first: "corpora",
                    second: self.file_key(),
                });
            }
        };
        let valid_files = [
            ("valid_src", &self.valid_src),
            ("valid_tgt", &self.valid_tgt),
            ("valid_tsv", &self.valid_tsv),
        ];
        let valid = corpus(valid_files)?;
        match (self.task, train, valid) {
            (Some(task), None, None) => Ok(DataSource::Task(task)),
            (None, Some(train), valid) => Ok(DataSource::Corpus { train, valid }),
            (Some(_), ..) => Err(ConfigError::Conflict {
                first: "task",
                second: self.file_key(),
            }),
            (None, None, _) => Err(ConfigError::NoData),
        }
    }
}

impl DataSettings {
    /// Returns the corpora of `corpora`, if there are any.
    fn several(&self) -> Result<Option<Vec<(CorpusSource, f64)>>, ConfigError> {
        let mut several = Vec::new();
        for it in &self.corpora {
            let files = [("src", &it.src), ("tgt", &it.tgt), ("tsv", &it.tsv)];
            let source = corpus(files)?.ok_or(ConfigError::NoFilesInCorpus)?;
            if !(it.weight.is_finite() && it.weight > 0.0) {
                return Err(ConfigError::OutOfRange {
                    key: "data.corpora.weight",
                    value: it.weight.to_string(),
                    allowed: "a number greater than 0",
                });
            }
            several.push((source, it.weight));
        }
        Ok(Some(several).filter(|several| !several.is_empty()))
    }

    /// Returns the key of the first file given.
    fn file_key(&self) -> &'static str {
        if !self.corpora.is_empty() && self.src.is_none() && self.tsv.is_none() {
            return "corpora";
        }
        let files = [
            ("src", &self.src),
            ("tsv", &self.tsv),
            ("valid_src", &self.valid_src),
            ("valid_tsv", &self.valid_tsv),
        ];
        files
            .into_iter()
            .find(|(_, path)| path.is_some())
            .map_or("valid_tgt", |(key, _)| key)
    }
}

/// Puts together the two files, or the one, that a corpus is made from.
fn corpus(
    [(src_key, src), (tgt_key, tgt), (tsv_key, tsv)]: [(&'static str, &Option<PathBuf>); 3],
) -> Result<Option<CorpusSource>, ConfigError> {
    match (src.clone(), tgt.clone(), tsv.clone()) {
        (None, None, None) => Ok(None),
        (Some(src), Some(tgt), None) => Ok(Some(CorpusSource::Files { src, tgt })),
        (None, None, Some(path)) => Ok(Some(CorpusSource::Tsv { path })),
        (Some(_), _, Some(_)) => Err(ConfigError::Conflict {
            first: src_key,
            second: tsv_key,
        }),
        (None, Some(_), Some(_)) => Err(ConfigError::Conflict {
            first: tgt_key,
            second: tsv_key,
        }),
        (Some(_), None, None) => Err(ConfigError::HalfPair {
            given: src_key,
            missing: tgt_key,
        }),
        (None, Some(_), None) => Err(ConfigError::HalfPair {
            given: tgt_key,
            missing: src_key,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(src: Option<&str>, tgt: Option<&str>) -> DataSettings {
        DataSettings {
            src: src.map(PathBuf::from),
            tgt: tgt.map(PathBuf::from),
            ..DataSettings::default()
        }
    }

    fn message(data: &DataSettings) -> String {
        data.source()
            .expect_err("the settings do not agree")
            .to_string()
    }

    #[test]
    fn no_data_is_an_error() {
        assert_eq!(
            message(&DataSettings::default()),
            "there is nothing to train on; give `task`, `src` and `tgt`, or `tsv` in [data]"
        );
    }

    #[test]
    fn validation_files_alone_are_no_data() {
        let data = DataSettings {
            valid_tsv: Some("v".into()),
            ..DataSettings::default()
        };
        assert_eq!(data.source(), Err(ConfigError::NoData));
    }

    #[test]
    fn a_source_without_target_is_an_error() {
        assert_eq!(
            message(&files(Some("a"), None)),
            "`src` is given without `tgt`; give both"
        );
    }

    #[test]
    fn a_task_and_files_are_an_error() {
        let data = DataSettings {
            task: Some(Task::Copy),
            ..files(Some("a"), Some("b"))
        };
        assert_eq!(
            message(&data),
            "`task` and `src` are both given; remove one of them"
        );
    }

    #[test]
    fn standard_input_serves_one_file() {
        let data = DataSettings {
            valid_tsv: Some("-".into()),
            ..files(Some("a"), Some("-"))
        };
        assert_eq!(data.source(), Err(ConfigError::StandardInputTwice));
    }

    #[test]
    fn two_files_are_a_corpus() {
        let train = CorpusSource::Files {
            src: "a".into(),
            tgt: "b".into(),
        };
        let source = files(Some("a"), Some("b")).source();
        let train = vec![(train, 1.0)];
        assert_eq!(source, Ok(DataSource::Corpus { train, valid: None }));
    }

    fn several(text: &str) -> DataSettings {
        toml::from_str(text).expect("the text is right")
    }

    #[test]
    fn several_corpora_have_weights() {
        let data = several("corpora = [{ src = 'a', tgt = 'b', weight = 2.5 }, { tsv = 'c' }]");
        let two = CorpusSource::Files {
            src: "a".into(),
            tgt: "b".into(),
        };
        let one = CorpusSource::Tsv { path: "c".into() };
        let train = vec![(two, 2.5), (one, 1.0)];
        assert_eq!(data.source(), Ok(DataSource::Corpus { train, valid: None }));
    }

    #[test]
    fn one_corpus_and_several_are_an_error() {
        let data = several("src = 'a'\ntgt = 'b'\ncorpora = [{ tsv = 'c' }]");
        let expected = "`corpora` and `src` are both given; remove one of them";
        assert_eq!(message(&data), expected);
    }

    #[test]
    fn a_task_and_corpora_are_an_error() {
        let data = several("task = 'copy'\ncorpora = [{ tsv = 'c' }]");
        let expected = "`task` and `corpora` are both given; remove one of them";
        assert_eq!(message(&data), expected);
    }

    #[test]
    fn a_corpus_without_files_is_an_error() {
        let expected = "one of `data.corpora` names no file; give `src` and `tgt`, or `tsv`";
        assert_eq!(message(&several("corpora = [{ weight = 2.0 }]")), expected);
    }

    #[test]
    fn a_weight_of_nothing_is_an_error() {
        let data = several("corpora = [{ tsv = 'c', weight = 0.0 }]");
        let expected = "`data.corpora.weight` is 0; choose a number greater than 0";
        assert_eq!(message(&data), expected);
    }
}
