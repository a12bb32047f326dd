//! The options of Python's calls, read as JSON.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use transformer_core::json;
use transformer_infer::search::{LengthLimit, LengthPenalty, Search};
use transformer_infer::{Glossary, Translator};

use crate::error::raised;

/// The options of a translation of lines.
#[derive(Debug, Deserialize)]
pub(crate) struct LineOptions {
    #[serde(default)]
    pub(crate) alignments: bool,
    #[serde(default)]
    pub(crate) attention: bool,
    /// The text that each translation begins with.
    #[serde(default)]
    pub(crate) prefixes: Vec<String>,
    /// Index of the first line in the whole input; samples depend on it.
    #[serde(default)]
    pub(crate) first_index: u64,
    pub(crate) source_lang: Option<String>,
    pub(crate) target_lang: Option<String>,
    #[serde(flatten)]
    pub(crate) common: CommonOptions,
}

/// The options of a translation of a document.
#[derive(Debug, Deserialize)]
pub(crate) struct DocumentOptions {
    /// Default: by the extension of the file.
    pub(crate) format: Option<String>,
    /// `sentences`, `lines` or `none`.
    pub(crate) split: Option<String>,
    /// True if the output may replace a file.
    #[serde(default)]
    pub(crate) overwrite: bool,
    #[serde(flatten)]
    pub(crate) common: CommonOptions,
}

/// The options of both.
#[derive(Debug, Deserialize)]
pub(crate) struct CommonOptions {
    /// The terms and their translations.
    #[serde(default)]
    glossary: BTreeMap<String, String>,
    #[serde(flatten)]
    search: Map<String, Value>,
}

/// Reads keyword arguments; those that are `None` count as missing.
pub(crate) fn read<T: DeserializeOwned>(given: Option<&Bound<'_, PyDict>>) -> PyResult<T> {
    let mut values = Map::new();
    if let Some(given) = given {
        let text = given.py().import("json")?.call_method1("dumps", (given,))?;
        values = json::from_slice(text.extract::<String>()?.as_bytes()).map_err(raised)?;
        values.retain(|_, value| !value.is_null());
    }
    json::from_value(&Value::Object(values)).map_err(raised)
}

impl CommonOptions {
    pub(crate) fn search(&self, translator: &Translator) -> PyResult<Search> {
        changed(translator.search(), &self.search)
    }

    pub(crate) fn glossary(&self) -> PyResult<Option<Glossary>> {
        let pairs = self.glossary.iter();
        let pairs = pairs.map(|(src, tgt)| (src.as_str(), tgt.as_str()));
        let is_given = !self.glossary.is_empty();
        let glossary = is_given.then(|| Glossary::from_pairs("the glossary", pairs));
        glossary.transpose().map_err(raised)
    }
}

/// Returns a search with other settings, under the names of [`Search`]'s fields. Lengths and the length penalty may be
/// written as the program's flags have them, such as `1x+50` and `gnmt:0.6`. More hypotheses than the beam size raise it,
/// unless it is given.
pub(crate) fn changed(search: &Search, settings: &Map<String, Value>) -> PyResult<Search> {
    let mut value = json!(search);
    for (key, given) in settings {
        value[key] = match (key.as_str(), given) {
            ("length_penalty", Value::String(text)) => {
                json!(text.parse::<LengthPenalty>().map_err(raised)?)
            }
            ("max_len" | "min_len", Value::String(_) | Value::Number(_)) => {
                let text = given
                    .as_str()
                    .map_or_else(|| given.to_string(), str::to_owned);
                json!(text.parse::<LengthLimit>().map_err(raised)?)
            }
            _ => given.clone(),
        };
    }
    let mut search: Search = json::from_value(&value).map_err(raised)?;
    if !settings.contains_key("beam_size") {
        search.beam_size = search
            .beam_size
            .max(search.n_best.min(Search::MOST_HYPOTHESES));
    }
    search.validate().map_err(raised)?;
    Ok(search)
}
