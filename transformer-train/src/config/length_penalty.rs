//! Reads and writes a length penalty: as text, as on the command line, or as a number, the exponent of GNMT's penalty.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};
use toml::Value;
use transformer_search::LengthPenalty;

pub(super) fn serialize<S: Serializer>(
    penalty: &LengthPenalty,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(penalty)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<LengthPenalty, D::Error> {
    let text = match Value::deserialize(deserializer)? {
        Value::Float(alpha) => format!("gnmt:{alpha}"),
        Value::Integer(alpha) => format!("gnmt:{alpha}"),
        Value::String(text) => text,
        other => other.to_string(),
    };
    text.parse().map_err(D::Error::custom)
}

pub(super) fn schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "number"] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConfigError, Experiment};

    fn read(value: &str) -> Result<LengthPenalty, ConfigError> {
        let text = format!("[validation]\nlength_penalty = {value}\n");
        let experiment = Experiment::from_toml_text(&text, "run.toml");
        experiment.map(|experiment| experiment.validation.length_penalty)
    }

    #[test]
    fn a_penalty_has_a_name_or_is_the_exponent_of_gnmt() {
        assert_eq!(read("\"power:1\""), Ok(LengthPenalty::Power { alpha: 1.0 }));
        assert_eq!(read("\"none\""), Ok(LengthPenalty::None));
        assert_eq!(read("0.5"), Ok(LengthPenalty::Gnmt { alpha: 0.5 }));
        assert_eq!(read("1"), Ok(LengthPenalty::Gnmt { alpha: 1.0 }));
    }

    #[test]
    fn invalid_penalties_are_refused_with_the_line() {
        for value in ["\"linear\"", "-1.0", "true", "\"gnmt:x\""] {
            let message = read(value).expect_err(value).to_string();
            assert!(message.contains("line 2"), "{message}");
        }
    }
}
