//! [`Check`]: whether a format supports a model's settings.

use serde_json::json;

use super::ExportError;
use crate::config::TransformerConfig;

/// The settings that [`Check::standard_attention`] checks.
const CHECKED: [&str; 4] = ["d_k", "d_v", "encoder_window", "decoder_window"];

/// A setting and whether a format supports its value.
pub(super) struct Check {
    pub(super) key: &'static str,
    pub(super) is_supported: bool,
    pub(super) found: String,
    /// The supported value.
    pub(super) expected: &'static str,
}

impl Check {
    /// Checks for standard attention: heads of width `d_model / n_heads`, and no windows.
    fn standard_attention(config: &TransformerConfig) -> [Self; 4] {
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

/// Refuses the first setting with a value that the format does not support: by a check, or because it is one that saved
/// models have only if it differs from the default, and not in `supported`.
pub(super) fn refuse_unsupported(
    format: &'static str,
    config: &TransformerConfig,
    supported: &[&str],
    checks: impl IntoIterator<Item = Check>,
) -> Result<(), ExportError> {
    let mut checks = checks.into_iter().chain(Check::standard_attention(config));
    let unsupported = checks.find(|check| !check.is_supported);
    let unsupported = unsupported.map(|it| (it.key.to_owned(), it.found, it.expected));
    let (settings, always) = (json!(config), json!(TransformerConfig::default()));
    let mut others = settings
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| {
            let is_known = CHECKED.contains(&key.as_str()) || supported.contains(&key.as_str());
            always.get(key).is_none() && !is_known
        });
    let other = || {
        let (key, value) = others.next()?;
        Some((key.clone(), value.to_string(), "the default"))
    };
    match unsupported.or_else(other) {
        None => Ok(()),
        Some((key, found, expected)) => Err(ExportError::Setting {
            key,
            found,
            format,
            expected: expected.to_owned(),
        }),
    }
}
