//! Every setting, edited in the folder of a run that was interrupted: the resume refuses it by name,
//! or it is one that does not change what is learned.

use std::fs;
use std::sync::Arc;

use tempfile::TempDir;
use toml::{Table, Value};
use transformer_core::TransformerConfig;

use super::changes::{MAY_DIFFER, ON_REQUEST};
use super::folder::{Existing, RunFolder};
use crate::checkpoint::SavedState;
use crate::config::{Experiment, setting_keys};
use crate::error::TrainError;
use crate::progress::LogFn;

/// Updates of the only checkpoint.
const DONE: u64 = 10;

/// An interrupted run with a checkpoint, of which only the state is written.
struct Interrupted {
    directory: TempDir,
    experiment: Experiment,
}

impl Interrupted {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("the system has temporary directories");
        let text = format!("[training]\nvalidation_interval = {DONE}\nupdates = 40\n");
        let experiment = Experiment::from_toml_text(&text, "run.toml").expect("the text is valid");
        let settings = experiment.to_toml().expect("TOML has these values");
        let mut state = SavedState::default().continued_with(1, "cpu".to_owned(), 3, 5);
        state.updates = DONE;
        let state = state.with_settings(settings);
        let run = Self {
            directory,
            experiment,
        };
        let checkpoints = run.folder().checkpoints;
        fs::create_dir(&checkpoints).expect("the temporary directory is writable");
        let written = fs::write(checkpoints.join("state-10.json"), state.to_json());
        written.expect("the temporary directory is writable");
        run
    }

    fn folder(&self) -> RunFolder {
        RunFolder::new(self.directory.path())
    }

    /// Returns the experiment with an edited setting.
    fn edited(&self, key: &str) -> Experiment {
        let mut settings = Table::try_from(&self.experiment).expect("TOML has these values");
        let (section, name) = key.split_once('.').expect("a key has a section");
        let keys = settings.get_mut(section).and_then(Value::as_table_mut);
        let keys = keys.expect("every section is written");
        let value = other_value(key, keys.get(name));
        keys.insert(name.to_owned(), value);
        let edited = Experiment::from_toml_text(&settings.to_string(), "run.toml");
        let edited = edited.expect("the edited settings can be read");
        assert_ne!(edited, self.experiment, "`{key}` is unchanged");
        edited
    }

    fn write_settings(&self, experiment: &Experiment) {
        let settings = experiment.to_toml().expect("TOML has these values");
        let path = self.directory.path().join("experiment.toml");
        fs::write(path, settings).expect("the temporary directory is writable");
    }

    /// Edits a setting in `experiment.toml`, and resumes with the settings in that file.
    fn resume_with_edited(
        &self,
        key: &str,
        existing: Existing,
    ) -> Result<Option<SavedState>, TrainError> {
        let edited = self.edited(key);
        self.write_settings(&edited);
        self.resume(&edited, existing)
    }

    fn resume(
        &self,
        experiment: &Experiment,
        existing: Existing,
    ) -> Result<Option<SavedState>, TrainError> {
        let no_log: LogFn = Arc::new(|_| {});
        self.folder().resume(experiment, existing, &no_log)
    }
}

/// Returns another value of a setting that has this one, or none.
fn other_value(key: &str, value: Option<&Value>) -> Value {
    let model = Table::try_from(TransformerConfig::default()).expect("TOML has these values");
    let value = match key.strip_prefix("model.") {
        Some(name) => value.or_else(|| model.get(name)),
        None => value,
    };
    match (key, value) {
        (_, Some(Value::Integer(number))) => Value::from(number + 1),
        (_, Some(Value::Float(number))) => Value::from(number / 2.0 + 0.125),
        (_, Some(Value::Boolean(is_on))) => Value::from(!is_on),
        ("data.corpora", None) => Value::Array(vec![toml::toml! { weight = 2.0 }.into()]),
        (key, _) => {
            let other = OTHERS.iter().find(|(known, _)| *known == key);
            let (_, other) = other.unwrap_or_else(|| panic!("OTHERS needs a value of `{key}`"));
            let parsed: Table = toml::from_str(&format!("value = {other}")).expect("it is TOML");
            parsed["value"].clone()
        }
    }
}

/// Other values of the settings with text or none as default.
const OTHERS: [(&str, &str); 59] = [
    ("data.task", "\"copy\""),
    ("data.src", "\"other\""),
    ("data.tgt", "\"other\""),
    ("data.tsv", "\"other\""),
    ("data.valid_src", "\"other\""),
    ("data.valid_tgt", "\"other\""),
    ("data.valid_tsv", "\"other\""),
    ("data.src_lang", "\"pt-BR\""),
    ("data.tgt_lang", "\"en\""),
    ("data.long_lines", "\"drop\""),
    ("data.over_long", "\"cut\""),
    ("data.max_ratio", "3.5"),
    ("data.empty", "\"refuse\""),
    ("data.duplicates", "\"drop\""),
    ("data.copies", "\"drop\""),
    ("data.store", "\"disk\""),
    ("data.store_folder", "\"other\""),
    ("tokenizer.user_symbols", "[\"<2de>\"]"),
    ("tokenizer.vocabulary", "\"separate\""),
    ("tokenizer.kind", "\"word\""),
    ("tokenizer.case", "\"lower\""),
    ("tokenizer.tgt_kind", "\"word\""),
    ("tokenizer.tgt_vocab_size", "77"),
    ("tokenizer.tgt_case", "\"lower\""),
    ("model.preset", "\"big\""),
    ("model.d_k", "3"),
    ("model.d_v", "3"),
    ("model.norm_placement", "\"pre\""),
    ("model.norm_kind", "\"rms\""),
    ("model.positions", "\"learned\""),
    ("model.first_position", "1"),
    ("model.encoder_window", "3"),
    ("model.decoder_mixing", "\"ssru\""),
    ("model.decoder_window", "3"),
    ("model.activation", "\"gelu\""),
    ("model.gated_feed_forward", "true"),
    ("model.src_without_eos", "true"),
    ("model.start_from_zeros", "true"),
    ("model.embedding_norm", "true"),
    ("model.tying", "\"none\""),
    ("model.initialization", "\"bert\""),
    ("finetune.model", "\"other\""),
    ("adapters.targets", "[\"attention.key\"]"),
    ("embeddings.src_word_vectors", "\"other\""),
    ("embeddings.tgt_word_vectors", "\"other\""),
    ("report.tensorboard", "\"off\""),
    ("training.schedule", "\"constant\""),
    ("training.peak_learning_rate", "0.01"),
    ("training.label_smoothing_form", "\"other_tokens\""),
    ("training.ema_decay", "0.5"),
    ("training.clip_norm", "1.5"),
    ("training.best_by", "\"bleu\""),
    ("training.patience", "3"),
    ("training.checkpointing", "\"layers\""),
    ("training.precision", "\"bf16\""),
    ("validation.command", "\"score {hyp}\""),
    ("validation.command_failure", "\"stop\""),
    ("validation.length_penalty", "\"none\""),
    ("validation.tokenize", "\"char\""),
];

#[test]
fn an_edited_setting_is_refused_by_name_or_changes_nothing_that_is_learned() {
    let run = Interrupted::new();
    for key in setting_keys() {
        let resumed = run.resume_with_edited(&key, Existing::Resume);
        match resumed {
            Ok(Some(resumed)) => {
                assert!(MAY_DIFFER.contains(&key.as_str()), "`{key}` is not noticed");
                assert_eq!(resumed.changes, []);
            }
            Ok(None) => panic!("`{key}`: the checkpoint is not found"),
            Err(error) => {
                let message = error.to_string();
                let start = format!("`{key}` is ");
                assert!(message.contains(&start), "`{key}` is not named: {message}");
                assert!(message.contains(" now, but the run in the folder has "));
                assert!(message.contains("; resume without the change"), "{message}");
            }
        }
    }
}

#[test]
fn an_edited_setting_that_is_accepted_is_recorded_with_its_first_update() {
    let run = Interrupted::new();
    for key in setting_keys() {
        let is_listed = |keys: &[&str]| keys.contains(&key.as_str());
        let resumed = run.resume_with_edited(&key, Existing::Change);
        let changes = resumed.map(|resumed| resumed.expect("it has a checkpoint").changes);
        match changes.as_deref() {
            Ok([]) => assert!(is_listed(&MAY_DIFFER), "`{key}` is not recorded"),
            Ok([change]) => {
                assert!(is_listed(&ON_REQUEST), "`{key}`");
                let recorded = (change.changed.as_str(), change.update);
                assert_eq!(recorded, (key.as_str(), DONE + 1));
                assert_ne!(change.from, change.to);
            }
            Ok(several) => panic!("`{key}`: {several:?}"),
            Err(error) => {
                assert!(!is_listed(&ON_REQUEST), "{error}");
                assert!(!error.to_string().contains("--allow-changes"), "{error}");
            }
        }
    }
}

#[test]
fn an_unfinished_run_is_not_replaced_with_settings_that_would_resume_it() {
    let run = Interrupted::new();
    run.write_settings(&run.experiment);
    for key in setting_keys() {
        let replaced = run.resume(&run.edited(&key), Existing::Replace);
        let is_text = ["data.src", "data.tgt", "data.tsv"].contains(&key.as_str());
        let would_resume = MAY_DIFFER.contains(&key.as_str()) && !is_text;
        match replaced {
            Err(TrainError::Unfinished { done: DONE, .. }) => assert!(would_resume, "`{key}`"),
            Ok(None) => assert!(!would_resume, "`{key}`"),
            other => panic!("`{key}`: {other:?}"),
        }
    }
}

#[test]
fn only_known_settings_are_listed() {
    let known = setting_keys();
    for key in MAY_DIFFER.iter().chain(&ON_REQUEST) {
        assert!(known.iter().any(|known| known == key), "{key}");
    }
}

#[test]
fn settings_that_cannot_be_read_are_refused() {
    let run = Interrupted::new();
    let path = run.folder().checkpoints.join("state-10.json");
    let state = SavedState::of(&run.folder().checkpoints, DONE).expect("it is intact");
    let newer = state.continued_with(1, "cpu".to_owned(), 3, 5);
    let newer = newer.with_settings("[training]\ninvented_later = 1\n".to_owned());
    fs::write(&path, newer.to_json()).expect("the temporary directory is writable");
    let resumed = run.resume_with_edited("training.patience", Existing::Resume);
    let message = resumed.expect_err("the settings are unknown").to_string();
    let start = format!("the settings in `{}` cannot be read: ", path.display());
    assert!(message.starts_with(&start), "{message}");
    assert!(
        message.contains("`invented_later` is unknown here"),
        "{message}"
    );
}
