//! The options of JavaScript, as JSON; [`refused`]: errors as exceptions.

use std::collections::BTreeMap;

use serde::Deserialize;
use transformer_infer::one_line;
use wasm_bindgen::JsError;

/// The options for opening a model.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ModelOptions {
    /// `f32` or `int8`.
    pub(crate) precision: Option<String>,
    /// False if all target tokens are candidates, even if the model has a shortlist.
    pub(crate) shortlist: Option<bool>,
}

/// The options for a translation.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub(crate) struct JobOptions {
    /// Beam size. Default: the model's.
    pub(crate) beam: Option<usize>,
    /// Number of translations of each sentence.
    pub(crate) n_best: Option<usize>,
    /// True if the text is HTML.
    pub(crate) html: bool,
    /// Name of a document; its extension tells the format.
    pub(crate) document: Option<String>,
    /// The terms and their translations.
    pub(crate) glossary: BTreeMap<String, String>,
    /// True if sentences have alignments.
    pub(crate) alignments: bool,
    /// `sentences`, `lines` or `none`.
    pub(crate) split: Option<String>,
    /// Language of the text, for its rules of sentences. Default: the model's, or English.
    pub(crate) language: Option<String>,
}

/// Parses options; an empty text has the defaults.
pub(crate) fn parse<'a, T: Deserialize<'a> + Default>(json: &'a str) -> Result<T, JsError> {
    match json.is_empty() {
        true => Ok(T::default()),
        false => serde_json::from_str(json).map_err(refused),
    }
}

/// Returns the exception of an error, with its causes.
pub(crate) fn refused(error: impl std::error::Error) -> JsError {
    JsError::new(&one_line(&error))
}
