//! `[data]`: the text to train and validate on.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transformer_core::directory::Languages;
use transformer_core::text::LanguageCode;

use crate::config::{
    ConfigError, Copies, CorpusSettings, CorpusSource, Duplicates, Empty, LineLimit, LongLines,
    OverLong, TaggedCorpus, Tags, ValidationSource, corpora::corpus, optional,
};
use crate::tasks::Task;

/// The text to train and validate on, and the filter for it.
///
/// Training data is given in exactly one of four ways: `task`, `src` with `tgt`, `tsv`, or `corpora`. Files may be
/// plain text or gzip, and one of them may be `-` for standard input. Relative paths start at the working directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DataSettings {
    /// Built-in task to train on, instead of files: `numbers`, `reverse` or `copy`. Default: none.
    pub task: Option<Task>,
    /// File with the source side of the training data, one sentence per line, plain or gzip. Default: none.
    #[serde(deserialize_with = "optional::deserialize")]
    pub src: Option<PathBuf>,
    /// File with the target side of the training data: line n translates line n of `src`. Default: none.
    #[serde(deserialize_with = "optional::deserialize")]
    pub tgt: Option<PathBuf>,
    /// File with both sides of the training data, instead of `src` and `tgt`: source, tab and
    /// target on each line. Default: none.
    #[serde(deserialize_with = "optional::deserialize")]
    pub tsv: Option<PathBuf>,
    /// File with the source side of the validation data. Default: none; `valid_pairs` pairs are
    /// held out of the training data.
    #[serde(deserialize_with = "optional::deserialize")]
    pub valid_src: Option<PathBuf>,
    /// File with the target side of the validation data. Default: none.
    #[serde(deserialize_with = "optional::deserialize")]
    pub valid_tgt: Option<PathBuf>,
    /// File with both sides of the validation data, instead of `valid_src` and `valid_tgt`: source,
    /// tab and target on each line. Default: none.
    #[serde(deserialize_with = "optional::deserialize")]
    pub valid_tsv: Option<PathBuf>,
    /// Language of the source, as a code of BCP 47 such as `en`, `pt-BR` or `zh-Hans`. It is stored with the model, and
    /// otherwise only cleaning depends on it. Default: that of the model that is trained further, or none.
    #[serde(deserialize_with = "optional::deserialize")]
    pub src_lang: Option<LanguageCode>,
    /// Language of the target, likewise. Default: that of the model that is trained further, or none.
    #[serde(deserialize_with = "optional::deserialize")]
    pub tgt_lang: Option<LanguageCode>,
    /// Maximum size of a line of text, in bytes. Default 1,048,576 (1 MiB). It bounds memory: a
    /// small gzip file can unpack to an endless line.
    pub max_line_bytes: usize,
    /// Treatment of a pair that has a line of more than `max_line_bytes` bytes: `refuse` it,
    /// which stops the run with the number of the line, or `drop` it. Default: `refuse`.
    pub long_lines: LongLines,
    /// Maximum length of the source and of the target, in tokens without `BOS` and `EOS`.
    /// Default 256 (not in the paper): fewer than one in a thousand ordinary sentences is longer.
    pub max_len: usize,
    /// Treatment of a pair that has a longer side: `drop` the pair, or `cut` the side to `max_len`. Default: `drop`.
    pub over_long: OverLong,
    /// Maximum ratio of the longer to the shorter side of a training pair, in tokens; pairs above
    /// it are dropped. Default: none. The ratio of a translation is rarely above 3.
    #[serde(with = "optional")]
    #[schemars(with = "Option<f64>")]
    pub max_ratio: Option<f64>,
    /// Treatment of a pair that has an empty or blank side: `drop` it, or `refuse` it, which
    /// stops the run with the number of the line. Default: `drop`.
    pub empty: Empty,
    /// Treatment of a training pair that occurred before: `keep` or `drop`. Default: `keep`.
    pub duplicates: Duplicates,
    /// Treatment of a training pair with equal source and target: `keep` or `drop`. Default: `keep`.
    pub copies: Copies,
    /// Leaves out training pairs that do not translate each other: with another language or script, sides of too
    /// different lengths, placeholders on one side only, numbers that contradict each other, damaged characters, a
    /// repetition, and equal sides of three words or more; and pairs that occurred before. `dropped.tsv` in the run's folder lists them with the
    /// reasons. Default: `true` if training files are named without a file of settings, otherwise `false`.
    pub clean: bool,
    /// Number of pairs that the tokenizers are trained on, sampled at random from all. Default 1,000,000.
    pub tokenizer_sample: usize,
    /// Number of validation pairs that are generated for a task, or held out of training data that
    /// has no validation files (at most a tenth of it). Default 1000.
    pub valid_pairs: usize,
    /// Number of training pairs that are generated for a task. Default 100,000. Ignored for files.
    pub task_pairs: usize,
    /// Place of the tokenized training data: `memory`, `disk`, or `auto`, which is `disk`
    /// for 2 GiB of text or more (gzip files count three times their size). A store on disk is
    /// reused as long as these stay the same: path, size, modification time and a hash of 64 MiB of
    /// each file, the filters, the tokenizers, the seed, and the number of held-out pairs. Default: `auto`.
    pub store: Store,
    /// Folder of the token stores on disk, which several runs can share. Default: `store` in the run's folder.
    #[serde(deserialize_with = "optional::deserialize")]
    pub store_folder: Option<PathBuf>,
    /// Several training corpora, instead of one. Each is a table `[[data.corpora]]` with `src` and `tgt`, or `tsv`, and
    /// `weight`: the average number of times that each of its pairs occurs in a pass over the data (default 1); with
    /// `tag` and `target_tag`, which are put in front of its sources and targets; and with `valid_src` and `valid_tgt`,
    /// or `valid_tsv`: pairs on which it is scored by itself. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub corpora: Vec<CorpusSettings>,
    /// Temperature `T` at which several corpora are mixed: a corpus of `n` pairs makes up a share of the training data
    /// in proportion to `weight·n^(1/T)` (Arivazhagan et al. 2019, who use 5). 1 is in proportion to the corpora's
    /// sizes; higher ones come closer to equal shares. Default 1.
    pub sampling_temperature: f64,
    /// Probability that a training source is written in lower case, so that the model learns to read
    /// such text; others each time. Default 0 (not in the paper).
    pub noise_lowercase: f64,
    /// Probability that a training source is written in upper case, which has more tokens: a batch that
    /// exceeds `training.tokens_per_batch` by noise is computed in parts. Default 0 (not in the paper).
    pub noise_uppercase: f64,
    /// Probability that a word of a training source, of at least four letters, has a typing error:
    /// two letters swapped, one dropped, doubled, or replaced by a neighbor on the keyboard (Belinkov
    /// and Bisk 2018). Default 0 (not in the paper).
    pub noise_typos: f64,
}

/// The place of the tokenized training data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Store {
    /// On disk if the text is large, otherwise in memory.
    #[default]
    Auto,
    /// In memory.
    Memory,
    /// On disk. Text from standard input is still stored in memory.
    Disk,
}

/// The source of training and validation pairs, after the settings have been checked.
#[derive(Clone, Debug, PartialEq)]
pub enum DataSource {
    /// A built-in task generates them.
    Task(Task),
    /// They are read from files.
    Corpus {
        /// The training corpora, each with its weight.
        train: Vec<(TaggedCorpus, f64)>,
        /// The validation pairs.
        valid: ValidationSource,
    },
}

impl Default for DataSettings {
    fn default() -> Self {
        let LineLimit {
            max_bytes,
            long_lines,
        } = LineLimit::default();
        Self {
            task: None,
            src: None,
            tgt: None,
            tsv: None,
            valid_src: None,
            valid_tgt: None,
            valid_tsv: None,
            src_lang: None,
            tgt_lang: None,
            max_line_bytes: max_bytes,
            long_lines,
            max_len: 256,
            over_long: OverLong::Drop,
            max_ratio: None,
            empty: Empty::Drop,
            duplicates: Duplicates::Keep,
            copies: Copies::Keep,
            clean: false,
            tokenizer_sample: 1_000_000,
            valid_pairs: 1000,
            task_pairs: 100_000,
            store: Store::Auto,
            store_folder: None,
            corpora: Vec::new(),
            sampling_temperature: 1.0,
            noise_lowercase: 0.0,
            noise_uppercase: 0.0,
            noise_typos: 0.0,
        }
    }
}

impl DataSettings {
    pub(crate) fn languages(&self) -> Languages {
        Languages {
            src: self.src_lang.clone(),
            tgt: self.tgt_lang.clone(),
        }
    }

    pub(crate) fn line_limit(&self) -> LineLimit {
        LineLimit {
            max_bytes: self.max_line_bytes,
            long_lines: self.long_lines,
        }
    }

    pub(crate) fn has_noise(&self) -> bool {
        self.noise_lowercase > 0.0 || self.noise_uppercase > 0.0 || self.noise_typos > 0.0
    }

    pub(crate) fn source(&self) -> Result<DataSource, ConfigError> {
        let single = self.single();
        let of_corpora = self.corpora.iter().flat_map(CorpusSettings::files);
        let files = single.files().chain(of_corpora);
        if files.filter(|path| path.as_os_str() == "-").count() > 1 {
            return Err(ConfigError::StandardInputTwice);
        }
        let [src, tgt, tsv, valid_files @ ..] = single.paths();
        let one = corpus([src, tgt, tsv])?;
        let train = match (one, self.weighted_corpora()?) {
            (Some(source), None) => {
                let tags = Tags::default();
                Some(vec![(TaggedCorpus { source, tags }, 1.0)])
            }
            (None, corpora) => corpora,
            (Some(_), Some(_)) => {
                return Err(ConfigError::conflict("corpora", self.first_file_key()));
            }
        };
        let valid = self.validation_source(corpus(valid_files)?)?;
        match (self.task, train, valid) {
            (Some(task), None, ValidationSource::HeldOut) => Ok(DataSource::Task(task)),
            (None, Some(train), valid) => Ok(DataSource::Corpus { train, valid }),
            (Some(_), ..) => Err(ConfigError::conflict("task", self.first_file_key())),
            (None, None, _) => Err(ConfigError::NoData),
        }
    }

    fn weighted_corpora(&self) -> Result<Option<Vec<(TaggedCorpus, f64)>>, ConfigError> {
        let corpora = self.corpora.iter().zip(1..);
        let corpora =
            corpora.map(|(corpus, number)| corpus.train().map_err(ConfigError::in_corpus(number)));
        let corpora = corpora.collect::<Result<Vec<_>, _>>()?;
        Ok(Some(corpora).filter(|corpora| !corpora.is_empty()))
    }

    /// Returns where the validation pairs come from; `files` are those of `[data]` itself.
    fn validation_source(
        &self,
        files: Option<CorpusSource>,
    ) -> Result<ValidationSource, ConfigError> {
        let mut of_corpora = Vec::new();
        for (it, number) in self.corpora.iter().zip(1..) {
            let valid = it.valid().map_err(ConfigError::in_corpus(number))?;
            of_corpora.extend(valid.map(|corpus| (number, corpus)));
        }
        match (files, of_corpora.is_empty()) {
            (None, true) => Ok(ValidationSource::HeldOut),
            (None, false) => Ok(ValidationSource::OfCorpora(of_corpora)),
            (Some(files), true) => Ok(ValidationSource::Files(files)),
            (Some(_), false) => {
                let has_src = self.corpora.iter().any(|it| it.valid_src.is_some());
                let first = if has_src {
                    "corpora.valid_src"
                } else {
                    "corpora.valid_tsv"
                };
                Err(ConfigError::conflict(
                    first,
                    first_key(&self.single().paths()[3..]),
                ))
            }
        }
    }

    /// Returns the tags of all corpora, of the source or of the target, each once.
    pub(crate) fn tags_of(&self, side: impl Fn(&Tags) -> &Option<String>) -> Vec<String> {
        let mut tags = Vec::new();
        for corpus in &self.corpora {
            let tag = side(&corpus.tags()).clone();
            tags.extend(tag.filter(|tag| !tags.contains(tag)));
        }
        tags
    }

    /// Returns the files of `[data]` itself, as those of one corpus.
    pub(super) fn single(&self) -> CorpusSettings {
        CorpusSettings {
            src: self.src.clone(),
            tgt: self.tgt.clone(),
            tsv: self.tsv.clone(),
            valid_src: self.valid_src.clone(),
            valid_tgt: self.valid_tgt.clone(),
            valid_tsv: self.valid_tsv.clone(),
            ..CorpusSettings::default()
        }
    }

    fn first_file_key(&self) -> &'static str {
        if !self.corpora.is_empty() && self.src.is_none() && self.tsv.is_none() {
            return "corpora";
        }
        first_key(&self.single().paths())
    }
}

fn first_key(files: &[(&'static str, &Option<PathBuf>)]) -> &'static str {
    let mut given = files.iter().filter(|(_, path)| path.is_some());
    given.next().map_or("valid_tgt", |(key, _)| key)
}
