//! From a TOML file to an [`Experiment`], strictly.

use std::fs;
use std::ops::Range;
use std::path::Path;

use toml::{Table, Value};
use transformer_core::TransformerConfig;

use crate::config::{ConfigError, Experiment, ModelSettings, nearest};

pub(super) fn read(path: &Path) -> Result<Experiment, ConfigError> {
    complete(table_of(path)?)
}

/// Reads a file strictly, as the settings that it gives.
pub(super) fn table_of(path: &Path) -> Result<Table, ConfigError> {
    let file = path.display().to_string();
    match fs::read_to_string(path) {
        Ok(text) => table(&text, &file),
        Err(source) => Err(ConfigError::Read { file, source }),
    }
}

pub(super) fn parse(text: &str, file: &str) -> Result<Experiment, ConfigError> {
    complete(table(text, file)?)
}

fn table(text: &str, file: &str) -> Result<Table, ConfigError> {
    let explain = |error: &toml::de::Error| explain(error, text, file);
    let plain: Experiment = toml::from_str(text).map_err(|error| explain(&error))?;
    refuse_wrong_model_keys(&plain, text, file)?;
    toml::from_str(text).map_err(|error| explain(&error))
}

/// Checks settings that have no file, as strictly, and says in the reader's words what is wrong.
pub(super) fn check(given: &Table) -> Result<(), String> {
    let message = |error: &toml::de::Error| error.message().trim().replace('\n', "; ");
    let plain: Experiment = given.clone().try_into().map_err(|error| message(&error))?;
    let mut model = ModelSettings::every_key().map_err(|error| error.to_string())?;
    ModelSettings::put_over(&mut model, plain.model.overrides);
    let model = model.try_into::<TransformerConfig>();
    model.map(drop).map_err(|error| message(&error))
}

/// Puts settings that were checked over the defaults of the task, or of the preset, that they name.
pub(super) fn complete(given: Table) -> Result<Experiment, ConfigError> {
    let wrong = |error: &toml::de::Error| wrong(error, "", "the settings", 1);
    let plain: Experiment = given.clone().try_into().map_err(|error| wrong(&error))?;
    let mut merged = Table::try_from(defaults(&plain)).map_err(ConfigError::Write)?;
    replace(&mut merged, given);
    merged.try_into().map_err(|error| wrong(&error))
}

/// Returns the settings of the task, or of the preset, that an experiment names.
pub(super) fn defaults(experiment: &Experiment) -> Experiment {
    match experiment.data.task {
        Some(task) => Experiment::for_task(task),
        None => Experiment::for_preset(experiment.model.preset),
    }
}

/// Checks the keys and values of `[model]`, which are free for the reader of TOML, against the model's.
fn refuse_wrong_model_keys(
    experiment: &Experiment,
    text: &str,
    file: &str,
) -> Result<(), ConfigError> {
    let full = ModelSettings::every_key()?;
    let known: Vec<String> = full.keys().cloned().collect();
    for (name, value) in &experiment.model.overrides {
        let section = text
            .lines()
            .position(|line| line.trim() == "[model]")
            .unwrap_or(0);
        let is_it = |line: &str| line.trim_start().starts_with(name.as_str());
        let line = section + text.lines().skip(section).position(is_it).unwrap_or(0) + 1;
        if !full.contains_key(name) {
            let place = format!("`{file}` line {line}");
            return Err(unknown(place, name.clone(), known));
        }
        let mut table = full.clone();
        let given = Table::from_iter([(name.clone(), value.clone())]);
        ModelSettings::put_over(&mut table, given);
        let read = table.try_into::<TransformerConfig>();
        if let Err(error) = read {
            return Err(wrong(&error, text, file, line));
        }
    }
    Ok(())
}

/// Replaces values by those given, table by table.
pub(super) fn replace(table: &mut Table, given: Table) {
    for (key, value) in given {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(inner)), Value::Table(value)) => replace(inner, value),
            (_, value) => {
                table.insert(key, value);
            }
        }
    }
}

/// Says in our words, with file and line, what the reader of TOML found.
fn explain(error: &toml::de::Error, text: &str, file: &str) -> ConfigError {
    let Range { start, .. } = error.span().unwrap_or(0..0);
    let before = text.get(..start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    wrong(error, text, file, line)
}

/// Says what the reader of TOML found on this line.
fn wrong(error: &toml::de::Error, text: &str, file: &str, line: usize) -> ConfigError {
    let message = error.message();
    if let Some((name, known)) = unknown_name(message) {
        return unknown(format!("`{file}` line {line}"), name, known);
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

/// Finds in a message of the reader the name that is not known, and those that are.
pub(super) fn unknown_name(message: &str) -> Option<(String, Vec<String>)> {
    let starts = ["unknown field `", "unknown variant `"];
    if !starts.iter().any(|start| message.starts_with(start)) {
        return None;
    }
    let mut quoted = message.split('`').skip(1).step_by(2);
    let name = quoted.next()?.to_owned();
    Some((name, quoted.map(str::to_owned).collect()))
}

pub(super) fn unknown(place: String, name: String, known: Vec<String>) -> ConfigError {
    let nearest = nearest(&name, known.iter().map(String::as_str)).map(str::to_owned);
    ConfigError::Unknown {
        place,
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
        let read = parse(text, "run.toml");
        read.expect_err("the text is wrong").to_string()
    }

    #[test]
    fn unknown_keys_are_refused_with_line_and_nearest_key() {
        assert_eq!(
            message("[training]\nupdates = 5\nwarmup_step = 7\n"),
            "`run.toml` line 3: `warmup_step` is not known here; did you mean `warmup_steps`?"
        );
    }

    #[test]
    fn unknown_sections_are_refused_with_line_and_nearest_section() {
        assert_eq!(
            message("[data]\ntask = \"copy\"\n\n[trainning]\nupdates = 5\n"),
            "`run.toml` line 4: `trainning` is not known here; did you mean `training`?"
        );
    }

    #[test]
    fn unknown_model_keys_are_refused_with_line_and_nearest_key() {
        assert_eq!(
            message("[data]\nsrc = \"a\"\ntgt = \"b\"\n[model]\npreset = \"tiny\"\nd_modle = 7\n"),
            "`run.toml` line 6: `d_modle` is not known here; did you mean `d_model`?"
        );
    }

    #[test]
    fn a_preset_brings_its_recipe() {
        let read = parse("[model]\npreset = \"tiny\"\n", "run.toml");
        let experiment = read.expect("the text is right");
        assert_eq!(experiment, Experiment::for_preset(Preset::Tiny));
    }

    #[test]
    fn keys_unlike_all_others_get_the_list() {
        assert_eq!(
            message("\nqqqqqq = 1\n"),
            "`run.toml` line 2: `qqqqqq` is not known here; choose one of data, tokenizer, model, \
             finetune, embeddings, training, validation"
        );
    }

    #[test]
    fn unknown_names_are_refused_with_line_and_nearest_name() {
        assert_eq!(
            message("[data]\ntask = \"revers\"\n"),
            "`run.toml` line 2: `revers` is not known here; did you mean `reverse`?"
        );
    }

    #[test]
    fn unknown_presets_are_refused_with_line_and_nearest_name() {
        assert_eq!(
            message("[model]\nd_ff = 7\npreset = \"bse\"\n"),
            "`run.toml` line 3: `bse` is not known here; did you mean `base`?"
        );
    }

    #[test]
    fn values_of_the_wrong_kind_are_shown() {
        assert_eq!(
            message("[training]\nupdates = \"many\"\n"),
            "`run.toml` line 2: invalid type: string \"many\", expected u64, in `updates = \"many\"`"
        );
    }

    #[test]
    fn negative_counts_are_refused() {
        let message = message("[data]\nmax_len = -1\n");
        assert!(
            message.starts_with("`run.toml` line 2: invalid value: "),
            "{message}"
        );
    }

    #[test]
    fn text_that_is_no_toml_is_refused_in_one_line() {
        let message = message("[data]\ntask = \n");
        assert!(message.starts_with("`run.toml` line 2: "), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }

    #[test]
    fn missing_files_are_named() {
        let error = read(Path::new("no/such.toml")).expect_err("it is missing");
        assert!(
            error
                .to_string()
                .starts_with("cannot read `no/such.toml`: "),
            "{error}"
        );
    }

    #[test]
    fn an_empty_file_is_the_paper() {
        assert_eq!(parse("", "run.toml"), Ok(Experiment::default()));
    }

    #[test]
    fn a_task_brings_its_own_defaults_under_the_keys_given() {
        let text = "[data]\ntask = \"numbers\"\n[training]\nupdates = 9\n[model]\nn_heads = 2\n";
        let experiment = parse(text, "run.toml").expect("the text is right");
        let mut expected = Experiment::for_task(Task::Numbers);
        expected.training.updates = 9;
        expected
            .model
            .overrides
            .insert("n_heads".to_owned(), Value::Integer(2));
        assert_eq!(experiment, expected);
    }

    #[test]
    fn the_settings_in_effect_are_read_back() {
        let mut experiment = Experiment::for_task(Task::Reverse);
        experiment.training.clip_norm = Some(1.0);
        experiment.tokenizer.vocabulary = Vocabulary::Separate;
        experiment.tokenizer.tgt_vocab_size = Some(40);
        experiment.model.preset = Preset::Big;
        experiment
            .model
            .overrides
            .insert("dropout".to_owned(), Value::Float(0.25));
        let text = experiment.to_toml().expect("all values fit");
        assert_eq!(parse(&text, "run.toml"), Ok(experiment));
    }

    #[test]
    fn the_paper_is_read_back() {
        let text = Experiment::default().to_toml().expect("all values fit");
        assert_eq!(parse(&text, "run.toml"), Ok(Experiment::default()));
    }
}
