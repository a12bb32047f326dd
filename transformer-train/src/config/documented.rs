//! Every setting with its meaning, as a TOML file. The meanings are the doc comments of the
//! settings.

use toml::{Table, Value};

use crate::config::keys::SECTIONS;
use crate::config::section::Section;
use crate::config::{ConfigError, Experiment};

/// The width of comments, in characters.
const WIDTH: usize = 100;

impl Experiment {
    /// Returns a TOML file with every setting below a comment that explains it.
    ///
    /// Settings that have the value of the task or the preset are commented out, so that they
    /// change when another one is named. Reading the file gives this experiment.
    ///
    /// # Errors
    ///
    /// As [`to_toml`](Self::to_toml), or when a key in `[model]` is unknown.
    pub fn to_documented_toml(&self) -> Result<String, ConfigError> {
        to_toml(self)
    }
}

/// Returns every key, as `section.key`.
pub(crate) fn keys() -> Vec<String> {
    let of_section = |section: &'static Section| {
        let keys = section.keys.iter();
        keys.map(|key| format!("{}.{}", section.name, key.name))
    };
    SECTIONS.iter().flat_map(of_section).collect()
}

fn to_toml(experiment: &Experiment) -> Result<String, ConfigError> {
    let effective = Table::try_from(experiment).map_err(ConfigError::Write)?;
    let mut defaults = Table::try_from(experiment.defaults()).map_err(ConfigError::Write)?;
    let (named, section, key) = match experiment.data.task {
        Some(task) => (format!("task `{task}`"), "data", "task"),
        None => (
            format!("preset `{}`", experiment.model.preset),
            "model",
            "preset",
        ),
    };
    // The name of the task or the preset itself must not be commented out.
    if let Some(keys) = defaults.get_mut(section).and_then(Value::as_table_mut) {
        keys.remove(key);
    }
    let model = experiment
        .model
        .config(1, 1, experiment.tokenizer.vocabulary)?;
    let model = Table::try_from(model).map_err(ConfigError::Write)?;
    let mut text = String::new();
    comment(
        &mut text,
        &format!(
            "Every setting. A setting that is commented out has the value of the {named}, or an \
             example value if it has no default; remove the `#` to change it. Where a setting is \
             optional, \"none\" unsets the value of a preset or task."
        ),
    );
    for section in SECTIONS {
        text.push('\n');
        comment(&mut text, section.meaning);
        text.push_str(&format!("[{}]\n", section.name));
        let value_in = |table: &Table, key: &str| table.get(section.name)?.get(key).cloned();
        for key in section.keys {
            text.push('\n');
            comment(&mut text, key.meaning);
            let value = value_in(&effective, key.name);
            let is_default = value == value_in(&defaults, key.name);
            let of_preset = model.get(key.name).filter(|_| section.name == "model");
            let name = key.name;
            text.push_str(&match (value, of_preset) {
                (Some(value), _) if is_default => format!("# {name} = {value}\n"),
                (Some(value), _) => format!("{name} = {value}\n"),
                (None, Some(value)) => format!("# {name} = {value}\n"),
                (None, None) => format!("# {name} = {}\n", key.example.unwrap_or_default()),
            });
        }
    }
    Ok(text)
}

/// Appends a comment, with line breaks between words.
fn comment(text: &mut String, words: &str) {
    let mut width = 0;
    for word in words.split_whitespace() {
        let len = word.chars().count() + 1;
        if width == 0 || width + len > WIDTH {
            text.push_str(if width == 0 { "#" } else { "\n#" });
            width = 1;
        }
        text.push(' ');
        text.push_str(word);
        width += len;
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use transformer_core::Preset;

    use super::*;
    use crate::config::ModelSettings;
    use crate::tasks::Task;

    /// Returns every setting of a text without the `#` before it.
    fn uncommented(text: &str) -> String {
        let is_setting = |line: &&str| {
            let line = line.strip_prefix("# ").unwrap_or(line);
            let key = line.split(" = ").next().unwrap_or_default();
            let is_key = |key: &str| {
                key.chars()
                    .all(|c| c.is_ascii_lowercase() || "_0123456789".contains(c))
            };
            line.starts_with('[') || (line.contains(" = ") && is_key(key))
        };
        let lines = text.lines().filter(is_setting);
        let lines = lines.map(|line| line.strip_prefix("# ").unwrap_or(line));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn sections(experiment: &Experiment) -> Table {
        Table::try_from(experiment).expect("TOML has these values")
    }

    #[test]
    fn the_defaults_are_read_back() {
        let text = to_toml(&Experiment::default()).expect("TOML has these values");
        let read = Experiment::from_toml_text(&text, "all.toml");
        assert_eq!(read, Ok(Experiment::default()));
    }

    #[test]
    fn every_preset_is_read_back() {
        for preset in Preset::ALL {
            let experiment = Experiment::for_preset(preset);
            let text = to_toml(&experiment).expect("TOML has these values");
            assert_eq!(
                Experiment::from_toml_text(&text, "all.toml"),
                Ok(experiment)
            );
        }
    }

    #[test]
    fn every_task_is_read_back() {
        for task in Task::ALL {
            let experiment = Experiment::for_task(task);
            let text = to_toml(&experiment).expect("TOML has these values");
            assert_eq!(
                Experiment::from_toml_text(&text, "all.toml"),
                Ok(experiment)
            );
        }
    }

    /// serde writes every field that is set, so this finds a field that the generated table lacks.
    #[test]
    fn every_key_that_is_written_is_documented() {
        let keys = keys();
        for experiment in [Experiment::default(), Experiment::for_task(Task::Numbers)] {
            for (section, values) in sections(&experiment) {
                let values = values.as_table().cloned().unwrap_or_default();
                for key in values.keys() {
                    assert!(
                        keys.contains(&format!("{section}.{key}")),
                        "{section}.{key}"
                    );
                }
            }
        }
        let model = ModelSettings::every_key().expect("TOML has these values");
        let vocabulary_sizes = ["src_vocab_size", "tgt_vocab_size"];
        for key in model.keys() {
            if vocabulary_sizes.contains(&key.as_str()) {
                continue;
            }
            assert!(keys.contains(&format!("model.{key}")), "{key}");
        }
    }

    /// Values that come from a preset must not outlive it.
    #[test]
    fn naming_another_preset_in_the_written_file_selects_its_recipe() {
        for preset in Preset::ALL {
            let text = to_toml(&Experiment::for_preset(preset)).expect("TOML has these values");
            let named = format!("preset = \"{preset}\"");
            let text = text.replace(&named, "preset = \"multi30k\"");
            let read = Experiment::from_toml_text(&text, "all.toml");
            assert_eq!(read, Ok(Experiment::for_preset(Preset::Multi30k)));
        }
    }

    #[test]
    fn the_first_line_names_the_preset_or_the_task() {
        let first = |experiment: &Experiment| {
            let text = to_toml(experiment).expect("TOML has these values");
            text.lines().next().unwrap_or_default().to_owned()
        };
        let preset = first(&Experiment::for_preset(Preset::Iwslt));
        assert!(preset.contains("the preset `iwslt`"), "{preset}");
        let task = first(&Experiment::for_task(Task::Reverse));
        assert!(task.contains("the task `reverse`"), "{task}");
    }

    /// The reader refuses unknown keys, so every documented name is a real one.
    #[test]
    fn every_documented_key_can_be_read() {
        let text = uncommented(&to_toml(&Experiment::default()).expect("TOML has these values"));
        let read = Experiment::from_toml_text(&text, "all.toml").map(|_| ());
        assert_eq!(read, Ok(()));
        let table: Table = toml::from_str(&text).expect("it was just read");
        let n_keys = |table: &Table| {
            table
                .values()
                .filter_map(Value::as_table)
                .map(Table::len)
                .sum()
        };
        let n_read: usize = n_keys(&table);
        assert_eq!(n_read, keys().len());
    }

    #[test]
    fn every_key_has_a_meaning() {
        let keys = || SECTIONS.iter().flat_map(|section| section.keys);
        let undocumented = keys().find(|key| key.meaning.len() < 10);
        assert!(SECTIONS.iter().all(|section| !section.keys.is_empty()));
        assert_eq!(undocumented.map(|key| key.name), None);
    }

    #[test]
    fn the_documented_file_of_the_repository_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/configuration.toml");
        let file = std::fs::read_to_string(path).expect("the test runs in the repository");
        let (hint, settings) = file.split_once('\n').expect("it has several lines");
        assert_eq!(hint, "#:schema configuration.schema.json");
        let expected = to_toml(&Experiment::default()).expect("TOML has these values");
        assert!(settings == expected, "run `cargo xtask settings`");
    }

    #[test]
    fn comments_are_broken_between_words() {
        let mut text = String::new();
        comment(&mut text, &"word ".repeat(30));
        let lengths: Vec<usize> = text.lines().map(str::len).collect();
        assert_eq!(lengths, [96, 56]);
        assert!(text.lines().all(|line| line.starts_with("# word")));
    }
}
