//! Reads an [`Experiment`] from TOML, strictly: unknown keys and wrong types are errors with file and line.

use std::ops::Range;
use std::path::Path;

use serde::de::DeserializeOwned;
use toml::{Table, Value};
use transformer_core::TransformerConfig;
use transformer_core::regular_file::{self, MAX_SETTINGS_BYTES};

use crate::config::{ConfigError, Experiment, ModelSettings};
use crate::tasks::nearest;

/// The fields of a model that follow from the tokenizers, and are no settings.
pub(super) const FROM_TOKENIZERS: [&str; 2] = ["src_vocab_size", "tgt_vocab_size"];

impl Experiment {
    /// Reads a TOML file. The defaults of missing keys are those of the task that the file names,
    /// or otherwise those of its preset.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] for a file that cannot be read, and, with file and line, for an unknown key or a value
    /// of the wrong type. [`validate`](Self::validate) checks whether the values are consistent.
    pub fn from_toml(path: &Path) -> Result<Self, ConfigError> {
        complete(table_from(path)?)
    }

    /// Reads the text of a TOML file, which errors call `name`.
    ///
    /// # Errors
    ///
    /// As [`from_toml`](Self::from_toml).
    pub fn from_toml_text(text: &str, name: &str) -> Result<Self, ConfigError> {
        complete(table(text, name)?)
    }

    /// Writes every setting in effect as TOML. Reading it gives this experiment.
    ///
    /// # Errors
    ///
    /// Returns [`ConfigError::Write`] for a path that is not UTF-8 or a seed of 2^63 or more.
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        toml::to_string(self).map_err(ConfigError::Write)
    }
}

/// Reads a file, and returns only the settings that it contains.
pub(super) fn table_from(path: &Path) -> Result<Table, ConfigError> {
    let file = path.display().to_string();
    match regular_file::read_stream_text(path, MAX_SETTINGS_BYTES) {
        Ok(text) => table(&text, &file),
        Err(source) => Err(ConfigError::Read { file, source }),
    }
}

fn table(text: &str, file: &str) -> Result<Table, ConfigError> {
    let parse_error = |error: &toml::de::Error| located_error(error, text, file);
    let experiment: Experiment = toml::from_str(text).map_err(|error| parse_error(&error))?;
    check_model_keys(&experiment, text, file)?;
    toml::from_str(text).map_err(|error| parse_error(&error))
}

/// Checks settings that do not come from a file as strictly; the error is the message of the TOML parser.
pub(super) fn check(settings: &Table) -> Result<(), String> {
    let message = |error: toml::de::Error| error.message().trim().replace('\n', "; ");
    let experiment: Experiment = settings.clone().try_into().map_err(message)?;
    check_model(experiment.model.overrides).map_err(message)
}

/// Adds the defaults of the task or the preset that checked settings name.
pub(super) fn complete(settings: Table) -> Result<Experiment, ConfigError> {
    let parse_error = |error: &toml::de::Error| toml_error(error, "", "the settings", 1);
    let named: Experiment = settings
        .clone()
        .try_into()
        .map_err(|error| parse_error(&error))?;
    let mut merged = Table::try_from(named.defaults()).map_err(ConfigError::Write)?;
    replace(&mut merged, settings);
    merged.try_into().map_err(|error| parse_error(&error))
}

/// Checks the keys and values of `[model]` against the model's fields, which the first reading does not.
fn check_model_keys(experiment: &Experiment, text: &str, file: &str) -> Result<(), ConfigError> {
    for (name, value) in &experiment.model.overrides {
        if let Err(error) = check_model(Table::from_iter([(name.clone(), value.clone())])) {
            let section = text.lines().position(|line| line.trim() == "[model]");
            let section = section.unwrap_or(0);
            let has_key = |line: &str| line.trim_start().starts_with(name.as_str());
            let line = section + text.lines().skip(section).position(has_key).unwrap_or(0) + 1;
            return Err(toml_error(&error, text, file, line));
        }
    }
    Ok(())
}

fn check_model(overrides: Table) -> Result<(), toml::de::Error> {
    let mut model = Table::new();
    ModelSettings::apply(&mut model, overrides);
    model.try_into::<TransformerConfig>().map(drop)
}

pub(super) fn sections() -> Vec<(String, Vec<String>)> {
    let sections = fields::<Experiment>(|unknown| unknown).into_iter();
    let with_keys = sections.map(|section| {
        let keys = match section.as_str() {
            "model" => [vec!["preset".to_owned()], model_keys()].concat(),
            _ => fields::<Experiment>(|unknown| {
                Table::from_iter([(section.clone(), Value::Table(unknown))])
            }),
        };
        (section, keys)
    });
    with_keys.collect()
}

/// Returns every key, as `section.key`.
pub(crate) fn keys() -> Vec<String> {
    let with_section = |(section, keys): (String, Vec<String>)| {
        keys.into_iter().map(move |key| format!("{section}.{key}"))
    };
    sections().into_iter().flat_map(with_section).collect()
}

pub(super) fn model_keys() -> Vec<String> {
    let keys = fields::<TransformerConfig>(|unknown| unknown);
    let is_set_by_tokenizers = |key: &String| FROM_TOKENIZERS.contains(&key.as_str());
    keys.into_iter()
        .filter(|key| !is_set_by_tokenizers(key))
        .collect()
}

/// Returns the names of the fields of a struct, which serde lists in order when it meets an unknown one.
fn fields<T: DeserializeOwned>(table_with: impl Fn(Table) -> Table) -> Vec<String> {
    let unknown = Table::from_iter([(String::new(), Value::from(0))]);
    let refused = table_with(unknown).try_into::<T>().err();
    let names = refused.and_then(|error| unknown_name(error.message()));
    names.map(|(_, known)| known).unwrap_or_default()
}

pub(super) fn value<'a>(table: &'a Table, section: &str, key: &str) -> Option<&'a Value> {
    table.get(section)?.get(key)
}

/// Replaces the values of a table by those of another, recursively.
pub(super) fn replace(table: &mut Table, other: Table) {
    for (key, value) in other {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(inner)), Value::Table(value)) => replace(inner, value),
            (_, value) => {
                table.insert(key, value);
            }
        }
    }
}

/// Sets a key of a section, which is made if it is missing.
pub(crate) fn put(settings: &mut Table, section: &str, key: &str, value: impl Into<Value>) {
    let section = settings
        .entry(section)
        .or_insert_with(|| Table::new().into());
    if let Some(section) = section.as_table_mut() {
        section.insert(key.to_owned(), value.into());
    }
}

fn located_error(error: &toml::de::Error, text: &str, file: &str) -> ConfigError {
    let Range { start, .. } = error.span().unwrap_or(0..0);
    let before = text.get(..start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    toml_error(error, text, file, line)
}

fn toml_error(error: &toml::de::Error, text: &str, file: &str, line: usize) -> ConfigError {
    let message = error.message();
    if let Some((name, known)) = unknown_name(message) {
        return unknown(format!("`{file}`, line {line}"), name, known);
    }
    ConfigError::Toml {
        file: file.to_owned(),
        line,
        message: message.trim().replace('\n', "; "),
        text: text
            .lines()
            .nth(line - 1)
            .unwrap_or_default()
            .trim()
            .to_owned(),
    }
}

/// Finds the unknown name and the known ones in a message of the TOML parser.
pub(super) fn unknown_name(message: &str) -> Option<(String, Vec<String>)> {
    let starts = ["unknown field `", "unknown variant `"];
    if !starts.iter().any(|start| message.starts_with(start)) {
        return None;
    }
    let mut quoted = message.split('`').skip(1).step_by(2);
    let name = quoted.next()?.to_owned();
    Some((name, quoted.map(str::to_owned).collect()))
}

pub(super) fn unknown(location: String, name: String, known: Vec<String>) -> ConfigError {
    let nearest = nearest(&name, known.iter().map(String::as_str)).map(str::to_owned);
    ConfigError::Unknown {
        location,
        name,
        nearest,
        known,
    }
}

#[cfg(test)]
mod tests {
    use transformer_core::Preset;

    use super::*;
    use crate::config::Vocabulary;
    use crate::tasks::Task;

    fn message(text: &str) -> String {
        let read = Experiment::from_toml_text(text, "run.toml");
        read.expect_err("the text is invalid").to_string()
    }

    #[test]
    fn unknown_keys_are_refused_with_line_and_nearest_key() {
        assert_eq!(
            message("[training]\nupdates = 5\nwarmup_step = 7\n"),
            "`run.toml`, line 3: `warmup_step` is unknown here; did you mean `warmup_steps`?"
        );
    }

    #[test]
    fn unknown_sections_are_refused_with_line_and_nearest_section() {
        assert_eq!(
            message("[data]\ntask = \"copy\"\n\n[trainning]\nupdates = 5\n"),
            "`run.toml`, line 4: `trainning` is unknown here; did you mean `training`?"
        );
    }

    #[test]
    fn unknown_model_keys_are_refused_with_line_and_nearest_key() {
        assert_eq!(
            message("[data]\nsrc = \"a\"\ntgt = \"b\"\n[model]\npreset = \"tiny\"\nd_modle = 7\n"),
            "`run.toml`, line 6: `d_modle` is unknown here; did you mean `d_model`?"
        );
    }

    #[test]
    fn a_preset_selects_its_recipe() {
        let read = Experiment::from_toml_text("[model]\npreset = \"tiny\"\n", "run.toml");
        let experiment = read.expect("the text is valid");
        assert_eq!(experiment, Experiment::for_preset(Preset::Tiny));
    }

    #[test]
    fn keys_without_a_similar_one_are_refused_with_the_list() {
        assert_eq!(
            message("\nqqqqqq = 1\n"),
            "`run.toml`, line 2: `qqqqqq` is unknown here; choose one of data, tokenizer, model, \
             finetune, adapters, embeddings, training, validation, report"
        );
    }

    #[test]
    fn unknown_names_are_refused_with_line_and_nearest_name() {
        assert_eq!(
            message("[data]\ntask = \"revers\"\n"),
            "`run.toml`, line 2: `revers` is unknown here; did you mean `reverse`?"
        );
    }

    #[test]
    fn unknown_presets_are_refused_with_line_and_nearest_name() {
        assert_eq!(
            message("[model]\nd_ff = 7\npreset = \"bse\"\n"),
            "`run.toml`, line 3: `bse` is unknown here; did you mean `base`?"
        );
    }

    #[test]
    fn values_of_the_wrong_type_are_refused_with_the_line() {
        assert_eq!(
            message("[training]\nupdates = \"many\"\n"),
            "`run.toml`, line 2: invalid type: string \"many\", expected u64, in `updates = \"many\"`"
        );
    }

    #[test]
    fn negative_counts_are_refused() {
        let message = message("[data]\nmax_len = -1\n");
        assert!(
            message.starts_with("`run.toml`, line 2: invalid value: "),
            "{message}"
        );
    }

    #[test]
    fn invalid_toml_is_refused_with_a_message_of_one_line() {
        let message = message("[data]\ntask = \n");
        assert!(message.starts_with("`run.toml`, line 2: "), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }

    #[test]
    fn missing_files_are_named() {
        let error = Experiment::from_toml(Path::new("no/such.toml")).expect_err("it is missing");
        assert!(
            error
                .to_string()
                .starts_with("cannot read `no/such.toml`: "),
            "{error}"
        );
    }

    #[test]
    fn an_empty_file_is_the_default_experiment() {
        assert_eq!(
            Experiment::from_toml_text("", "run.toml"),
            Ok(Experiment::default())
        );
    }

    #[test]
    fn a_task_provides_the_defaults_of_missing_keys() {
        let text = "[data]\ntask = \"numbers\"\n[training]\nupdates = 9\n[model]\nn_heads = 2\n";
        let experiment = Experiment::from_toml_text(text, "run.toml").expect("the text is valid");
        let mut expected = Experiment::for_task(Task::Numbers);
        expected.training.updates = 9;
        expected
            .model
            .overrides
            .insert("n_heads".to_owned(), Value::Integer(2));
        assert_eq!(experiment, expected);
    }

    #[test]
    fn written_settings_are_read_back() {
        let mut experiment = Experiment::for_task(Task::Reverse);
        experiment.training.clip_norm = Some(1.0);
        experiment.tokenizer.vocabulary = Vocabulary::Separate;
        experiment.tokenizer.tgt_vocab_size = Some(40);
        experiment.model.preset = Preset::Big;
        experiment
            .model
            .overrides
            .insert("dropout".to_owned(), Value::Float(0.25));
        let text = experiment.to_toml().expect("TOML has these values");
        assert_eq!(
            Experiment::from_toml_text(&text, "run.toml"),
            Ok(experiment)
        );
    }

    #[test]
    fn the_default_experiment_is_read_back() {
        let text = Experiment::default()
            .to_toml()
            .expect("TOML has these values");
        assert_eq!(
            Experiment::from_toml_text(&text, "run.toml"),
            Ok(Experiment::default())
        );
    }
}
