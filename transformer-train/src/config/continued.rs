//! [`ContinuedRun`]: the settings with which the model of a run learns new pairs, and forgets little of the old ones.

use std::path::PathBuf;

use toml::{Table, Value};
use transformer_core::lines::LineReader;
use transformer_core::regular_file::{self, MAX_JSON_BYTES};

use crate::config::read::{put, replace};
use crate::config::{
    ConfigError, CorpusSettings, DataSettings, Experiment, FILE_KEYS, ScheduleKind, UserSettings,
};
use crate::optim::Schedule;

/// The learning rate, as a share of the run's peak.
const SHARE_OF_PEAK: f64 = 0.1;

/// A temperature at which the weights of corpora are their shares of the training data, whatever their sizes are.
const SHARES: f64 = 1e6;

/// A run that ended, and new pairs for its model.
#[derive(Clone, Debug, PartialEq)]
pub struct ContinuedRun {
    /// The folder of the run.
    pub run: PathBuf,
    /// The new pairs, and their validation pairs.
    pub new: CorpusSettings,
    /// The share of old pairs in the training data, more than 0 and less than 1. A model forgets what it no longer sees.
    pub replay: f64,
}

/// The settings of a continued run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContinuedSettings {
    /// The model and the text.
    pub arguments: Table,
    /// The recipe, which other settings override: a low and constant learning rate.
    pub recommended: Table,
    /// A line for each choice.
    pub reasons: Vec<String>,
}

impl ContinuedSettings {
    /// Adds these settings to those of the user, and returns the lines about the choices.
    pub fn add_to(self, settings: &mut UserSettings) -> Vec<String> {
        replace(&mut settings.arguments, self.arguments);
        settings.recommended = self.recommended;
        self.reasons
    }
}

impl ContinuedRun {
    /// Returns the settings: those of the run, with the old and the new pairs as corpora that are measured by themselves,
    /// and a low and constant learning rate.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] if the settings of the run cannot be read, if it has learned a built-in task or corpora
    /// with different tags, and if the new pairs or their validation pairs are missing.
    pub fn settings(&self) -> Result<ContinuedSettings, ConfigError> {
        let old = Experiment::from_toml(&self.run.join("experiment.toml"))?;
        let has_new = self.new.src.is_some() || self.new.tsv.is_some();
        if !has_new || self.new.valid()?.is_none() {
            return Err(ConfigError::NoNewText);
        }
        let mut corpora = corpora_of(&old.data);
        let run = self.run.clone();
        let Some(first) = corpora.first() else {
            return Err(ConfigError::NoOldText { run });
        };
        let tags = first.tags();
        if corpora.iter().any(|corpus| corpus.tags() != tags) {
            return Err(ConfigError::SeveralTags { run });
        }
        let mut reasons = vec![format!(
            "{:.0}% of the training data are old pairs, so that little is forgotten (--replay)",
            100.0 * self.replay
        )];
        let is_measured = |it: &CorpusSettings| it.valid_src.is_some() || it.valid_tsv.is_some();
        if !corpora.iter().any(is_measured) {
            let reason = "only the new text is measured: the old corpora have no validation files";
            reasons.push(reason.to_owned());
        }
        set_shares(&mut corpora, self.replay, old.data.sampling_temperature)?;
        corpora.push(CorpusSettings {
            weight: 1.0 - self.replay,
            tag: tags.src,
            target_tag: tags.tgt,
            ..self.new.clone()
        });
        let rate = self.rate_after(&old)?;
        reasons.push(format!("the learning rate is {rate:.1e}"));
        let corpora: Result<Vec<Value>, _> = corpora.into_iter().map(Value::try_from).collect();
        let model = Value::try_from(&self.run).map_err(ConfigError::Write)?;
        let mut arguments = Table::new();
        put(&mut arguments, "data", "sampling_temperature", SHARES);
        put(
            &mut arguments,
            "data",
            "corpora",
            corpora.map_err(ConfigError::Write)?,
        );
        put(&mut arguments, "finetune", "model", model);
        Ok(ContinuedSettings {
            arguments,
            recommended: recipe(&old, rate)?,
            reasons,
        })
    }

    /// Returns the learning rate after the run: a share of its highest one, or that of a run that was itself a
    /// continuation.
    fn rate_after(&self, run: &Experiment) -> Result<f64, ConfigError> {
        let training = &run.training;
        if let Some(rate) = training.peak_learning_rate
            && training.schedule == ScheduleKind::Constant
            && run.finetune.model.is_some()
            && run.data.sampling_temperature == SHARES
        {
            return Ok(rate);
        }
        let d_model = match self.number("config.json", "/d_model") {
            Some(d_model) => d_model as usize,
            // The width does not depend on the vocabulary.
            None => run.model.config(1, 1, run.tokenizer.vocabulary)?.d_model,
        };
        let n_updates = self.number("manifest.json", "/training/scores/updates");
        let n_updates = n_updates.unwrap_or(training.updates);
        let schedule = Schedule::new(training, d_model);
        Ok(SHARE_OF_PEAK * schedule.learning_rate(training.warmup_steps.min(n_updates)))
    }

    /// Reads a number from a JSON file of the run's model. Returns `None` if the file or the number is missing.
    fn number(&self, file: &str, pointer: &str) -> Option<u64> {
        let path = self.run.join("model").join(file);
        let json = regular_file::read(&path, MAX_JSON_BYTES).ok()?;
        let json: serde_json::Value = serde_json::from_slice(&json).ok()?;
        json.pointer(pointer)?.as_u64()
    }
}

/// Returns the settings of a run that its continuation keeps, and those that are for few updates.
fn recipe(old: &Experiment, rate: f64) -> Result<Table, ConfigError> {
    let mut settings = Table::try_from(old).map_err(ConfigError::Write)?;
    settings.retain(|section, _| ["data", "training", "validation", "report"].contains(&section));
    if let Some(Value::Table(data)) = settings.get_mut("data") {
        data.retain(|key, _| key != "corpora" && !FILE_KEYS.contains(&key));
    }
    let preset = Value::try_from(old.model.preset).map_err(ConfigError::Write)?;
    put(&mut settings, "model", "preset", preset);
    put(&mut settings, "tokenizer", "dropout", old.tokenizer.dropout);
    let training: [(&str, Value); 7] = [
        ("schedule", "constant".into()),
        ("peak_learning_rate", rate.into()),
        ("warmup_steps", 50.into()),
        ("updates", 500.into()),
        ("validation_interval", 50.into()),
        ("patience", 5.into()),
        ("ranks", 1.into()),
    ];
    for (key, value) in training {
        put(&mut settings, "training", key, value);
    }
    Ok(settings)
}

/// Returns the training corpora of a run; none for a built-in task.
fn corpora_of(data: &DataSettings) -> Vec<CorpusSettings> {
    let single = data.single();
    match single.src.is_some() || single.tsv.is_some() {
        true => vec![single],
        false => data.corpora.clone(),
    }
}

/// Makes the weights of the corpora of a run shares that add up to `sum`, in the proportions that they had at a
/// temperature. Cleaning and filters leave out few pairs, so a corpus counts as many as it has lines.
fn set_shares(
    corpora: &mut [CorpusSettings],
    sum: f64,
    temperature: f64,
) -> Result<(), ConfigError> {
    if corpora.len() > 1 && temperature != SHARES {
        for corpus in corpora.iter_mut() {
            let file = corpus.src.as_ref().or(corpus.tsv.as_ref());
            let file = file.ok_or(ConfigError::NoFilesInCorpus)?;
            let n_pairs = LineReader::open(file)?.count_all()?.max(1);
            corpus.weight *= (n_pairs as f64).powf(1.0 / temperature);
        }
    }
    let all: f64 = corpora.iter().map(|corpus| corpus.weight).sum();
    for corpus in corpora {
        corpus.weight *= sum / all;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::tasks::Task;
    use transformer_core::Preset;

    fn new_text() -> CorpusSettings {
        CorpusSettings {
            tsv: Some("new.tsv".into()),
            valid_tsv: Some("new_valid.tsv".into()),
            ..CorpusSettings::default()
        }
    }

    fn continued(
        old: &Experiment,
        new: CorpusSettings,
        settings: &[&str],
    ) -> Result<Experiment, ConfigError> {
        continued_with_files(old, &[], new, settings)
    }

    /// Continues a run with these JSON files of its model.
    fn continued_with_files(
        old: &Experiment,
        files: &[(&str, &str)],
        new: CorpusSettings,
        settings: &[&str],
    ) -> Result<Experiment, ConfigError> {
        let run = tempfile::tempdir().expect("the system has temporary directories");
        std::fs::create_dir(run.path().join("model")).expect("the folder is writable");
        let text = old.to_toml().expect("the settings can be written");
        for (name, text) in [&[("experiment.toml", text.as_str())][..], files].concat() {
            std::fs::write(run.path().join(name), text).expect("the folder is writable");
        }
        let continued = ContinuedRun {
            run: run.path().to_owned(),
            new,
            replay: 0.25,
        };
        let mut user = UserSettings {
            settings: settings.iter().map(|&it| it.to_owned()).collect(),
            ..UserSettings::default()
        };
        continued.settings()?.add_to(&mut user);
        user.experiment()
    }

    fn old_run() -> Experiment {
        let mut old = Experiment::for_preset(Preset::Tiny);
        old.data.src = Some("old.en".into());
        old.data.tgt = Some("old.de".into());
        old.data.valid_tsv = Some("old_valid.tsv".into());
        old
    }

    #[test]
    fn old_and_new_pairs_are_corpora_with_their_shares() {
        let experiment = continued(&old_run(), new_text(), &[]).expect("the run has text");
        assert_eq!(experiment.validate(), Ok(()));
        let [old, new] = experiment.data.corpora.as_slice() else {
            panic!("there are two corpora");
        };
        assert_eq!(
            (old.src.as_deref(), old.weight),
            (Some(Path::new("old.en")), 0.25)
        );
        assert_eq!(old.valid_tsv.as_deref(), Some(Path::new("old_valid.tsv")));
        assert_eq!(
            (new.tsv.as_deref(), new.weight),
            (Some(Path::new("new.tsv")), 0.75)
        );
        assert!(experiment.finetune.model.is_some());
    }

    #[test]
    fn the_learning_rate_is_a_tenth_of_the_peak() {
        let experiment = continued(&old_run(), new_text(), &[]).expect("the run has text");
        let rate = experiment.training.peak_learning_rate.expect("it is set");
        // Eq. 3 with factor 0.8, width 128 and a warm-up of 500 updates.
        let peak = 0.8 / (128.0_f64 * 500.0).sqrt();
        assert!((rate / (0.1 * peak) - 1.0).abs() < 1e-9, "{rate}");
        assert_eq!(experiment.training.schedule, ScheduleKind::Constant);
        // A continuation of the continuation does not lower it again.
        let again = continued(&experiment, new_text(), &[]).expect("the run has text");
        assert_eq!(again.training.peak_learning_rate, Some(rate));
        let weights: Vec<f64> = again.data.corpora.iter().map(|it| it.weight).collect();
        assert_eq!(weights, [0.0625, 0.1875, 0.75]);
    }

    /// Asserts that the continuation of a run has this share of the rate of Eq. 3 with factor 0.8, width 128 and a
    /// warm-up of 500 updates.
    fn assert_share_of_peak(old: &Experiment, files: &[(&str, &str)], share: f64) {
        let experiment = continued_with_files(old, files, new_text(), &[]);
        let experiment = experiment.expect("the run has text");
        let rate = experiment.training.peak_learning_rate.expect("it is set");
        let peak = 0.8 / (128.0_f64 * 500.0).sqrt();
        assert!((rate / (share * peak) - 1.0).abs() < 1e-9, "{rate}");
    }

    #[test]
    fn a_rate_that_the_run_did_not_reach_does_not_count() {
        let mut old = old_run();
        let stopped = r#"{ "training": { "scores": { "updates": 250 } } }"#;
        assert_share_of_peak(&old, &[("model/manifest.json", stopped)], 0.05);
        old.training.updates = 100;
        assert_share_of_peak(&old, &[], 0.02);
    }

    #[test]
    fn the_width_is_that_of_the_model_and_not_of_the_preset() {
        let mut old = old_run();
        old.finetune.model = Some("base".into());
        let config = ("model/config.json", r#"{ "d_model": 512 }"#);
        assert_share_of_peak(&old, &[config], 0.05);
    }

    #[test]
    fn a_finetuned_model_with_a_constant_rate_is_no_continuation() {
        let mut old = old_run();
        old.finetune.model = Some("base".into());
        old.training.schedule = ScheduleKind::Constant;
        old.training.peak_learning_rate = Some(0.8 / (128.0_f64 * 500.0).sqrt());
        assert_share_of_peak(&old, &[], 0.1);
    }

    #[test]
    fn settings_of_the_run_and_its_tags_stay() {
        let mut old = old_run();
        old.data.max_len = 77;
        old.training.label_smoothing = 0.3;
        old.data.corpora = vec![CorpusSettings {
            tag: Some("<2de>".to_owned()),
            ..corpora_of(&old.data).remove(0)
        }];
        (old.data.src, old.data.tgt, old.data.valid_tsv) = (None, None, None);
        let experiment = continued(&old, new_text(), &[]).expect("the run has text");
        assert_eq!(experiment.data.max_len, 77);
        assert!((experiment.training.label_smoothing - 0.3).abs() < 1e-12);
        let tags: Vec<_> = experiment
            .data
            .corpora
            .iter()
            .map(|it| it.tag.clone())
            .collect();
        assert_eq!(tags, [Some("<2de>".to_owned()), Some("<2de>".to_owned())]);
    }

    #[test]
    fn old_corpora_keep_their_proportions() {
        let folder = tempfile::tempdir().expect("the system has temporary directories");
        let corpus = |name: &str, n_pairs: usize, weight| {
            let path = folder.path().join(name);
            std::fs::write(&path, "a\tb\n".repeat(n_pairs)).expect("the folder is writable");
            CorpusSettings {
                tsv: Some(path),
                weight,
                ..CorpusSettings::default()
            }
        };
        let corpora = vec![corpus("large.tsv", 90, 1.0), corpus("small.tsv", 10, 3.0)];
        let weights = |temperature| {
            let mut old = old_run();
            (old.data.src, old.data.tgt, old.data.valid_tsv) = (None, None, None);
            old.data.corpora.clone_from(&corpora);
            old.data.sampling_temperature = temperature;
            let continued = continued(&old, new_text(), &[]).expect("the run has text");
            let corpora = continued.data.corpora.into_iter();
            corpora.map(|it| it.weight).collect::<Vec<f64>>()
        };
        // A quarter, divided by 90 and 30 pairs, or by the roots of the numbers of lines.
        let near = |found: &[f64], expected: [f64; 3]| {
            let mut both = found.iter().zip(expected);
            both.all(|(found, expected)| (found - expected).abs() < 1e-9)
        };
        assert!(near(&weights(1.0), [0.1875, 0.0625, 0.75]));
        assert!(near(&weights(2.0), [0.125, 0.125, 0.75]));
    }

    #[test]
    fn settings_of_the_user_win() {
        let experiment = continued(&old_run(), new_text(), &["training.updates=9"]);
        assert_eq!(experiment.map(|it| it.training.updates), Ok(9));
    }

    #[test]
    fn a_run_without_text_and_new_text_without_validation_are_refused() {
        let task = Experiment::for_task(Task::Copy);
        let error = continued(&task, new_text(), &[]).expect_err("it has no files");
        assert!(error.to_string().contains("built-in task"), "{error}");
        let new = CorpusSettings {
            valid_tsv: None,
            ..new_text()
        };
        let error = continued(&old_run(), new, &[]).expect_err("it cannot be measured");
        assert_eq!(error, ConfigError::NoNewText);
    }
}
