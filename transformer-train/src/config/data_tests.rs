//! Tests of where training data comes from.

use std::path::PathBuf;

use super::data::*;
use crate::config::{ConfigError, CorpusSource, TaggedCorpus, Tags, ValidationSource};
use crate::tasks::Task;

fn files(src: Option<&str>, tgt: Option<&str>) -> DataSettings {
    DataSettings {
        src: src.map(PathBuf::from),
        tgt: tgt.map(PathBuf::from),
        ..DataSettings::default()
    }
}

fn message(data: &DataSettings) -> String {
    data.source()
        .expect_err("the settings are wrong")
        .to_string()
}

#[test]
fn missing_training_data_is_an_error() {
    assert_eq!(
        message(&DataSettings::default()),
        "there is no training data; set `task`, `src` and `tgt`, `tsv`, or `corpora` in [data]"
    );
}

#[test]
fn validation_files_alone_are_an_error() {
    let data = DataSettings {
        valid_tsv: Some("v".into()),
        ..DataSettings::default()
    };
    assert_eq!(data.source(), Err(ConfigError::NoData));
}

#[test]
fn a_source_file_without_a_target_file_is_an_error() {
    assert_eq!(
        message(&files(Some("a"), None)),
        "`src` is set without `tgt`; set both"
    );
}

#[test]
fn a_task_together_with_files_is_an_error() {
    let data = DataSettings {
        task: Some(Task::Copy),
        ..files(Some("a"), Some("b"))
    };
    assert_eq!(
        message(&data),
        "`task` and `src` exclude each other; remove one of them"
    );
}

#[test]
fn two_files_cannot_both_be_standard_input() {
    let data = DataSettings {
        valid_tsv: Some("-".into()),
        ..files(Some("a"), Some("-"))
    };
    assert_eq!(data.source(), Err(ConfigError::StandardInputTwice));
}

#[test]
fn a_source_file_and_a_target_file_are_one_corpus() {
    let source = files(Some("a"), Some("b")).source();
    let train = vec![(two("a", "b"), 1.0)];
    let valid = ValidationSource::HeldOut;
    assert_eq!(source, Ok(DataSource::Corpus { train, valid }));
}

/// Returns a corpus of two files, without tags.
fn two(src: &str, tgt: &str) -> TaggedCorpus {
    TaggedCorpus {
        source: CorpusSource::Files {
            src: src.into(),
            tgt: tgt.into(),
        },
        tags: Tags::default(),
    }
}

/// Returns a corpus of one file, without tags.
fn one(path: &str) -> TaggedCorpus {
    TaggedCorpus {
        source: CorpusSource::Tsv { path: path.into() },
        tags: Tags::default(),
    }
}

fn parsed(text: &str) -> DataSettings {
    toml::from_str(text).expect("the text is valid")
}

#[test]
fn corpora_have_weights() {
    let data = parsed("corpora = [{ src = 'a', tgt = 'b', weight = 2.5 }, { tsv = 'c' }]");
    let train = vec![(two("a", "b"), 2.5), (one("c"), 1.0)];
    let valid = ValidationSource::HeldOut;
    assert_eq!(data.source(), Ok(DataSource::Corpus { train, valid }));
}

#[test]
fn a_corpus_has_tags_on_its_training_and_its_validation_pairs() {
    let data = parsed(
        "corpora = [{ tsv = 'a' }, { tsv = 'b', tag = '<2x>', target_tag = '<x>', valid_tsv = 'v' }]",
    );
    let tags = Tags {
        src: Some("<2x>".to_owned()),
        tgt: Some("<x>".to_owned()),
    };
    let tagged = |path| TaggedCorpus {
        tags: tags.clone(),
        ..one(path)
    };
    let train = vec![(one("a"), 1.0), (tagged("b"), 1.0)];
    let valid = ValidationSource::OfCorpora(vec![(2, tagged("v"))]);
    assert_eq!(data.source(), Ok(DataSource::Corpus { train, valid }));
}

#[test]
fn validation_files_of_corpora_together_with_those_of_all_are_an_error() {
    let data = parsed("valid_tsv = 'v'\ncorpora = [{ tsv = 'a', valid_tsv = 'w' }]");
    let expected = "`corpora.valid_tsv` and `valid_tsv` exclude each other; remove one of them";
    assert_eq!(message(&data), expected);
}

#[test]
fn one_validation_file_of_a_corpus_without_the_other_is_an_error() {
    let data = parsed("corpora = [{ tsv = 'a', valid_src = 'v' }]");
    assert_eq!(
        message(&data),
        "in corpus 1 of `data.corpora`: `valid_src` is set without `valid_tgt`; set both"
    );
}

#[test]
fn a_tag_that_cannot_be_a_token_is_an_error() {
    let expected = "in corpus 1 of `data.corpora`: in `tag`: \"to German:\" cannot be a user-defined symbol: it has whitespace";
    let data = parsed("corpora = [{ tsv = 'a', tag = 'to German:' }]");
    assert!(message(&data).starts_with(expected), "{}", message(&data));
    let expected = "in corpus 2 of `data.corpora`: in `target_tag`: \"\" cannot be a user-defined symbol: it is \
                    empty; remove it";
    let data = parsed("corpora = [{ tsv = 'a' }, { tsv = 'a', target_tag = '' }]");
    assert_eq!(message(&data), expected);
}

#[test]
fn corpora_together_with_single_files_are_an_error() {
    let data = parsed("src = 'a'\ntgt = 'b'\ncorpora = [{ tsv = 'c' }]");
    let expected = "`corpora` and `src` exclude each other; remove one of them";
    assert_eq!(message(&data), expected);
}

#[test]
fn a_task_together_with_corpora_is_an_error() {
    let data = parsed("task = 'copy'\ncorpora = [{ tsv = 'c' }]");
    let expected = "`task` and `corpora` exclude each other; remove one of them";
    assert_eq!(message(&data), expected);
}

#[test]
fn a_corpus_without_files_is_an_error() {
    let expected = "in corpus 1 of `data.corpora`: it has no files; set `src` and `tgt`, or `tsv`";
    assert_eq!(message(&parsed("corpora = [{ weight = 2.0 }]")), expected);
}

#[test]
fn a_weight_of_zero_is_an_error() {
    let data = parsed("corpora = [{ tsv = 'c', weight = 0.0 }]");
    let expected = "in corpus 1 of `data.corpora`: `weight` is 0; choose a number greater than 0";
    assert_eq!(message(&data), expected);
}
