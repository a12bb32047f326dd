//! The JSON Schema of a file of settings, with which editors check and complete it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::section::{Key, Section, Values};

/// The draft that TOML editors understand.
const DRAFT: &str = "http://json-schema.org/draft-07/schema#";

/// A schema, or a part of one.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Schema {
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    draft: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(rename = "const", skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    minimum: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    any_of: Vec<Self>,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Box<Self>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    properties: BTreeMap<String, Self>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_properties: Option<bool>,
}

/// Writes the schema of a file with these sections.
pub(super) fn json(sections: &[Section]) -> serde_json::Result<String> {
    let properties = sections.iter().map(|section| {
        let table = Schema {
            description: Some(section.meaning.clone()),
            ..table(&section.keys)
        };
        (section.name.clone(), table)
    });
    let schema = Schema {
        draft: Some(DRAFT),
        title: Some("Settings of transformer-train"),
        kind: Some("object"),
        properties: properties.collect(),
        additional_properties: Some(false),
        ..Schema::default()
    };
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}

fn table(keys: &[Key]) -> Schema {
    let properties = keys.iter().map(|key| (key.name.clone(), property(key)));
    Schema {
        kind: Some("object"),
        properties: properties.collect(),
        additional_properties: Some(false),
        ..Schema::default()
    }
}

fn property(key: &Key) -> Schema {
    let mut schema = values(&key.values);
    if key.takes_none {
        let none = choice("none", "Unsets what the preset or the task has set.");
        schema = match schema.any_of.is_empty() {
            true => any_of(vec![schema, none]),
            false => {
                schema.any_of.push(none);
                schema
            }
        };
    }
    Schema {
        description: Some(key.meaning.clone()),
        ..schema
    }
}

fn values(values: &Values) -> Schema {
    match values {
        Values::Bool => of_kind("boolean"),
        Values::Count => Schema {
            minimum: Some(0),
            ..of_kind("integer")
        },
        Values::Number => of_kind("number"),
        Values::Path | Values::Language | Values::Command | Values::Text => of_kind("string"),
        Values::Texts => Schema {
            items: Some(Box::new(of_kind("string"))),
            ..of_kind("array")
        },
        Values::TextOrNumber => any_of(vec![of_kind("string"), of_kind("number")]),
        Values::OneOf(choices) => {
            let choices = choices.iter().map(|it| choice(&it.name, &it.meaning));
            any_of(choices.collect())
        }
        Values::SomeOf(choices) => {
            let choices = choices.iter().map(|it| choice(&it.name, &it.meaning));
            Schema {
                items: Some(Box::new(any_of(choices.collect()))),
                ..of_kind("array")
            }
        }
        Values::Tables(keys) => Schema {
            items: Some(Box::new(table(keys))),
            ..of_kind("array")
        },
    }
}

fn of_kind(kind: &'static str) -> Schema {
    Schema {
        kind: Some(kind),
        ..Schema::default()
    }
}

fn any_of(any_of: Vec<Schema>) -> Schema {
    Schema {
        any_of,
        ..Schema::default()
    }
}

fn choice(name: &str, meaning: &str) -> Schema {
    Schema {
        value: Some(name.to_owned()),
        description: Some(meaning.to_owned()),
        ..Schema::default()
    }
}
