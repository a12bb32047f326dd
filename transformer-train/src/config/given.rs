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
    /// Settings in tables, as a file has them. Here and in `settings`, a task takes the place of all text in
    /// the file, text that of a task, and a preset brings what the file does not say: keys that the file has
    /// in `[model]` or elsewhere stay.
    pub arguments: Table,
    /// Settings of the form `section.key=value`. The value is one of TOML; where the key wants text, it
    /// needs no quotes. A key without which one can do is taken back with `none`.
    pub settings: Vec<String>,
}

/// The keys of `[data]` that say what is trained on.
const TRAIN_KEYS: [&str; 5] = ["task", "src", "tgt", "tsv", "corpora"];

/// Keys of `[data]`, and those in a file that they take the place of.
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

    /// Puts the experiment together; a preset without data is left without, to be shown and given data later.
    ///
    /// # Errors
    ///
    /// As [`experiment`](Self::experiment).
    pub fn without_task(&self) -> Result<Experiment, ConfigError> {
        let given = self.put_together()?;
        match value(&given, "model", "preset") {
            Some(_) => read::complete(given),
            None => self.experiment(),
        }
    }

    fn put_together(&self) -> Result<Table, ConfigError> {
        let mut given = match &self.file {
            Some(path) => read::table_of(path)?,
            None => Table::new(),
        };
        let mut over = self.arguments.clone();
        for setting in &self.settings {
            read::replace(&mut over, setting::table(setting)?);
        }
        make_way(&mut given, &over);
        read::replace(&mut given, over);
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

/// Takes out of a file what is given in place of it, under other keys.
fn make_way(file: &mut Table, given: &Table) {
    let Some(Value::Table(data)) = file.get_mut("data") else {
        return;
    };
    for (keys, replaced) in REPLACED {
        if keys.iter().any(|key| value(given, "data", key).is_some()) {
            data.retain(|key, _| !replaced.contains(&key));
        }
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
    }

    #[test]
    fn what_is_shown_without_a_preset_is_what_is_trained() {
        let shown = Given::default().without_task();
        assert_eq!(shown, Ok(Experiment::for_task(Task::Numbers)));
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

    const CORPORA: &str = "[[data.corpora]]\nsrc = \"a\"\ntgt = \"b\"\n";

    #[test]
    fn corpora_of_the_file_make_way_for_other_text() {
        let experiment = with_file(CORPORA, toml::toml! { data = { task = "copy" } });
        assert_eq!(experiment, Ok(Experiment::for_task(Task::Copy)));
        let experiment = with_file(CORPORA, toml::toml! { data = { tsv = "other.tsv" } });
        let data = experiment.map(|experiment| (experiment.data.tsv, experiment.data.corpora));
        assert_eq!(data, Ok((Some("other.tsv".into()), Vec::new())));
    }

    #[test]
    fn corpora_asked_for_replace_the_text_of_the_file() {
        let corpora = toml::from_str(CORPORA).expect("it is a table");
        let experiment = with_file("[data]\ntask = \"copy\"\n", corpora);
        let data = experiment.map(|experiment| (experiment.data.task, experiment.data.corpora));
        let (task, corpora) = data.expect("nothing is given twice");
        assert_eq!((task, corpora.len()), (None, 1));
    }

    fn with_file_and_settings(text: &str, settings: &[&str]) -> Result<Experiment, ConfigError> {
        let dir = tempfile::tempdir().expect("the system has temporary directories");
        let path = dir.path().join("run.toml");
        std::fs::write(&path, text).expect("the temporary directory is writable");
        let file = Some(path);
        Given {
            file,
            ..given(settings)
        }
        .experiment()
    }

    #[test]
    fn a_task_replaces_the_validation_text_of_the_file() {
        let arguments = toml::toml! { data = { task = "copy" } };
        let text = "[data]\ntsv = \"a\"\nvalid_src = \"b\"\nvalid_tgt = \"c\"\n";
        let experiment = with_file(text, arguments);
        assert_eq!(experiment, Ok(Experiment::for_task(Task::Copy)));
    }

    #[test]
    fn a_task_that_is_set_replaces_the_text_of_the_file() {
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

    /// The recipe and what the file does not say are the other preset's.
    fn big_with_dropout() -> Experiment {
        let mut expected = Experiment::for_preset(Preset::Big);
        expected.model.overrides = toml::toml! { dropout = 0.25 };
        expected
    }

    #[test]
    fn another_preset_leaves_the_keys_of_the_file() {
        let arguments = toml::toml! { model = { preset = "big" } };
        let experiment = with_file("[model]\npreset = \"tiny\"\ndropout = 0.25\n", arguments);
        assert_eq!(experiment, Ok(big_with_dropout()));
    }

    #[test]
    fn a_preset_that_is_set_is_a_preset_asked_for() {
        let text = "[model]\npreset = \"tiny\"\ndropout = 0.25\n";
        let experiment = with_file_and_settings(text, &["model.preset=big"]);
        assert_eq!(experiment, Ok(big_with_dropout()));
    }

    #[test]
    fn the_preset_that_a_file_implies_leaves_its_model() {
        let arguments = toml::toml! { model = { preset = "base" } };
        let experiment = with_file("[model]\ndropout = 0.25\n", arguments);
        let overrides = experiment.map(|experiment| experiment.model.overrides);
        assert_eq!(overrides, Ok(toml::toml! { dropout = 0.25 }));
    }
}
