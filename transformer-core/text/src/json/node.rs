//! [`Node`]: a deserializer that knows the path to each value.

use serde::de::{
    DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use super::JsonError;

/// A value, read with the path to it in errors.
pub(super) struct Node<'a>(pub(super) &'a Value);

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
