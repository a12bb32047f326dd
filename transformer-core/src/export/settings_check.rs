//! [`Check`]: whether a format supports a model's settings.

use serde_json::json;

use super::ExportError;
use crate::config::TransformerConfig;

/// A setting and whether a format supports its value.
pub(super) struct Check {
    pub(super) key: &'static str,
    pub(super) is_supported: bool,
    pub(super) found: String,
    /// The supported value.
    pub(super) expected: &'static str,
}

impl Check {
    /// Checks that sequences begin with position 0.
    pub(super) fn first_position(config: &TransformerConfig) -> Self {
        Self {
            key: "first_position",
            is_supported: config.first_position == 0,
            found: config.first_position.to_string(),
            expected: "0",
        }
    }

    /// Checks for standard attention: heads of width `d_model / n_heads`, and no windows.
    pub(super) fn standard_attention(config: &TransformerConfig) -> [Self; 4] {
        let width = config.d_model / config.n_heads;
        let is_even = width * config.n_heads == config.d_model;
        let width_of = |key, found: usize| Self {
            key,
            is_supported: is_even && found == width,
            found: found.to_string(),
            expected: "d_model / n_heads",
        };
        let window = |key, found: Option<usize>| Self {
            key,
            is_supported: found.is_none(),
            found: json!(found).to_string(),
            expected: "attention without a window",
        };
        [
            width_of("d_k", config.head_d_k()),
            width_of("d_v", config.head_d_v()),
            window("encoder_window", config.encoder_window),
            window("decoder_window", config.decoder_window),
        ]
    }
}

/// Refuses a table of positions, `[n_positions, d_model]`, of 4 GiB or more; the number of sinusoids has no other
/// limit. The error names the setting `cause`.
pub(super) fn check_positions(
    shape: [usize; 2],
    cause: &str,
    format: &'static str,
) -> Result<(), ExportError> {
    let n_bytes = shape
        .into_iter()
        .try_fold(size_of::<f32>(), usize::checked_mul);
    match n_bytes.is_some_and(|n_bytes| u32::try_from(n_bytes).is_ok()) {
        true => Ok(()),
        false => Err(ExportError::TooLarge {
            name: cause.to_owned(),
            format,
        }),
    }
}

/// Refuses the first setting with a value that the format does not support.
pub(super) fn refuse_unsupported(
    format: &'static str,
    checks: impl IntoIterator<Item = Check>,
) -> Result<(), ExportError> {
    let unsupported = checks.into_iter().find(|check| !check.is_supported);
    unsupported.map_or(Ok(()), |check| {
        Err(ExportError::Setting {
            key: check.key,
            found: check.found,
            format,
            expected: check.expected,
        })
    })
}
