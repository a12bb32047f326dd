//! The keys of the settings of training, from the schema that editors use.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value};

const SCHEMA: &str = "docs/configuration.schema.json";

/// A section, for example `[training]`.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) keys: Vec<Key>,
}

/// A key of a section.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) values: Values,
    pub(crate) takes_none: bool,
}

/// The values that a key takes.
#[derive(Debug)]
pub(crate) enum Values {
    Bool,
    Count,
    Number,
    Path,
    Language,
    Command,
    TextOrNumber,
    OneOf(Vec<Choice>),
    Text,
    Texts,
    SomeOf(Vec<Choice>),
    Tables,
}

/// One of several names.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) name: String,
}

/// Returns every section with its keys.
pub(crate) fn sections(root: &Path) -> Result<Vec<Section>> {
    let schema = fs::read(root.join(SCHEMA)).with_context(|| format!("cannot read `{SCHEMA}`"))?;
    let schema: Value = serde_json::from_slice(&schema)?;
    let section = |(name, section): (&String, &Value)| {
        let keys = properties(section)?
            .iter()
            .map(|(name, key)| Key::of(name, key));
        Ok(Section {
            name: name.clone(),
            keys: keys.collect(),
        })
    };
    properties(&schema)?.iter().map(section).collect()
}

fn properties(schema: &Value) -> Result<&Map<String, Value>> {
    schema["properties"]
        .as_object()
        .context("a section has keys")
}

impl Key {
    fn of(name: &str, schema: &Value) -> Self {
        let takes_none = schema["anyOf"]
            .as_array()
            .is_some_and(|forms| forms.iter().any(|form| form["const"] == "none"));
        let own = if schema["anyOf"].is_array() {
            &schema["anyOf"][0]
        } else {
            schema
        };
        Self {
            name: name.to_owned(),
            values: Values::of(name, own),
            takes_none,
        }
    }
}

impl Values {
    fn of(key: &str, schema: &Value) -> Self {
        let meaning = schema["description"].as_str().unwrap_or_default();
        let is_path = ["File ", "Folder ", "Model directory"]
            .iter()
            .any(|start| meaning.starts_with(start));
        let of_items = &schema["items"];
        match (choices(schema), choices(of_items)) {
            (Some(choices), _) => return Self::OneOf(choices),
            (_, Some(choices)) => return Self::SomeOf(choices),
            (None, None) => {}
        }
        let kind = schema["type"].as_str().or(schema["type"][0].as_str());
        match kind.unwrap_or_default() {
            "boolean" => Self::Bool,
            "integer" => Self::Count,
            "number" => Self::Number,
            "array" if of_items["type"] == "string" => Self::Texts,
            "array" => Self::Tables,
            _ if schema["type"][1].is_string() => Self::TextOrNumber,
            _ if key == "command" => Self::Command,
            _ if key.ends_with("_lang") => Self::Language,
            _ if is_path => Self::Path,
            _ => Self::Text,
        }
    }
}

fn choices(schema: &Value) -> Option<Vec<Choice>> {
    let named = |choice: &Value| {
        Some(Choice {
            name: choice["const"].as_str()?.to_owned(),
        })
    };
    schema["oneOf"].as_array()?.iter().map(named).collect()
}
