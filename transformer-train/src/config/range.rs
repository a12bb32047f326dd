//! Checks that the value of a setting is in its range. A setting is its key and its value.

use std::fmt::Display;

use crate::config::ConfigError;

/// Returns the key of a setting, as users write it, and its value: of `training.updates` in the struct `training`.
macro_rules! setting {
    ($section:ident.$key:ident) => {
        (
            concat!(stringify!($section), ".", stringify!($key)),
            $section.$key,
        )
    };
}
pub(super) use setting;

/// Returns an error with `allowed`, the range in words, unless the value is allowed.
pub(super) fn require(
    (key, value): (&'static str, impl Display),
    is_allowed: bool,
    allowed: &'static str,
) -> Result<(), ConfigError> {
    if is_allowed {
        return Ok(());
    }
    let value = value.to_string();
    Err(ConfigError::OutOfRange {
        key,
        value,
        allowed,
    })
}

/// Checks that a value is between 1 and `max`.
pub(super) fn within(
    (key, value): (&'static str, impl TryInto<u64>),
    max: u64,
) -> Result<(), ConfigError> {
    let value = value.try_into().unwrap_or(u64::MAX);
    require((key, value), value > 0, "at least 1")?;
    at_most((key, value), max)
}

pub(super) fn at_most(
    (key, value): (&'static str, impl TryInto<u64>),
    max: u64,
) -> Result<(), ConfigError> {
    let value = value.try_into().unwrap_or(u64::MAX);
    match value <= max {
        true => Ok(()),
        false => Err(ConfigError::TooLarge { key, value, max }),
    }
}

/// Checks that a value, if there is one, is finite and greater than 0.
pub(super) fn positive(
    (key, value): (&'static str, impl Into<Option<f64>>),
) -> Result<(), ConfigError> {
    let value = value.into().unwrap_or(1.0);
    let is_positive = value.is_finite() && value > 0.0;
    require((key, value), is_positive, "a number greater than 0")
}

/// Checks that a value, if there is one, is at least 0 and less than 1.
pub(super) fn fraction(
    (key, value): (&'static str, impl Into<Option<f64>>),
) -> Result<(), ConfigError> {
    let value = value.into().unwrap_or(0.0);
    let is_fraction = (0.0..1.0).contains(&value);
    require((key, value), is_fraction, "at least 0 and less than 1")
}
