//! Tests of where training data comes from.

use std::path::PathBuf;

use super::data::*;
use crate::config::ConfigError;
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
    let train = CorpusSource::Files {
        src: "a".into(),
        tgt: "b".into(),
    };
    let source = files(Some("a"), Some("b")).source();
    let train = vec![(train, 1.0)];
    assert_eq!(source, Ok(DataSource::Corpus { train, valid: None }));
}

fn parsed(text: &str) -> DataSettings {
    toml::from_str(text).expect("the text is valid")
}

#[test]
fn corpora_have_weights() {
    let data = parsed("corpora = [{ src = 'a', tgt = 'b', weight = 2.5 }, { tsv = 'c' }]");
    let two = CorpusSource::Files {
        src: "a".into(),
        tgt: "b".into(),
    };
    let one = CorpusSource::Tsv { path: "c".into() };
    let train = vec![(two, 2.5), (one, 1.0)];
    assert_eq!(data.source(), Ok(DataSource::Corpus { train, valid: None }));
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
    let expected = "one of `data.corpora` has no files; set its `src` and `tgt`, or its `tsv`";
    assert_eq!(message(&parsed("corpora = [{ weight = 2.0 }]")), expected);
}

#[test]
fn a_weight_of_zero_is_an_error() {
    let data = parsed("corpora = [{ tsv = 'c', weight = 0.0 }]");
    let expected = "`data.corpora.weight` is 0; choose a number greater than 0";
    assert_eq!(message(&data), expected);
}
