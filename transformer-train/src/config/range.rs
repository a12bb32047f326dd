//! Checks that the value of a setting is in its range.

use std::fmt::Display;

use crate::config::ConfigError;

/// Returns an error with `allowed`, the range in words, unless the value is allowed.
pub(super) fn require(
    key: &'static str,
    value: impl Display,
    is_allowed: bool,
    allowed: &'static str,
) -> Result<(), ConfigError> {
    match is_allowed {
        true => Ok(()),
        false => Err(ConfigError::OutOfRange {
            key,
            value: value.to_string(),
            allowed,
        }),
    }
}

/// Checks that a value is between 1 and `max`.
pub(super) fn within(key: &'static str, value: u64, max: u64) -> Result<(), ConfigError> {
    at_least_one(key, value)?;
    at_most(key, value, max)
}

/// Checks that a value is at most `max`.
pub(super) fn at_most(key: &'static str, value: u64, max: u64) -> Result<(), ConfigError> {
    match value <= max {
        true => Ok(()),
        false => Err(ConfigError::TooLarge { key, value, max }),
    }
}

/// Checks that a value is at least 1.
pub(super) fn at_least_one(key: &'static str, value: u64) -> Result<(), ConfigError> {
    require(key, value, value > 0, "at least 1")
}

/// Checks that a value is finite and greater than 0.
pub(super) fn positive(key: &'static str, value: f64) -> Result<(), ConfigError> {
    require(
        key,
        value,
        value.is_finite() && value > 0.0,
        "a number greater than 0",
    )
}

/// Checks that a value is at least 0 and less than 1.
pub(super) fn fraction(key: &'static str, value: f64) -> Result<(), ConfigError> {
    let is_fraction = (0.0..1.0).contains(&value);
    require(key, value, is_fraction, "at least 0 and less than 1")
}
