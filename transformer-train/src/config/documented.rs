//! Every setting with its meaning, as a TOML file. The words are the doc comments of the fields
//! themselves, taken from the sources when the program is built, so that they cannot drift apart.

use toml::{Table, Value};

use crate::config::{ConfigError, Experiment, read};

/// The width of comments, in characters.
const WIDTH: usize = 100;

/// The sections: name, source and struct.
const SECTIONS: [(&str, &str, &str); 7] = [
    ("data", include_str!("data.rs"), "DataSettings"),
    (
        "tokenizer",
        include_str!("tokenizer.rs"),
        "TokenizerSettings",
    ),
    ("model", include_str!("model.rs"), "ModelSettings"),
    ("finetune", include_str!("finetune.rs"), "FinetuneSettings"),
    (
        "embeddings",
        include_str!("embeddings.rs"),
        "EmbeddingSettings",
    ),
    ("training", include_str!("training.rs"), "TrainingSettings"),
    (
        "validation",
        include_str!("training.rs"),
        "ValidationSettings",
    ),
];

/// The source of the model's own keys, which `[model]` takes too.
const MODEL: &str = include_str!("../../../transformer-core/src/config/transformer.rs");

/// The keys of the model that come from the text.
const FROM_TEXT: [&str; 2] = ["src_vocab_size", "tgt_vocab_size"];

/// A key with what its doc comment says.
struct Field {
    name: String,
    /// The type as the source writes it.
    kind: String,
    meaning: String,
}

impl Field {
    /// Returns a value that the key could have, where it has none.
    fn example(&self) -> &'static str {
        match self.kind.as_str() {
            "Option<PathBuf>" => "\"FILE\"",
            "Option<Task>" => "\"numbers\"",
            "Option<f64>" => "1.0",
            "Option<usize>" => "\"none\"",
            "Vec<CorpusSettings>" => "[{ src = \"FILE\", tgt = \"FILE\", weight = 1.0 }]",
            _ => "…",
        }
    }
}

/// Returns every key, as `section.key`.
pub(super) fn keys() -> Vec<String> {
    let of_section = |(section, source, name): (&str, &str, &str)| {
        let fields = section_fields(section, source, name).into_iter();
        let keys = fields.map(move |field| format!("{section}.{}", field.name));
        keys.collect::<Vec<_>>()
    };
    SECTIONS.into_iter().flat_map(of_section).collect()
}

/// Writes the settings of an experiment, each below its meaning. Keys that are as the task or the preset has
/// them stand there as comments, so that they follow when another is named.
pub(super) fn to_toml(experiment: &Experiment) -> Result<String, ConfigError> {
    let effective = Table::try_from(experiment).map_err(ConfigError::Write)?;
    let defaults = read::defaults(experiment);
    let mut defaults = Table::try_from(defaults).map_err(ConfigError::Write)?;
    let (named, section, key) = match experiment.data.task {
        Some(task) => (format!("task `{task}`"), "data", "task"),
        None => (
            format!("preset `{}`", experiment.model.preset),
            "model",
            "preset",
        ),
    };
    // The name itself must be read.
    if let Some(keys) = defaults.get_mut(section).and_then(Value::as_table_mut) {
        keys.remove(key);
    }
    let model = experiment
        .model
        .config(1, 1, experiment.tokenizer.vocabulary)?;
    let model = Table::try_from(model).map_err(ConfigError::Write)?;
    let headings = fields(include_str!("mod.rs"), "Experiment");
    let mut text = String::new();
    comment(
        &mut text,
        &format!(
            "Every setting. A line that begins with `#` has the value of the {named}, or an example where the \
             default is none; write it without the `#` to change it. \"none\" takes back what a preset or a \
             task has set, where there need not be a value."
        ),
    );
    for (section, source, name) in SECTIONS {
        let heading = headings.iter().find(|field| field.name == section);
        let heading = heading.map_or("", |field| field.meaning.as_str());
        let heading = heading.split(':').next().unwrap_or_default();
        text.push('\n');
        comment(&mut text, &format!("{heading}."));
        text.push_str(&format!("[{section}]\n"));
        for field in section_fields(section, source, name) {
            let set = effective
                .get(section)
                .and_then(|keys| keys.get(&field.name));
            text.push('\n');
            comment(&mut text, &field.meaning);
            let default = defaults.get(section).and_then(|keys| keys.get(&field.name));
            text.push_str(&match (set, model.get(&field.name)) {
                (Some(value), _) if set == default => format!("# {} = {value}\n", field.name),
                (Some(value), _) => format!("{} = {value}\n", field.name),
                (None, Some(value)) if section == "model" => {
                    format!("# {} = {value}\n", field.name)
                }
                _ => format!("# {} = {}\n", field.name, field.example()),
            });
        }
    }
    Ok(text)
}

fn section_fields(section: &str, source: &str, name: &str) -> Vec<Field> {
    let mut all = fields(source, name);
    if section == "model" {
        all.retain(|field| field.name != "overrides");
        all.extend(fields(MODEL, "TransformerConfig"));
        all.retain(|field| !FROM_TEXT.contains(&field.name.as_str()));
    }
    all
}

/// Reads the public fields of a struct, and their doc comments, from its source.
fn fields(source: &str, name: &str) -> Vec<Field> {
    let start = format!("pub struct {name} {{");
    let body = source.lines().skip_while(|line| **line != start).skip(1);
    let mut meaning = String::new();
    let mut found = Vec::new();
    for line in body.take_while(|line| *line != "}") {
        let line = line.trim();
        if let Some(words) = line.strip_prefix("///") {
            meaning.push_str(words);
        } else if let Some((name, kind)) = line
            .strip_prefix("pub ")
            .and_then(|field| field.split_once(": "))
        {
            found.push(Field {
                name: name.to_owned(),
                kind: kind.trim_end_matches(',').to_owned(),
                meaning: without_links(meaning.trim()),
            });
            meaning.clear();
        }
    }
    found
}

/// Turns links of the documentation into the names that they show.
fn without_links(text: &str) -> String {
    text.replace("[`", "`").replace("`]", "`")
}

/// Appends a comment, broken into lines between words.
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

    /// Returns every setting of a text, also those that are comments; examples left out are left out.
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
        lines
            .filter(|line| !line.ends_with('…'))
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn sections(experiment: &Experiment) -> Table {
        Table::try_from(experiment).expect("all values fit")
    }

    #[test]
    fn the_defaults_are_read_back() {
        let text = to_toml(&Experiment::default()).expect("all values fit");
        let read = Experiment::from_toml_text(&text, "all.toml");
        assert_eq!(read, Ok(Experiment::default()));
    }

    #[test]
    fn every_preset_is_read_back() {
        for preset in Preset::ALL {
            let experiment = Experiment::for_preset(preset);
            let text = to_toml(&experiment).expect("all values fit");
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
            let text = to_toml(&experiment).expect("all values fit");
            assert_eq!(
                Experiment::from_toml_text(&text, "all.toml"),
                Ok(experiment)
            );
        }
    }

    /// What serde writes is what the structs have, so this finds a field that the source was not read for.
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
        let model = ModelSettings::every_key().expect("all values fit");
        for key in model
            .keys()
            .filter(|key| !FROM_TEXT.contains(&key.as_str()))
        {
            assert!(keys.contains(&format!("model.{key}")), "{key}");
        }
    }

    /// What is as the preset has it must not outlive the preset.
    #[test]
    fn another_preset_over_what_is_written_brings_its_recipe() {
        for preset in Preset::ALL {
            let text = to_toml(&Experiment::for_preset(preset)).expect("all values fit");
            let named = format!("preset = \"{preset}\"");
            let text = text.replace(&named, "preset = \"multi30k\"");
            let read = Experiment::from_toml_text(&text, "all.toml");
            assert_eq!(read, Ok(Experiment::for_preset(Preset::Multi30k)));
        }
    }

    #[test]
    fn the_first_line_names_the_preset_or_the_task() {
        let first = |experiment: &Experiment| {
            let text = to_toml(experiment).expect("all values fit");
            text.lines().next().unwrap_or_default().to_owned()
        };
        let preset = first(&Experiment::for_preset(Preset::Iwslt));
        assert!(preset.contains("the preset `iwslt`"), "{preset}");
        let task = first(&Experiment::for_task(Task::Reverse));
        assert!(task.contains("the task `reverse`"), "{task}");
    }

    /// A key that is not set appears as a comment; the strict reader takes all of them, so no name is made up.
    #[test]
    fn every_documented_key_is_one_that_is_read() {
        let text = uncommented(&to_toml(&Experiment::default()).expect("all values fit"));
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
        let n_left_out = to_toml(&Experiment::default())
            .expect("all values fit")
            .lines()
            .filter(|line| line.ends_with("= …"))
            .count();
        let n_read: usize = n_keys(&table);
        assert_eq!(n_read + n_left_out, keys().len());
    }

    #[test]
    fn every_key_has_a_meaning() {
        for (section, source, name) in SECTIONS {
            let fields = section_fields(section, source, name);
            let silent = fields.iter().find(|field| field.meaning.len() < 10);
            assert!(!fields.is_empty());
            assert_eq!(silent.map(|field| &field.name), None);
        }
    }

    #[test]
    fn the_documented_file_of_the_repository_is_this_one() {
        let written = include_str!("../../../docs/configuration.toml");
        let text = to_toml(&Experiment::default()).expect("all values fit");
        assert!(
            written == text,
            "make it anew: cargo run -q -p transformer-train -- --print-config --preset base > docs/configuration.toml"
        );
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
