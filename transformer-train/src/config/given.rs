//! Where the settings of an experiment come from: defaults, a file, arguments, single settings.

use std::path::PathBuf;

use toml::{Table, Value};

use crate::config::{ConfigError, Experiment, read, setting};

/// Names what a user gave for an experiment.
///
/// What comes later replaces what came before: the defaults of the task or the preset that is named, the
/// file, the arguments, the single settings. Text without a file and a preset is trained on as
/// `tiny` says, and without text the task is `numbers`.
///
/// # Example
///
/// ```
/// use transformer_train::config::Given;
///
/// let given = Given {
///     settings: vec!["training.updates=9".to_owned(), "data.src=train.en".to_owned()],
///     ..Given::default()
/// };
/// let experiment = given.experiment()?;
/// assert_eq!(experiment.training.updates, 9);
/// # Ok::<(), transformer_train::config::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// A TOML file.
    pub file: Option<PathBuf>,
    /// Settings in tables, as a file has them. A task, or text to train on, takes the place of both in
    /// the file; another preset than the file's takes the place of its whole `[model]`.
    pub arguments: Table,
    /// Settings of the form `section.key=value`. The value is one of TOML; where the key wants text, it
    /// needs no quotes.
    pub settings: Vec<String>,
}

/// The keys of `[data]` that say what is trained on.
const TRAIN_KEYS: [&str; 5] = ["task", "src", "tgt", "tsv", "corpora"];

/// The keys of `[data]` that say what is validated on.
const VALID_KEYS: [&str; 3] = ["valid_src", "valid_tgt", "valid_tsv"];

impl Given {
    /// Puts the experiment together.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] that names the file and line, or the setting, which is wrong. Whether values
    /// fit together is for [`Experiment::validate`].
    pub fn experiment(&self) -> Result<Experiment, ConfigError> {
        let mut given = self.put_together()?;
        if self.file.is_none() && !names_data(&given) {
            put(&mut given, "data", "task", "numbers");
        }
        read::complete(given)
    }

    /// Puts the experiment together without the task that stands in for data that is not given.
    ///
    /// # Errors
    ///
    /// As [`experiment`](Self::experiment).
    pub fn without_task(&self) -> Result<Experiment, ConfigError> {
        read::complete(self.put_together()?)
    }

    fn put_together(&self) -> Result<Table, ConfigError> {
        let mut given = match &self.file {
            Some(path) => read::table_of(path)?,
            None => Table::new(),
        };
        make_way(&mut given, &self.arguments);
        read::replace(&mut given, self.arguments.clone());
        for setting in &self.settings {
            read::replace(&mut given, setting::table(setting)?);
        }
        let is_open = self.file.is_none() && value(&given, "model", "preset").is_none();
        if is_open && names_data(&given) && value(&given, "data", "task").is_none() {
            put(&mut given, "model", "preset", "tiny");
        }
        Ok(given)
    }
}

/// Says whether something is named to train on.
fn names_data(given: &Table) -> bool {
    let mut keys = TRAIN_KEYS.iter();
    keys.any(|key| value(given, "data", key).is_some())
}

/// Takes out of a file what arguments take the place of, although they are other keys.
fn make_way(file: &mut Table, arguments: &Table) {
    let gives = |keys: &[&str]| {
        keys.iter()
            .any(|key| value(arguments, "data", key).is_some())
    };
    for keys in [&TRAIN_KEYS[..], &VALID_KEYS] {
        if let (true, Some(Value::Table(data))) = (gives(keys), file.get_mut("data")) {
            data.retain(|key, _| !keys.contains(&key));
        }
    }
    let preset = value(arguments, "model", "preset");
    if preset.is_some() && preset != value(file, "model", "preset") {
        file.remove("model");
    }
}

fn value<'a>(table: &'a Table, section: &str, key: &str) -> Option<&'a Value> {
    table.get(section)?.get(key)
}

fn put(table: &mut Table, section: &str, key: &str, value: &str) {
    let keys = Table::from_iter([(key.to_owned(), Value::from(value))]);
    let tables = Table::from_iter([(section.to_owned(), Value::Table(keys))]);
    read::replace(table, tables);
}

#[cfg(test)]
mod tests {
    use transformer_core::Preset;

    use super::*;
    use crate::tasks::Task;

    fn given(settings: &[&str]) -> Given {
        Given {
            settings: settings.iter().map(|&setting| setting.to_owned()).collect(),
            ..Given::default()
        }
    }

    fn with_file(text: &str, arguments: Table) -> Result<Experiment, ConfigError> {
        let dir = tempfile::tempdir().expect("the system has temporary directories");
        let path = dir.path().join("run.toml");
        std::fs::write(&path, text).expect("the temporary directory is writable");
        let given = Given {
            file: Some(path),
            arguments,
            ..Given::default()
        };
        given.experiment()
    }

    #[test]
    fn nothing_given_is_the_task_numbers() {
        let experiment = Given::default().experiment();
        assert_eq!(experiment, Ok(Experiment::for_task(Task::Numbers)));
    }

    #[test]
    fn a_preset_alone_is_shown_without_a_task() {
        let experiment = given(&["model.preset=big"]).without_task();
        assert_eq!(experiment, Ok(Experiment::for_preset(Preset::Big)));
        assert_eq!(Given::default().without_task(), Ok(Experiment::default()));
    }

    #[test]
    fn text_alone_is_trained_on_by_the_recipe_for_small_data() {
        let experiment = given(&["data.tsv=a.tsv"]).experiment();
        let mut expected = Experiment::for_preset(Preset::Tiny);
        expected.data.tsv = Some("a.tsv".into());
        assert_eq!(experiment, Ok(expected));
    }

    #[test]
    fn the_last_of_two_settings_counts() {
        let experiment = given(&["training.updates=5", "training.updates=6"]).experiment();
        assert_eq!(experiment.map(|it| it.training.updates), Ok(6));
    }

    #[test]
    fn a_task_that_is_set_brings_its_recipe() {
        let experiment = given(&["data.task=copy", "training.seed=3"]).experiment();
        let mut expected = Experiment::for_task(Task::Copy);
        expected.training.seed = 3;
        assert_eq!(experiment, Ok(expected));
    }

    #[test]
    fn a_task_asked_for_replaces_that_of_the_file() {
        let arguments = toml::toml! { data = { task = "copy" } };
        let experiment = with_file("[data]\ntask = \"numbers\"\n", arguments);
        assert_eq!(experiment, Ok(Experiment::for_task(Task::Copy)));
    }

    #[test]
    fn text_asked_for_replaces_that_of_the_file() {
        let arguments = toml::toml! { data = { tsv = "other.tsv" } };
        let experiment = with_file("[data]\nsrc = \"a\"\ntgt = \"b\"\nmax_len = 7\n", arguments);
        let mut expected = Experiment::default();
        expected.data.tsv = Some("other.tsv".into());
        expected.data.max_len = 7;
        assert_eq!(experiment, Ok(expected));
    }

    #[test]
    fn another_preset_replaces_the_whole_model_of_the_file() {
        let arguments = toml::toml! { model = { preset = "big" } };
        let experiment = with_file("[model]\npreset = \"tiny\"\nd_ff = 7\n", arguments);
        assert_eq!(experiment, Ok(Experiment::for_preset(Preset::Big)));
    }

    #[test]
    fn the_same_preset_leaves_the_model_of_the_file() {
        let arguments = toml::toml! { model = { preset = "tiny" } };
        let experiment = with_file("[model]\npreset = \"tiny\"\nd_ff = 7\n", arguments);
        let overrides = experiment.map(|experiment| experiment.model.overrides);
        assert_eq!(overrides, Ok(toml::toml! { d_ff = 7 }));
    }
}
