//! Glossaries. Those of `/v2` and of `/v3` are the same: `/v2` shows those of one pair of languages. Here are the
//! parameters of requests, and the calls of the store.

pub(super) mod v2;
pub(super) mod v3;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::request::unsupported;
use crate::glossaries::{Dictionary, Entries, Glossaries, Pair, StoredGlossary, read_entries};
use crate::http::ApiError;
use crate::languages::pairs;
use crate::parameters::{Parameters, text};
use crate::state::{Caller, Shared};
use crate::translate::compute_step;

/// A dictionary: its languages and its entries.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = deepl::DictionaryRequest)]
struct DictionaryRequest {
    /// The code of the source language.
    #[serde(default, deserialize_with = "text")]
    #[schema(required, nullable = false)]
    source_lang: Option<String>,
    /// The code of the target language.
    #[serde(default, deserialize_with = "text")]
    #[schema(required, nullable = false)]
    target_lang: Option<String>,
    /// The terms and their translations, one pair a line.
    #[serde(default, deserialize_with = "text")]
    #[schema(required, nullable = false)]
    entries: Option<String>,
    /// `tsv` or `csv`.
    #[serde(default, deserialize_with = "text")]
    #[schema(required, nullable = false)]
    entries_format: Option<String>,
}

/// A new glossary, of one dictionary or of `dictionaries`; or a new name or dictionaries of a glossary.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = deepl::GlossaryRequest)]
pub(super) struct GlossaryRequest {
    /// The name.
    #[serde(default, deserialize_with = "text")]
    name: Option<String>,
    /// The dictionaries; `/v2` has the fields of one beside the name instead.
    #[serde(default)]
    dictionaries: Vec<DictionaryRequest>,
    #[serde(flatten)]
    dictionary: DictionaryRequest,
    /// The key, instead of the one in the header `Authorization`.
    #[serde(default, rename = "auth_key", deserialize_with = "text")]
    _auth_key: Option<String>,
}

impl Parameters for GlossaryRequest {}

/// The languages of a dictionary.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PairRequest {
    /// The code of the source language.
    #[serde(default, deserialize_with = "text")]
    source_lang: Option<String>,
    /// The code of the target language.
    #[serde(default, deserialize_with = "text")]
    target_lang: Option<String>,
    /// The key, instead of the one in the header `Authorization`.
    #[serde(default, rename = "auth_key", deserialize_with = "text")]
    _auth_key: Option<String>,
}

impl Parameters for PairRequest {}

impl DictionaryRequest {
    fn dictionary(&self, shared: &Shared) -> Result<Dictionary, ApiError> {
        let (source, target) = (self.source_lang.as_deref(), self.target_lang.as_deref());
        let pair = pair(shared, source, target)?;
        let missing = |name| move || ApiError::request(format!("Parameter '{name}' not specified"));
        let entries = self.entries.as_deref();
        let entries = entries.ok_or_else(missing("entries"))?;
        let format = self.entries_format.as_deref();
        let format = format.ok_or_else(missing("entries_format"))?;
        let entries = read_entries(format, entries, &pair)?;
        Ok(Dictionary { pair, entries })
    }
}

impl PairRequest {
    fn pair(&self, shared: &Shared) -> Result<Pair, ApiError> {
        let (source, target) = (self.source_lang.as_deref(), self.target_lang.as_deref());
        pair(shared, source, target)
    }
}

/// Returns the languages of a dictionary, between which a model must translate.
fn pair(shared: &Shared, source: Option<&str>, target: Option<&str>) -> Result<Pair, ApiError> {
    let source = source.ok_or_else(|| unsupported("source_lang"))?;
    let target = target.ok_or_else(|| unsupported("target_lang"))?;
    let models = shared.models()?;
    let pair =
        Pair::new(source, target).filter(|pair| pairs_of(&pairs(&models)).any(|it| it == *pair));
    let text = "Unsupported glossary source and target language pair";
    pair.ok_or_else(|| ApiError::request(text))
}

fn pairs_of<'a>(targets: &'a BTreeMap<&str, Vec<&str>>) -> impl Iterator<Item = Pair> + 'a {
    let pairs = targets.iter().flat_map(|(source, targets)| {
        targets
            .iter()
            .filter_map(|target| Pair::new(source, target))
    });
    pairs.filter(|pair| pair.source_lang != pair.target_lang)
}

/// Calls the store of glossaries on a thread, with the caller's account.
pub(super) async fn stored<T: Send + 'static>(
    shared: &Shared,
    caller: &Caller,
    call: impl FnOnce(&Glossaries, Option<&str>) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let (glossaries, account) = (shared.glossaries.clone(), caller.account.clone());
    compute_step(caller.id, move || call(&glossaries, account.as_deref())).await
}

/// Puts a dictionary in the place of that of the same languages, or after all others.
fn put(glossary: &mut StoredGlossary, dictionary: Dictionary) {
    let all = &mut glossary.dictionaries;
    match all.iter_mut().find(|it| it.pair == dictionary.pair) {
        Some(old) => *old = dictionary,
        None => all.push(dictionary),
    }
}

/// Adds entries to the dictionary of the same languages; those with a known source replace it.
fn merge(glossary: &mut StoredGlossary, added: Dictionary) {
    let old = glossary.of_pair(&added.pair);
    let old = old.map_or(&[][..], |old| old.entries.as_slice());
    let known: BTreeSet<&str> = added
        .entries
        .iter()
        .map(|(source, _)| source.as_str())
        .collect();
    let kept = old
        .iter()
        .filter(|(source, _)| !known.contains(source.as_str()));
    let entries: Entries = kept.cloned().chain(added.entries.iter().cloned()).collect();
    put(glossary, Dictionary { entries, ..added });
}

fn tsv(dictionary: &Dictionary) -> String {
    let lines = dictionary.entries.iter();
    let lines = lines.map(|(source, target)| format!("{source}\t{target}"));
    lines.collect::<Vec<_>>().join("\n")
}
