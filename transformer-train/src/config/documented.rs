//! Every setting with its meaning, as a TOML file. The meanings are the doc comments of the settings.

use toml::{Table, Value};

use crate::config::{ConfigError, Experiment, model, read, schema};

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
        let effective = Table::try_from(self).map_err(ConfigError::Write)?;
        let mut defaults = Table::try_from(self.defaults()).map_err(ConfigError::Write)?;
        let (named, section, key) = match self.data.task {
            Some(task) => (format!("task `{task}`"), "data", "task"),
            None => (format!("preset `{}`", self.model.preset), "model", "preset"),
        };
        // The name of the task or the preset itself must not be commented out.
        if let Some(keys) = defaults.get_mut(section).and_then(Value::as_table_mut) {
            keys.remove(key);
        }
        let model = self.model.config(1, 1, self.tokenizer.vocabulary)?;
        let model = model::every_key(&model)?;
        let mut text = String::new();
        comment(
            &mut text,
            &format!(
                "Every setting. A setting that is commented out has the value of the {named}, or an \
             example value if it has no default; remove the `#` to change it. Where a setting is \
             optional, \"none\" unsets the value of a preset or task."
            ),
        );
        let schema = schema::settings();
        for (section, keys) in read::sections() {
            let described = &schema["properties"][&section];
            text.push('\n');
            comment(&mut text, schema::description(described));
            text.push_str(&format!("[{section}]\n"));
            for key in keys {
                text.push('\n');
                comment(
                    &mut text,
                    schema::description(&described["properties"][&key]),
                );
                let value = read::value(&effective, &section, &key);
                let is_default = value == read::value(&defaults, &section, &key);
                let of_preset = model.get(&key).filter(|_| section == "model");
                text.push_str(&match (value.or(of_preset), is_default) {
                    (Some(value), true) => format!("# {key} = {value}\n"),
                    (Some(value), false) => format!("{key} = {value}\n"),
                    (None, _) => format!("# {key} = {}\n", example(&key)),
                });
            }
        }
        Ok(text)
    }
}

/// Returns a value of a key that has no default, in TOML.
fn example(key: &str) -> &'static str {
    match key {
        "task" => "\"numbers\"",
        "src_lang" | "tgt_lang" => "\"en\"",
        "user_symbols" => "[\"TEXT\"]",
        "corpora" => {
            "[{ src = \"FILE\", tgt = \"FILE\", tag = \"TEXT\", target_tag = \"TEXT\", weight = 1.0, \
             valid_src = \"FILE\", valid_tgt = \"FILE\" }]"
        }
        _ => "\"FILE\"",
    }
}

/// Appends a comment, with line breaks between words.
pub(super) fn comment(text: &mut String, words: &str) {
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
