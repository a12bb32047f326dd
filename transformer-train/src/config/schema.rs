//! The JSON Schema of a file of settings, from the types that serde reads. Its descriptions are their doc comments,
//! which editors and the documented settings show.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{Schema, json_schema};
use serde_json::Value;

use crate::config::{Experiment, model, optional, read};

/// Returns the schema of all settings.
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

/// Returns the description in a schema.
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

/// Allows `"none"` as well.
fn allow_none(schema: &mut Schema) {
    let description = schema.remove("description");
    let unset = json_schema!({
        "description": "Unsets what the preset or the task has set.",
        "const": optional::NONE
    });
    *schema = json_schema!({ "description": description, "anyOf": [schema, unset] });
}
