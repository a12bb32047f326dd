//! Reading values from JSON, and the errors of it.

use std::fmt;

use serde::de::{DeserializeOwned, Error};
use serde_json::Value;

use super::node::Node;
use super::unique::Unique;

/// Error of reading JSON.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum JsonError {
    /// The text is not JSON, or has a key twice.
    #[error(transparent)]
    Text(#[from] serde_json::Error),
    #[error("{}{message}", location(path))]
    Content {
        /// The keys that lead to the value, from the outside in; a number is a position in a list, from 0.
        path: Vec<String>,
        message: String,
    },
}

fn location(path: &[String]) -> String {
    match path {
        [] => String::new(),
        path => format!("`{}`: ", path.join(".")),
    }
}

impl JsonError {
    /// Adds a key in front of the path.
    pub(super) fn inside(self, key: &str) -> Self {
        match self {
            Self::Text(error) => Self::Text(error),
            Self::Content { mut path, message } => {
                path.insert(0, key.to_owned());
                Self::Content { path, message }
            }
        }
    }
}

impl Error for JsonError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Content {
            path: Vec::new(),
            message: message.to_string(),
        }
    }
}

/// Reads a value from JSON text.
///
/// `T` decides whether unknown keys are refused (`#[serde(deny_unknown_fields)]`).
pub fn from_slice<T: DeserializeOwned>(json: &[u8]) -> Result<T, JsonError> {
    from_value(&parse(json)?)
}

/// Parses any JSON text without duplicate keys.
pub fn parse(json: &[u8]) -> Result<Value, JsonError> {
    let Unique::<true>(value) = serde_json::from_slice(json)?;
    Ok(value)
}

/// Reads a value from JSON that was already [parsed](parse).
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, JsonError> {
    T::deserialize(Node(value))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::json::UniqueKeys;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        count: u64,
        #[serde(default)]
        share: Option<f64>,
        inner: Vec<Inner>,
        #[serde(default)]
        free: Value,
        #[serde(default)]
        by_name: BTreeMap<String, u8>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        name: String,
        kind: Kind,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Plain,
        Sized { bytes: u64 },
    }

    fn message(json: &str) -> String {
        let read = from_slice::<Outer>(json.as_bytes());
        read.expect_err("the JSON is wrong").to_string()
    }

    #[test]
    fn what_was_written_is_read() {
        let written = Outer {
            count: u64::MAX,
            share: Some(-0.1),
            inner: vec![
                Inner {
                    name: "ä\"\n".to_owned(),
                    kind: Kind::Plain,
                },
                Inner {
                    name: String::new(),
                    kind: Kind::Sized { bytes: 7 },
                },
            ],
            free: serde_json::json!({ "a": [1, -2, 3.5, null, true, {}], "": "b" }),
            by_name: BTreeMap::from([("x".to_owned(), 255)]),
        };
        let json = serde_json::to_vec(&written).expect("it is JSON");
        assert_eq!(from_slice::<Outer>(&json).ok(), Some(written));
    }

    #[test]
    fn a_key_that_occurs_twice_is_refused_at_any_depth() {
        let field = message(r#"{"count": 1, "count": 1, "inner": []}"#);
        assert_eq!(field, "the key `count` occurs twice at line 1 column 20");
        let deep = message(r#"{"count": 1, "inner": [], "free": [{"b": {"a": 1, "a": 1}}]}"#);
        assert!(deep.starts_with("the key `a` occurs twice"), "{deep}");
        let map = message(r#"{"count": 1, "inner": [], "by_name": {"x": 1, "\u0078": 1}}"#);
        assert!(map.starts_with("the key `x` occurs twice"), "{map}");
    }

    #[test]
    fn a_wrong_type_is_refused_with_the_keys_that_lead_to_it() {
        assert_eq!(
            message(
                r#"{"count": 1, "inner": [{"name": "a", "kind": "plain"}, {"name": 5, "kind": "plain"}]}"#
            ),
            "`inner.1.name`: invalid type: integer `5`, expected a string"
        );
        assert_eq!(
            message(r#"{"count": -1, "inner": []}"#),
            "`count`: invalid value: integer `-1`, expected u64"
        );
        assert_eq!(
            message(r#"{"count": 1, "inner": [], "by_name": {"x": 256}}"#),
            "`by_name.x`: invalid value: integer `256`, expected u8"
        );
        assert_eq!(
            message(r#"{"count": 1, "inner": [{"name": "a", "kind": "plan"}]}"#),
            "`inner.0.kind`: unknown variant `plan`, expected `plain` or `sized`"
        );
    }

    #[test]
    fn a_list_is_not_a_struct() {
        assert_eq!(
            message(r#"{"count": 1, "inner": [["a", "plain"]]}"#),
            "`inner.0`: invalid type: sequence, expected struct Inner"
        );
    }

    #[test]
    fn unknown_and_missing_keys_are_refused_with_where_they_are() {
        assert_eq!(
            message(r#"{"count": 1, "inner": [{"name": "a", "kind": "plain", "size": 1}]}"#),
            "`inner.0`: unknown field `size`, expected `name` or `kind`"
        );
        assert_eq!(message(r#"{"inner": []}"#), "missing field `count`");
    }

    #[test]
    fn anything_after_the_end_is_refused() {
        let message = message("{\"count\": 1, \"inner\": []}\n{}");
        assert_eq!(message, "trailing characters at line 2 column 1");
    }

    #[test]
    fn keys_are_checked_without_their_values_too() {
        let check = |json: &str| serde_json::from_str::<UniqueKeys>(json).is_ok();
        assert!(check(
            r#"{"a": [{"a": 1}, {"a": -1.5}], "b": null, "c": true, "d": "a"}"#
        ));
        assert!(!check(r#"{"a": [{"b": 1, "b": 2}]}"#));
    }
}
