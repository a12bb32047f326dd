//! The JSON Schema of a file of settings, and every setting with its meaning as TOML, from the types that serde reads.
//! Their descriptions are their doc comments.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{Schema, json_schema};
use serde_json::Value;
use toml::Table;

use crate::config::{ConfigError, Experiment, model, optional, read};

pub(super) fn settings() -> Value {
    // The draft that editors of TOML understand.
    let draft = SchemaSettings::draft07().with(|draft| draft.inline_subschemas = true);
    let draft = draft.with_transform(RecursiveTransform(as_toml));
    let mut schema = draft.into_generator().into_root_schema_for::<Experiment>();
    schema.insert("title".to_owned(), "Settings of transformer-train".into());
    schema.remove("description");
    let mut schema = Value::from(schema);
    if let Some(keys) = schema.pointer_mut("/properties/model/properties") {
        for key in model::OPTIONAL {
            if let Ok(key) = <&mut Schema>::try_from(&mut keys[key]) {
                allow_none(key);
            }
        }
        if let Some(keys) = keys.as_object_mut() {
            keys.retain(|key, _| !read::FROM_TOKENIZERS.contains(&key.as_str()));
        }
    }
    schema
}

pub(super) fn description(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}

/// Returns the first value of a schema's type, which is the default of a setting that can be left out: false, 0, the
/// first of several names, or `"none"`.
pub(super) fn first_value(schema: &Value) -> toml::Value {
    match (schema["type"].as_str(), &schema["oneOf"][0]["const"]) {
        (Some("boolean"), _) => false.into(),
        (Some("integer"), _) => 0.into(),
        (_, Value::String(name)) => name.as_str().into(),
        _ => optional::NONE.into(),
    }
}

/// Adapts a schema to TOML, which has no null, and its description to readers of plain text.
fn as_toml(schema: &mut Schema) {
    // Rust's names of formats say nothing to editors.
    schema.remove("format");
    let is_optional = remove_null(schema);
    if let Some(Value::String(text)) = schema.get_mut("description") {
        let words: Vec<&str> = text.split_whitespace().collect();
        *text = words.join(" ").replace("[`", "`").replace("`]", "`");
    }
    // Presets and tasks have other defaults.
    let default = schema.remove("default");
    if is_optional && default.is_some_and(|value| value == optional::NONE) {
        allow_none(schema);
    }
}

/// Removes null, which is last in the schema of an `Option`, and returns whether it was there.
fn remove_null(schema: &mut Schema) -> bool {
    if let Some(Value::Array(types)) = schema.get_mut("type")
        && let [name, null] = types.as_mut_slice()
        && null == "null"
    {
        let name = name.take();
        schema.insert("type".to_owned(), name);
        return true;
    }
    if let Some(Value::Array(schemas)) = schema.get_mut("anyOf")
        && let [inner, null] = schemas.as_mut_slice()
        && null["type"] == "null"
        && let Value::Object(mut inner) = inner.take()
    {
        schema.remove("anyOf");
        // The field has its own.
        inner.remove("description");
        schema.ensure_object().extend(inner);
        return true;
    }
    false
}

fn allow_none(schema: &mut Schema) {
    let description = schema.remove("description");
    let unset = json_schema!({
        "description": "Unsets what the preset or the task has set.",
        "const": optional::NONE
    });
    *schema = json_schema!({ "description": description, "anyOf": [schema, unset] });
}

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
        if let Some(keys) = defaults
            .get_mut(section)
            .and_then(toml::Value::as_table_mut)
        {
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
        let schema = settings();
        for (section, keys) in read::sections() {
            let described = &schema["properties"][&section];
            text.push('\n');
            comment(&mut text, description(described));
            text.push_str(&format!("[{section}]\n"));
            for key in keys {
                text.push('\n');
                comment(&mut text, description(&described["properties"][&key]));
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
