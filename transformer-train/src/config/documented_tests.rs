//! Tests of the documented settings: they are read back, complete and up to date.

use std::fs;

use toml::{Table, Value};
use transformer_core::Preset;

use super::schema::comment;
use crate::config::{Experiment, read, schema};
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

fn documented(experiment: &Experiment) -> String {
    let text = experiment.to_documented_toml();
    text.expect("TOML has these values")
}

fn sections(experiment: &Experiment) -> Table {
    Table::try_from(experiment).expect("TOML has these values")
}

#[test]
fn the_defaults_are_read_back() {
    let text = documented(&Experiment::default());
    let read = Experiment::from_toml_text(&text, "all.toml");
    assert_eq!(read, Ok(Experiment::default()));
}

#[test]
fn every_preset_is_read_back() {
    for preset in Preset::ALL {
        let experiment = Experiment::for_preset(preset);
        let text = documented(&experiment);
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
        let text = documented(&experiment);
        assert_eq!(
            Experiment::from_toml_text(&text, "all.toml"),
            Ok(experiment)
        );
    }
}

/// serde writes every field that is set, so this finds a field that is not documented.
#[test]
fn every_key_that_is_written_is_documented() {
    let keys = read::keys();
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
}

/// Values that come from a preset must not outlive it.
#[test]
fn naming_another_preset_in_the_written_file_selects_its_recipe() {
    for preset in Preset::ALL {
        let text = documented(&Experiment::for_preset(preset));
        let named = format!("preset = \"{preset}\"");
        let text = text.replace(&named, "preset = \"multi30k\"");
        let read = Experiment::from_toml_text(&text, "all.toml");
        assert_eq!(read, Ok(Experiment::for_preset(Preset::Multi30k)));
    }
}

#[test]
fn the_first_line_names_the_preset_or_the_task() {
    let first = |experiment: &Experiment| {
        let text = documented(experiment);
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
    let text = uncommented(&documented(&Experiment::default()));
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
    assert_eq!(n_read, read::keys().len());
}

#[test]
fn every_key_has_a_meaning() {
    let schema = schema::settings();
    for (section, keys) in read::sections() {
        assert!(!keys.is_empty(), "{section}");
        for key in keys {
            let described = &schema["properties"][&section]["properties"][&key];
            assert!(schema::description(described).len() > 10, "{section}.{key}");
        }
    }
}

/// Editors must not refuse what the program reads, nor the reverse.
#[test]
fn the_schema_has_the_keys_that_are_read() {
    let schema = schema::settings();
    for (section, mut keys) in read::sections() {
        let described = &schema["properties"][&section];
        assert_eq!(described["additionalProperties"], false, "{section}");
        let names = described["properties"]
            .as_object()
            .map(|it| it.keys().cloned().collect());
        keys.sort();
        for key in &keys {
            let values = described["properties"][key].to_string();
            assert!(
                values.matches(r#""const":"none""#).count() < 2,
                "{section}.{key}"
            );
        }
        assert_eq!(names, Some(keys));
    }
    assert!(!schema.to_string().contains("null"), "TOML has no null");
}

/// With `UPDATE=1` in the environment, this writes the files.
#[test]
fn the_documents_of_the_settings_are_up_to_date() {
    let printed = documented(&Experiment::default());
    let schema = serde_json::to_string_pretty(&schema::settings()).expect("JSON has these values");
    let documents = [
        (
            "toml",
            "#:schema configuration.schema.json\n".to_owned() + &printed,
        ),
        ("schema.json", schema + "\n"),
    ];
    for (extension, expected) in documents {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/configuration");
        let path = format!("{folder}.{extension}");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, &expected).expect("the repository is writable");
        }
        let file = fs::read_to_string(&path).expect("the test runs in the repository");
        assert!(
            file == expected,
            "run `UPDATE=1 cargo test -p transformer-train --lib config`"
        );
    }
}

#[test]
fn comments_are_broken_between_words() {
    let mut text = String::new();
    comment(&mut text, &"word ".repeat(30));
    let lengths: Vec<usize> = text.lines().map(str::len).collect();
    assert_eq!(lengths, [96, 56]);
    assert!(text.lines().all(|line| line.starts_with("# word")));
}
