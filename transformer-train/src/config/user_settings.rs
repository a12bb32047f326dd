//! [`UserSettings`]: combines a file, arguments and single settings into an experiment.

use std::path::PathBuf;

use toml::{Table, Value};

use crate::config::read::value;
use crate::config::{ConfigError, Experiment, optional, read, setting};

/// The settings that a user gives for an experiment.
///
/// They are applied in this order, and later ones override earlier ones: the defaults of the task
/// or the preset that is named, the file, the arguments, the single settings. Without a file, the
/// default task is `numbers`; training files are cleaned, and their default preset is `tiny`.
///
/// # Example
///
/// ```
/// use transformer_train::config::UserSettings;
///
/// let settings = UserSettings {
///     settings: vec!["training.updates=9".to_owned(), "data.src=train.en".to_owned()],
///     ..UserSettings::default()
/// };
/// let experiment = settings.experiment()?;
/// assert_eq!(experiment.training.updates, 9);
/// # Ok::<(), transformer_train::config::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserSettings {
    /// Defaults for training files, as [`recommend`](crate::recommend) returns them, in place of the preset `tiny`. Not
    /// used with a file.
    pub recommended: Table,
    /// A TOML file.
    pub file: Option<PathBuf>,
    /// Settings as the tables of a file. Here and in `settings`, a task replaces the training and
    /// validation files that `file` names, and training files replace its task. A preset replaces
    /// only the preset of `file`: its other keys still apply.
    pub arguments: Table,
    /// Settings of the form `section.key=value`, with a TOML value. Text needs no quotes. `none`
    /// unsets an optional key; a file of this name is `./none`.
    pub settings: Vec<String>,
}

/// The keys of `[data]` that name training data.
const TRAIN_KEYS: [&str; 5] = ["task", "src", "tgt", "tsv", "corpora"];

/// Keys of `[data]`, each with the keys of a file that it replaces.
const REPLACED: [(&[&str], &[&str]); 6] = [
    (
        &["task"],
        &[
            "src",
            "tgt",
            "tsv",
            "corpora",
            "valid_src",
            "valid_tgt",
            "valid_tsv",
        ],
    ),
    (&["src", "tgt"], &["task", "tsv", "corpora"]),
    (&["tsv"], &["task", "src", "tgt", "corpora"]),
    (&["corpora"], &["task", "src", "tgt", "tsv"]),
    (&["valid_src", "valid_tgt"], &["valid_tsv"]),
    (&["valid_tsv"], &["valid_src", "valid_tgt"]),
];

impl UserSettings {
    /// Returns the experiment.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] that names the file and line, or the argument, of an invalid
    /// setting. [`Experiment::validate`] checks whether the values are consistent.
    pub fn experiment(&self) -> Result<Experiment, ConfigError> {
        let mut settings = self.combined()?;
        if self.file.is_none() && !names_data(&settings) {
            read::put(&mut settings, "data", "task", "numbers");
        }
        read::complete(settings)
    }

    /// Returns the experiment, without the default task if a preset is named: to print the settings of that preset.
    ///
    /// # Errors
    ///
    /// As [`experiment`](Self::experiment).
    pub fn without_task(&self) -> Result<Experiment, ConfigError> {
        let settings = self.combined()?;
        match value(&settings, "model", "preset") {
            Some(_) => read::complete(settings),
            None => self.experiment(),
        }
    }

    fn combined(&self) -> Result<Table, ConfigError> {
        let mut combined = match &self.file {
            Some(path) => read::table_from(path)?,
            None => Table::new(),
        };
        let mut overrides = self.arguments.clone();
        for setting in &self.settings {
            read::replace(&mut overrides, setting::parse(setting)?);
        }
        remove_replaced(&mut combined, &overrides);
        read::replace(&mut combined, overrides);
        let has_task = value(&combined, "data", "task").is_some();
        if self.file.is_none() && names_data(&combined) && !has_task {
            let mut defaults = toml::toml! {
                data = { clean = true }
                model = { preset = "tiny" }
            };
            read::replace(&mut defaults, self.recommended.clone());
            let given = std::mem::replace(&mut combined, defaults);
            read::replace(&mut combined, given);
        }
        Ok(combined)
    }
}

fn names_data(settings: &Table) -> bool {
    let mut keys = TRAIN_KEYS.iter();
    keys.any(|key| is_given(settings, key))
}

/// Returns whether a key of `[data]` has a value that does not unset it.
fn is_given(settings: &Table, key: &str) -> bool {
    value(settings, "data", key).is_some_and(|value| !optional::is_none(value))
}

fn remove_replaced(file: &mut Table, overrides: &Table) {
    let Some(Value::Table(data)) = file.get_mut("data") else {
        return;
    };
    for (keys, replaced) in REPLACED {
        if keys.iter().any(|key| is_given(overrides, key)) {
            data.retain(|key, _| !replaced.contains(&key));
        }
    }
}

#[cfg(test)]
mod tests {
    use transformer_core::Preset;

    use super::*;
    use crate::tasks::Task;

    fn with_settings(settings: &[&str]) -> UserSettings {
        UserSettings {
            settings: settings.iter().map(|&setting| setting.to_owned()).collect(),
            ..UserSettings::default()
        }
    }

    fn with_file(text: &str, arguments: Table) -> Result<Experiment, ConfigError> {
        let dir = tempfile::tempdir().expect("the system has temporary directories");
        let path = dir.path().join("run.toml");
        std::fs::write(&path, text).expect("the temporary directory is writable");
        let settings = UserSettings {
            file: Some(path),
            arguments,
            ..UserSettings::default()
        };
        settings.experiment()
    }

    #[test]
    fn the_default_is_the_task_numbers() {
        let experiment = UserSettings::default().experiment();
        assert_eq!(experiment, Ok(Experiment::for_task(Task::Numbers)));
    }

    #[test]
    fn the_printed_settings_of_a_preset_have_no_task() {
        let experiment = with_settings(&["model.preset=big"]).without_task();
        assert_eq!(experiment, Ok(Experiment::for_preset(Preset::Big)));
    }

    #[test]
    fn the_printed_settings_without_a_preset_are_those_of_a_run() {
        let shown = UserSettings::default().without_task();
        assert_eq!(shown, Ok(Experiment::for_task(Task::Numbers)));
    }

    #[test]
    fn files_alone_are_trained_on_with_the_preset_tiny() {
        let experiment = with_settings(&["data.tsv=a.tsv"]).experiment();
        let mut expected = Experiment::for_preset(Preset::Tiny);
        expected.data.tsv = Some("a.tsv".into());
        expected.data.clean = true;
        assert_eq!(experiment, Ok(expected));
    }

    #[test]
    fn only_files_without_other_settings_are_cleaned() {
        let is_cleaned = |experiment: Result<Experiment, ConfigError>| {
            experiment.map(|experiment| experiment.data.clean)
        };
        let files = &["data.tsv=a.tsv", "model.preset=big"];
        assert_eq!(is_cleaned(with_settings(files).experiment()), Ok(true));
        let kept = &["data.tsv=a.tsv", "data.clean=false"];
        assert_eq!(is_cleaned(with_settings(kept).experiment()), Ok(false));
        assert_eq!(
            is_cleaned(with_settings(&["data.task=copy"]).experiment()),
            Ok(false)
        );
        let experiment = with_file("[data]\ntsv = \"a.tsv\"\n", Table::new());
        assert_eq!(is_cleaned(experiment), Ok(false));
    }

    #[test]
    fn the_last_of_two_settings_wins() {
        let experiment = with_settings(&["training.updates=5", "training.updates=6"]).experiment();
        assert_eq!(experiment.map(|it| it.training.updates), Ok(6));
    }

    #[test]
    fn a_task_selects_its_recipe() {
        let experiment = with_settings(&["data.task=copy", "training.seed=3"]).experiment();
        let mut expected = Experiment::for_task(Task::Copy);
        expected.training.seed = 3;
        assert_eq!(experiment, Ok(expected));
    }

    #[test]
    fn a_task_in_the_arguments_replaces_that_of_the_file() {
        let arguments = toml::toml! { data = { task = "copy" } };
        let experiment = with_file("[data]\ntask = \"numbers\"\n", arguments);
        assert_eq!(experiment, Ok(Experiment::for_task(Task::Copy)));
    }

    #[test]
    fn training_files_in_the_arguments_replace_those_of_the_file() {
        let arguments = toml::toml! { data = { tsv = "other.tsv" } };
        let experiment = with_file("[data]\nsrc = \"a\"\ntgt = \"b\"\nmax_len = 7\n", arguments);
        let mut expected = Experiment::default();
        expected.data.tsv = Some("other.tsv".into());
        expected.data.max_len = 7;
        assert_eq!(experiment, Ok(expected));
    }

    const CORPORA: &str = "[[data.corpora]]\nsrc = \"a\"\ntgt = \"b\"\n";

    #[test]
    fn a_task_or_training_files_replace_the_corpora_of_the_file() {
        let experiment = with_file(CORPORA, toml::toml! { data = { task = "copy" } });
        assert_eq!(experiment, Ok(Experiment::for_task(Task::Copy)));
        let experiment = with_file(CORPORA, toml::toml! { data = { tsv = "other.tsv" } });
        let data = experiment.map(|experiment| (experiment.data.tsv, experiment.data.corpora));
        assert_eq!(data, Ok((Some("other.tsv".into()), Vec::new())));
    }

    #[test]
    fn corpora_in_the_arguments_replace_the_task_of_the_file() {
        let corpora = toml::from_str(CORPORA).expect("it is a table");
        let experiment = with_file("[data]\ntask = \"copy\"\n", corpora);
        let data = experiment.map(|experiment| (experiment.data.task, experiment.data.corpora));
        let (task, corpora) = data.expect("the task is replaced");
        assert_eq!((task, corpora.len()), (None, 1));
    }

    fn with_file_and_settings(text: &str, settings: &[&str]) -> Result<Experiment, ConfigError> {
        let dir = tempfile::tempdir().expect("the system has temporary directories");
        let path = dir.path().join("run.toml");
        std::fs::write(&path, text).expect("the temporary directory is writable");
        let file = Some(path);
        UserSettings {
            file,
            ..with_settings(settings)
        }
        .experiment()
    }

    #[test]
    fn a_task_replaces_the_validation_files_of_the_file() {
        let arguments = toml::toml! { data = { task = "copy" } };
        let text = "[data]\ntsv = \"a\"\nvalid_src = \"b\"\nvalid_tgt = \"c\"\n";
        let experiment = with_file(text, arguments);
        assert_eq!(experiment, Ok(Experiment::for_task(Task::Copy)));
    }

    #[test]
    fn a_task_in_a_setting_replaces_the_training_files_of_the_file() {
        let text = "[data]\nsrc = \"a\"\ntgt = \"b\"\n";
        let experiment = with_file_and_settings(text, &["data.task=copy"]);
        assert_eq!(experiment, Ok(Experiment::for_task(Task::Copy)));
    }

    #[test]
    fn one_of_two_files_can_be_set_alone() {
        let text = "[data]\nsrc = \"a\"\ntgt = \"b\"\n";
        let experiment = with_file_and_settings(text, &["data.tgt=c"]);
        let mut expected = Experiment::default();
        expected.data.src = Some("a".into());
        expected.data.tgt = Some("c".into());
        assert_eq!(experiment, Ok(expected));
    }

    #[test]
    fn paths_and_languages_can_be_unset() {
        let data = "[data]\nsrc = \"a\"\ntgt = \"b\"\n";
        let more = "src_lang = \"en\"\ntgt_lang = \"de\"\nvalid_tsv = \"c\"\nstore_folder = \"d\"\n\
                    [embeddings]\nsrc_word_vectors = \"e\"\n[finetune]\nmodel = \"f\"\n";
        let unset = [
            "data.src_lang=none",
            "data.tgt_lang=none",
            "data.valid_tsv=none",
            "data.store_folder=none",
            "embeddings.src_word_vectors=none",
            "finetune.model=none",
        ];
        let experiment = with_file_and_settings(&format!("{data}{more}"), &unset);
        assert!(experiment.is_ok(), "{experiment:?}");
        assert_eq!(experiment, with_file_and_settings(data, &[]));
    }

    #[test]
    fn files_that_are_unset_replace_no_others() {
        let text = "[data]\ntsv = \"a\"\nvalid_tsv = \"b\"\n";
        let unset = ["data.src=none", "data.tgt=none", "data.valid_src=none"];
        let experiment = with_file_and_settings(text, &unset);
        assert_eq!(experiment, with_file_and_settings(text, &[]));
    }

    #[test]
    fn a_file_with_the_name_none_is_given_with_its_folder() {
        let experiment = with_settings(&["data.tsv=./none"]).experiment();
        let tsv = experiment.map(|experiment| experiment.data.tsv);
        assert_eq!(tsv, Ok(Some("./none".into())));
    }

    /// The recipe of `big` with the dropout of the file.
    fn big_with_dropout() -> Experiment {
        let mut expected = Experiment::for_preset(Preset::Big);
        expected.model.overrides = toml::toml! { dropout = 0.25 };
        expected
    }

    #[test]
    fn another_preset_keeps_the_other_keys_of_the_file() {
        let arguments = toml::toml! { model = { preset = "big" } };
        let experiment = with_file("[model]\npreset = \"tiny\"\ndropout = 0.25\n", arguments);
        assert_eq!(experiment, Ok(big_with_dropout()));
    }

    #[test]
    fn a_preset_in_a_setting_keeps_the_other_keys_of_the_file() {
        let text = "[model]\npreset = \"tiny\"\ndropout = 0.25\n";
        let experiment = with_file_and_settings(text, &["model.preset=big"]);
        assert_eq!(experiment, Ok(big_with_dropout()));
    }

    #[test]
    fn the_default_preset_keeps_the_other_keys_of_the_file() {
        let arguments = toml::toml! { model = { preset = "base" } };
        let experiment = with_file("[model]\ndropout = 0.25\n", arguments);
        let overrides = experiment.map(|experiment| experiment.model.overrides);
        assert_eq!(overrides, Ok(toml::toml! { dropout = 0.25 }));
    }
}
