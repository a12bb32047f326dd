//! Strict reading of JSON: what a file of ours must not contain is an error that names the key.
//!
//! `serde_json` alone lets the last of several equal keys of a map win, reads a list of the fields in order as a struct,
//! and does not say which key has a wrong type.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::{Map, Value};

/// Why JSON cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// The text is not JSON, or has a key twice.
    #[error(transparent)]
    Text(#[from] serde_json::Error),
    /// A key is missing or unknown, or its value is not what it must be.
    #[error("{}{message}", location(path))]
    Content {
        /// The keys that lead to the value, from the outside in; a number is a position in a list, from 0.
        path: Vec<String>,
        /// What is wrong.
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
    fn inside(self, key: &str) -> Self {
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
/// # Errors
///
/// Returns a [`JsonError`] if the text is not JSON, has a key twice in one object or anything after its end, or if it is
/// not a `T`. Whether unknown keys are refused depends on `T` (`#[serde(deny_unknown_fields)]`).
///
/// # Example
///
/// ```
/// use transformer_core::TransformerConfig;
///
/// let read = transformer_core::json::from_slice::<TransformerConfig>(br#"{"d_ff": "wide"}"#);
/// let message = read.expect_err("`d_ff` is a number").to_string();
/// assert!(message.starts_with("`d_ff`: invalid type: string \"wide\""), "{message}");
/// ```
pub fn from_slice<T: DeserializeOwned>(json: &[u8]) -> Result<T, JsonError> {
    from_value(&parse(json)?)
}

/// Parses any JSON text.
///
/// # Errors
///
/// Returns a [`JsonError`] if the text is not JSON, or has a key twice in one object or anything after its end.
pub fn parse(json: &[u8]) -> Result<Value, JsonError> {
    let Unique(value) = serde_json::from_slice(json)?;
    Ok(value)
}

/// Reads a value from JSON that was [parsed](parse) before.
///
/// # Errors
///
/// See [`from_slice`].
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, JsonError> {
    T::deserialize(Node(value))
}

/// JSON in which no object has a key twice.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Unique;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Unique, E> {
        Ok(Unique(Value::Null))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Unique, A::Error> {
        let mut values = Vec::new();
        while let Some(Unique(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Unique(values.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Unique, A::Error> {
        let mut entries = Map::new();
        while let Some(key) = object.next_key::<String>()? {
            if entries.contains_key(&key) {
                return Err(twice(&key));
            }
            let Unique(value) = object.next_value()?;
            entries.insert(key, value);
        }
        Ok(Unique(entries.into()))
    }
}

fn twice<E: Error>(key: &str) -> E {
    E::custom(format_args!("the key `{key}` occurs twice"))
}

/// Any JSON in which no object has a key twice, without its values: cheaper for a large vocabulary.
#[derive(Debug)]
pub(crate) struct UniqueKeys;

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueKeysVisitor)
    }
}

struct UniqueKeysVisitor;

impl<'de> Visitor<'de> for UniqueKeysVisitor {
    type Value = UniqueKeys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<UniqueKeys, A::Error> {
        while list.next_element::<UniqueKeys>()?.is_some() {}
        Ok(UniqueKeys)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<UniqueKeys, A::Error> {
        let mut keys = BTreeSet::new();
        while let Some(key) = object.next_key::<String>()? {
            if keys.contains(&key) {
                return Err(twice(&key));
            }
            keys.insert(key);
            object.next_value::<UniqueKeys>()?;
        }
        Ok(UniqueKeys)
    }
}

/// A value, read with the path to it in errors.
struct Node<'a>(&'a Value);

impl Node<'_> {
    fn unexpected(&self) -> Unexpected<'_> {
        match self.0 {
            Value::Null => Unexpected::Unit,
            Value::Bool(value) => Unexpected::Bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_f64()) {
                (Some(value), _) => Unexpected::Unsigned(value),
                (None, value) => Unexpected::Float(value.unwrap_or(f64::NAN)),
            },
            Value::String(text) => Unexpected::Str(text),
            Value::Array(_) => Unexpected::Seq,
            Value::Object(_) => Unexpected::Map,
        }
    }
}

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = JsonError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(value), _, _) => visitor.visit_u64(value),
                (_, Some(value), _) => visitor.visit_i64(value),
                (_, _, value) => visitor.visit_f64(value.unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_str(text),
            Value::Array(values) => visitor.visit_seq(Elements {
                left: values.iter().enumerate(),
            }),
            Value::Object(entries) => visitor.visit_map(Entries {
                left: entries.iter(),
                value: None,
            }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, JsonError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, JsonError> {
        match self.0 {
            Value::Object(_) => self.deserialize_any(visitor),
            // A list of the fields in their order would be read, too.
            _ => Err(JsonError::invalid_type(self.unexpected(), &visitor)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, JsonError> {
        let read = match self.0 {
            Value::String(variant) => {
                let variant: serde::de::value::StrDeserializer<'_, JsonError> =
                    variant.as_str().into_deserializer();
                return visitor.visit_enum(variant);
            }
            other => other.deserialize_enum(name, variants, visitor),
        };
        read.map_err(JsonError::custom)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map identifier ignored_any
    }
}

struct Elements<'a> {
    left: std::iter::Enumerate<std::slice::Iter<'a, Value>>,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = JsonError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, JsonError> {
        let next = self.left.next();
        next.map(|(index, value)| {
            seed.deserialize(Node(value))
                .map_err(|error| error.inside(&index.to_string()))
        })
        .transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

struct Entries<'a> {
    left: serde_json::map::Iter<'a>,
    value: Option<(&'a str, &'a Value)>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = JsonError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, JsonError> {
        let Some((key, value)) = self.left.next() else {
            return Ok(None);
        };
        self.value = Some((key, value));
        let key: serde::de::value::StrDeserializer<'_, JsonError> =
            key.as_str().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, JsonError> {
        let (key, value) = self.value.take().expect("a key comes before its value");
        seed.deserialize(Node(value))
            .map_err(|error| error.inside(key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Serialize;

    use super::*;

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
