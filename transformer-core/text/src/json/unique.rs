//! JSON objects without duplicate keys.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// JSON in which no object has a duplicate key. Without `KEEP`, text is not kept, which is cheaper for a large
/// vocabulary.
#[derive(Debug)]
pub struct Unique<const KEEP: bool>(pub(super) Value);

/// JSON in which no object has a duplicate key; only numbers and booleans are kept.
pub type UniqueKeys = Unique<false>;

impl<'de, const KEEP: bool> Deserialize<'de> for Unique<KEEP> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor::<KEEP>)
    }
}

/// A string that is borrowed from the JSON, unless it has escapes.
#[derive(Debug, Deserialize, PartialEq, Eq, Hash)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

struct UniqueVisitor<const KEEP: bool>;

impl<'de, const KEEP: bool> Visitor<'de> for UniqueVisitor<KEEP> {
    type Value = Unique<KEEP>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Unique(Value::Null))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Unique(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Unique(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Unique(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Unique(value.into()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Unique(if KEEP { value.into() } else { Value::Null }))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Unique::<KEEP>(value)) = list.next_element()? {
            if KEEP {
                values.push(value);
            }
        }
        Ok(Unique(values.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut entries = Map::new();
        let mut keys = HashSet::new();
        while let Some(Text(key)) = object.next_key::<Text<'de>>()? {
            if keys.contains(&key) {
                let twice = format_args!("the key `{key}` occurs twice");
                return Err(A::Error::custom(twice));
            }
            let Unique::<KEEP>(value) = object.next_value()?;
            if KEEP {
                entries.insert(key.to_string(), value);
            }
            keys.insert(key);
        }
        Ok(Unique(entries.into()))
    }
}
