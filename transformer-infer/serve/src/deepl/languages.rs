//! `GET /v2/languages`: the languages of sources or of translations; `GET /v2/usage`: the number of translated characters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::{Extension, Json};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use transformer_core::text::LanguageCode;
use utoipa::{IntoParams, ToSchema};

use super::request::{DeeplError, KeyOnly, unsupported};
use crate::http::ApiError;
use crate::languages::pairs;
use crate::models::LanguageNames;
use crate::parameters::{Admitted, Parameters, text};
use crate::state::{Caller, Shared};

/// Languages that DeepL's clients accept as targets only as variants: the code, and the variants with their names.
const VARIANTS: [(&str, [(&str, &str); 2]); 2] = [
    (
        "EN",
        [
            ("EN-GB", "English (British)"),
            ("EN-US", "English (American)"),
        ],
    ),
    (
        "PT",
        [
            ("PT-BR", "Portuguese (Brazilian)"),
            ("PT-PT", "Portuguese (European)"),
        ],
    ),
];

/// The parameters of [`languages`].
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LanguagesRequest {
    /// `source`, the default, or `target`.
    #[serde(rename = "type", default, deserialize_with = "text")]
    kind: Option<String>,
    /// The key, instead of the one in the header `Authorization`.
    #[serde(default, rename = "auth_key", deserialize_with = "text")]
    _auth_key: Option<String>,
}

impl Parameters for LanguagesRequest {}

/// A language.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = deepl::Language)]
pub(super) struct Language {
    /// The code in capital letters, such as `EN` or `PT-BR`.
    language: String,
    /// The name in English.
    name: String,
    /// True if translations can be more or less formal: never. Only for targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    supports_formality: Option<bool>,
}

/// Lists the source languages, or with `type=target` the target languages.
#[utoipa::path(
    get,
    path = "/v2/languages",
    params(LanguagesRequest),
    responses(
        (status = 200, description = "The languages", body = Vec<Language>),
        (status = 403, description = "The API key is missing or not valid", body = DeeplError),
    )
)]
pub(super) async fn languages(
    Admitted(shared, _, parameters): Admitted<LanguagesRequest>,
) -> Result<Json<Vec<Language>>, ApiError> {
    let models = shared.models()?;
    let targets = pairs(&models);
    Ok(Json(match parameters.kind.as_deref() {
        None | Some("source") => {
            let sources = targets.keys().filter_map(|code| code.parse().ok());
            // Sources have no regions here.
            let sources: BTreeSet<String> = sources
                .map(|code: LanguageCode| code.language().to_owned())
                .collect();
            sources.iter().map(|code| language(code, None)).collect()
        }
        Some("target") => {
            let codes: BTreeSet<&str> = targets.values().flatten().copied().collect();
            codes.into_iter().flat_map(target_languages).collect()
        }
        Some(_) => return Err(unsupported("type")),
    }))
}

fn target_languages(code: &str) -> Vec<Language> {
    let upper = code.to_ascii_uppercase();
    match VARIANTS.iter().find(|(language, _)| *language == upper) {
        Some((_, variants)) => variants
            .iter()
            .map(|(code, name)| Language {
                language: (*code).to_owned(),
                name: (*name).to_owned(),
                supports_formality: Some(false),
            })
            .collect(),
        None => vec![language(code, Some(false))],
    }
}

fn language(code: &str, supports_formality: Option<bool>) -> Language {
    let parsed: Option<LanguageCode> = code.parse().ok();
    let name = parsed
        .as_ref()
        .map_or(code, |code| LanguageNames::of(code).english);
    Language {
        language: code.to_ascii_uppercase(),
        name: name.to_owned(),
        supports_formality,
    }
}

/// The limit that DeepL reports for accounts without one.
const NO_LIMIT: u64 = 1_000_000_000_000;

/// The number of characters of each key since the server started, or of all callers if there are no keys.
#[derive(Debug, Default)]
pub(super) struct Usage(Mutex<BTreeMap<u64, u64>>);

/// The number of translated characters, and its limit.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = deepl::UsageReply)]
pub(super) struct UsageReply {
    /// Characters since the server started.
    character_count: u64,
    /// The limit. There is none, so this is a number that cannot be reached.
    character_limit: u64,
}

impl Usage {
    pub(super) fn add(&self, shared: &Shared, caller: &Caller, n_chars: usize) {
        let mut counts = self.0.lock();
        *counts.entry(account(shared, caller)).or_default() += n_chars as u64;
    }

    fn of(&self, shared: &Shared, caller: &Caller) -> u64 {
        let counts = self.0.lock();
        counts.get(&account(shared, caller)).copied().unwrap_or(0)
    }
}

/// Returns the number of the caller's key. Without keys all callers share one: the number of addresses is unbounded.
fn account(shared: &Shared, caller: &Caller) -> u64 {
    if shared.requires_key() { caller.id } else { 0 }
}

/// Returns the number of characters that the caller has translated.
#[utoipa::path(
    get,
    path = "/v2/usage",
    responses(
        (status = 200, description = "The number of characters", body = UsageReply),
        (status = 403, description = "The API key is missing or not valid", body = DeeplError),
    )
)]
pub(super) async fn usage(
    Extension(usage): Extension<Arc<Usage>>,
    Admitted(shared, caller, _): Admitted<KeyOnly>,
) -> Result<Json<UsageReply>, ApiError> {
    Ok(Json(UsageReply {
        character_count: usage.of(&shared, &caller),
        character_limit: NO_LIMIT,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(code: &str) -> Vec<String> {
        target_languages(code)
            .into_iter()
            .map(|it| it.language)
            .collect()
    }

    #[test]
    fn clients_get_the_variants_that_they_accept_as_targets() {
        assert_eq!(codes("en"), ["EN-GB", "EN-US"]);
        assert_eq!(codes("pt-BR"), ["PT-BR"]);
        assert_eq!(codes("de"), ["DE"]);
    }
}
