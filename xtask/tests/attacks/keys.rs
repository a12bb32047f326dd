//! [`Key`]: a key of the settings, with the values that its schema allows.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use toml::{Table, Value as Toml};

/// A key of the settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Key {
    pub(crate) section: String,
    pub(crate) name: String,
    types: Vec<String>,
    choices: Vec<String>,
}

/// Texts that a key without choices may take: files, commands, languages, symbols and penalties.
const TEXTS: &str = "a.src | b.tgt | c.src | LAB/model | LAB/run | LAB/words | nowhere | . | -
    | /dev/zero | /dev/null | /dev/full | cat {hyp} | nowhere {hyp} | cat | '{hyp} | wc -l {hyp} | en
    | pt-BR | zh_Hans | e | <2de> | <2 de> | <s> | <0x41> | 1 | gnmt:nan | power:-1e300 | gnmt: | :
    | power:1 | none | ";
const NUMBERS: &str =
    "0 | 1 | 2 | 3 | 4 | 5 | 8 | 16 | 17 | 64 | -1 | 0.1 | 0.125 | 0.5 | 0.99 | 1.0 | 1.5 | 1e-9";
const LISTS: &str = "[] | [[]] | [\"<2de>\", \"1\"]";
const TABLES: &str = r#"[{ src = "a.src", tgt = "b.tgt" }]
    | [{ src = "a.src", tgt = "b.tgt" }, { src = "a.src", tgt = "b.tgt", weight = 0.5 }]
    | [{ src = "a.src", tgt = "b.tgt", weight = 1e300 }]
    | [{ src = "a.src", tgt = "b.tgt", weight = 0 }]"#;

/// Returns the parts of a list in a string.
pub(crate) fn parts(list: &'static str) -> Vec<&'static str> {
    list.split('|').map(str::trim).collect()
}

/// Reads the keys from the schema that editors use.
pub(crate) fn keys(root: &Path) -> Result<Vec<Key>> {
    let schema = fs::read(root.join("docs/configuration.schema.json"))?;
    let schema: Value = serde_json::from_slice(&schema)?;
    let entries = |node: &Value| {
        let entries = resolved(&schema, node)["properties"].as_object().cloned();
        entries.context("settings and their sections are objects")
    };
    let mut keys = Vec::new();
    for (section, node) in entries(&schema)? {
        for (name, node) in entries(&node)? {
            let section = section.clone();
            let mut key = Key {
                section,
                name,
                ..Key::default()
            };
            key.collect(&schema, &node);
            keys.push(key);
        }
    }
    Ok(keys)
}

fn resolved<'a>(schema: &'a Value, node: &'a Value) -> &'a Value {
    let path = node["$ref"].as_str().unwrap_or("none");
    schema.pointer(path.trim_start_matches('#')).unwrap_or(node)
}

impl Key {
    fn collect(&mut self, schema: &Value, node: &Value) {
        let node = resolved(schema, node);
        let texts = |name: &str| -> Vec<String> {
            let listed = node[name].as_array().into_iter().flatten();
            let texts = listed.chain([&node[name]]).filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        };
        self.types.extend(texts("type"));
        self.choices
            .extend(["const", "enum"].into_iter().flat_map(texts));
        for name in ["anyOf", "oneOf", "allOf"] {
            let parts = node[name].as_array().into_iter().flatten();
            parts.for_each(|part| self.collect(schema, part));
        }
        if node["items"].is_object() {
            self.collect(schema, &node["items"]);
        }
    }

    /// Returns the key with its section.
    pub(crate) fn path(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// Returns values that the key may take, in TOML, including foolish ones.
    pub(crate) fn values(&self) -> Vec<String> {
        let takes = |name: &str| self.types.iter().any(|it| it == name);
        let mut texts: Vec<&str> = self.choices.iter().map(String::as_str).collect();
        texts.extend(parts(TEXTS).into_iter().filter(|_| takes("string")));
        let (open, close) = if takes("array") { ("[", "]") } else { ("", "") };
        let texts = texts.iter().map(|text| format!("{open}{text:?}{close}"));
        let mut values: Vec<String> = texts.collect();
        let lists = [
            ("array", LISTS),
            ("object", TABLES),
            ("boolean", "true | false"),
            ("integer", NUMBERS),
            ("number", NUMBERS),
        ];
        for (_, list) in lists.iter().filter(|(name, _)| takes(name)) {
            values.extend(parts(list).into_iter().map(str::to_owned));
        }
        values
    }
}

/// Parses a value in TOML.
pub(crate) fn parsed(value: &str) -> Option<toml::Value> {
    let table: Table = toml::from_str(&format!("key = {value}")).ok()?;
    table.get("key").cloned()
}

/// Returns whether two values are equal; an integer equals the same float, and a table may have defaults added.
pub(crate) fn is_equal(given: &Toml, effective: &Toml) -> bool {
    let number = |it: &Toml| it.as_float().or(it.as_integer().map(|it| it as f64));
    match (given, effective) {
        (Toml::Array(given), Toml::Array(now)) => {
            given.len() == now.len()
                && given
                    .iter()
                    .zip(now)
                    .all(|(given, now)| is_equal(given, now))
        }
        (Toml::Table(given), Toml::Table(now)) => given
            .iter()
            .all(|(key, given)| now.get(key).is_some_and(|now| is_equal(given, now))),
        _ => {
            given == effective
                || number(given).is_some_and(|given| Some(given) == number(effective))
        }
    }
}

/// Returns settings with a key set to a value, which need not be valid.
pub(crate) fn with_key(settings: &str, key: &Key, value: &str) -> Result<String> {
    let mut settings: Table = toml::from_str(settings)?;
    let mut section = settings.remove(&key.section).unwrap_or(Table::new().into());
    section
        .as_table_mut()
        .context("a section is a table")?
        .remove(&key.name);
    let others = toml::to_string(&section)?;
    Ok(format!(
        "{settings}\n[{}]\n{} = {value}\n{others}",
        key.section, key.name
    ))
}

/// Returns the value of a key in a documented file of settings, where defaults are comments.
pub(crate) fn in_effect(printed: &str, key: &Key) -> Option<toml::Value> {
    let header = format!("[{}]", key.section);
    let lines = printed.lines().skip_while(|line| *line != header).skip(1);
    let mut lines = lines.take_while(|line| !line.starts_with('['));
    lines.find_map(|line| {
        let rest = line
            .strip_prefix("# ")
            .unwrap_or(line)
            .strip_prefix(&key.name)?;
        parsed(rest.strip_prefix(" = ")?)
    })
}

#[test]
fn a_key_is_set_once_and_found_where_it_is_a_default() -> Result<()> {
    let key = |section: &str| {
        let (section, name) = (section.to_owned(), "key".to_owned());
        Key {
            section,
            name,
            ..Key::default()
        }
    };
    let settings = with_key("[a]\nkey = 1\nother = 2\n[b]\nother = 3\n", &key("a"), "9")?;
    let settings = with_key(&settings, &key("c"), "4.0")?.replace("[b]", "[b]\n# key = 3");
    let in_section = |section| in_effect(&settings, &key(section)).map(|it| it.to_string());
    assert_eq!(
        ["a", "b", "c"].map(in_section),
        ["9", "3", "4.0"].map(|it| Some(it.to_owned()))
    );
    assert_eq!(settings.matches("key = ").count(), 3);
    Ok(())
}
