//! [`Yaml`]: the flat part of YAML in which Marian writes settings: `key: value`, and lists of plain values.

use std::collections::BTreeMap;

use super::BinaryError;

/// The values by key; a list is written `[a, b]`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Yaml(BTreeMap<String, String>);

impl Yaml {
    /// Parses text. Indented lines belong to the key before them; those that are not items of a list are ignored.
    pub(super) fn parse(text: &str) -> Result<Self, BinaryError> {
        let mut values = BTreeMap::new();
        let mut key_of_list = "";
        for (line, text) in (1..).zip(text.lines()) {
            let content = text.trim();
            if content.is_empty() || content.starts_with('#') || content == "---" {
                continue;
            }
            if text.starts_with([' ', '-']) {
                let list: Option<&mut String> = values.get_mut(key_of_list);
                if let (Some(list), Some(item)) = (list, content.strip_prefix("- ")) {
                    list.truncate(list.len() - 1);
                    let comma = if list.len() > 1 { ", " } else { "" };
                    list.push_str(&format!("{comma}{}]", unquoted(item)));
                }
                continue;
            }
            let pair = content.split_once(':');
            let pair = pair.filter(|(key, value)| {
                !key.is_empty() && (value.is_empty() || value.starts_with(' '))
            });
            let (key, value) = pair.ok_or(BinaryError::Line { line })?;
            let (list, value) = match value.trim() {
                "" => (key, "[]"),
                value => ("", unquoted(value)),
            };
            key_of_list = list;
            if values.insert(key.to_owned(), value.to_owned()).is_some() {
                return Err(BinaryError::Line { line });
            }
        }
        Ok(Self(values))
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
}

fn unquoted(value: &str) -> &str {
    let quoted = ['"', '\''].map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    quoted.into_iter().flatten().next().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_plain_values_and_lists() {
        let text = "# from Marian\n---\ntype: transformer\npost: \"\"\nsizes:\n  - 7\n  - '8'\nnone:\n  []\n\
                    flow: [1, 2]\n\
                    nested:\n  a: b\nversion: v1.9 2021-04-28 00:28:35 +0100\n";
        let yaml = Yaml::parse(text).expect("it is YAML");
        let found =
            ["type", "post", "sizes", "none", "flow", "version", "a"].map(|it| yaml.get(it));
        let expected = ["transformer", "", "[7, 8]", "[]", "[1, 2]"].map(Some);
        assert_eq!(found[..5], expected);
        assert_eq!(found[5..], [Some("v1.9 2021-04-28 00:28:35 +0100"), None]);
    }

    #[test]
    fn a_line_without_key_and_a_repeated_key_are_refused() {
        for text in [
            "a: 1\nb\n",
            "a: 1\na: 2\n",
            "a: 1\nhttp://b\n",
            "a:\na: 1\n",
            "a: 1\n: é\n- b\n",
        ] {
            let error = Yaml::parse(text).expect_err("the text is not YAML");
            assert!(error.to_string().starts_with("line 2 "), "{text}");
        }
    }
}
