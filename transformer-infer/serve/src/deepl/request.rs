//! The common parts of all requests and refusals of the interface.

use std::sync::Arc;

use axum::Json;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::glossaries::stored;
use crate::glossaries::{Glossaries, Pair};
use crate::http::ApiError;
use crate::parameters::{Parameters, list, text};
use crate::state::{Caller, Shared};
use transformer_translate::Glossary;

const MAX_GLOSSARIES: usize = 5;

/// The parameters of all requests for translations.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = deepl::Common)]
pub(super) struct Common {
    /// The code of the target language, such as `DE` or `EN-US`.
    #[serde(default, deserialize_with = "text")]
    #[schema(required, nullable = false)]
    pub(super) target_lang: Option<String>,
    /// The code of the source language; detected if missing.
    #[serde(default, deserialize_with = "text")]
    pub(super) source_lang: Option<String>,
    /// Formal translations: `more` and `less` are refused; `default`, and preferences, are ignored.
    #[serde(default, deserialize_with = "text")]
    formality: Option<String>,
    /// The glossary of the terms that translations must contain. Needs `source_lang`.
    #[serde(default, deserialize_with = "text")]
    glossary_id: Option<String>,
    /// Up to 5 glossaries instead; of equal terms the first counts.
    #[serde(default, deserialize_with = "list")]
    glossary_ids: Vec<String>,
    /// Refused.
    #[serde(default, deserialize_with = "list")]
    style_id: Vec<String>,
    /// Refused.
    #[serde(default, deserialize_with = "list")]
    translation_memory_id: Vec<String>,
    /// Refused.
    #[serde(default, deserialize_with = "list")]
    custom_instructions: Vec<String>,
    /// The key, instead of the one in the header `Authorization`.
    #[serde(default, rename = "auth_key", deserialize_with = "text")]
    _auth_key: Option<String>,
}

/// No parameters but the key of the caller.
#[derive(Debug, Deserialize)]
pub(super) struct KeyOnly {}

impl Parameters for KeyOnly {}

impl Common {
    /// Checks the options that change the result of a translation. Those that cannot be met are refused, as DeepL
    /// refuses them for languages without them. Preferences, and options that only improve translations there, are
    /// ignored.
    pub(super) fn check_options(&self) -> Result<(), ApiError> {
        let formality = self.formality.as_deref().map(str::to_ascii_lowercase);
        match formality.as_deref() {
            None | Some("default" | "prefer_more" | "prefer_less") => {}
            Some("more" | "less") => {
                let target = self.target()?;
                return Err(ApiError::request(format!(
                    "Target language '{target}' doesn't support formality."
                )));
            }
            Some(_) => return Err(unsupported("formality")),
        }
        let refused = [
            ("style_id", &self.style_id),
            ("translation_memory_id", &self.translation_memory_id),
            ("custom_instructions", &self.custom_instructions),
        ];
        match refused.iter().find(|(_, value)| !value.is_empty()) {
            Some((name, _)) => Err(unsupported(name)),
            None => Ok(()),
        }
    }

    pub(super) async fn glossary(
        &self,
        shared: &Shared,
        caller: &Caller,
    ) -> Result<Option<Arc<Glossary>>, ApiError> {
        let ids: Vec<String> = match (&self.glossary_id, &self.glossary_ids[..]) {
            (None, []) => return Ok(None),
            (Some(id), []) => vec![id.clone()],
            (None, ids) if ids.len() <= MAX_GLOSSARIES => ids.to_vec(),
            _ => return Err(unsupported("glossary_ids")),
        };
        let missing = || {
            let text = "Use of a glossary requires the source_lang parameter to be specified";
            ApiError::request(text)
        };
        let source = self.source_lang.as_deref().ok_or_else(missing)?;
        let pair = Pair::new(source, self.target()?).ok_or_else(|| unsupported("target_lang"))?;
        let terms = move |store: &Glossaries, account: Option<&str>| match &ids[..] {
            [id] => store.terms(id, account, &pair),
            ids => store.terms_of_several(ids, account, &pair),
        };
        let terms = stored(shared, caller, terms).await;
        terms.map(Some).map_err(|error| match error {
            ApiError::NotFound => ApiError::request("Glossary not found"),
            error => error,
        })
    }

    pub(super) fn target(&self) -> Result<&str, ApiError> {
        let target = self.target_lang.as_deref();
        target.ok_or_else(|| unsupported("target_lang"))
    }

    /// Returns an error in DeepL's words, which names the parameter with the language.
    pub(super) fn of_languages(&self, error: ApiError) -> ApiError {
        match &error {
            ApiError::Language { code } if self.source_lang.as_ref() == Some(code) => {
                unsupported("source_lang")
            }
            ApiError::Language { .. } | ApiError::Pair { .. } => unsupported("target_lang"),
            _ => error,
        }
    }
}

/// The body of a refusal.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = deepl::DeeplError)]
pub(super) struct DeeplError {
    /// The reason of the refusal.
    message: String,
}

impl DeeplError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

pub(super) fn refusal(error: &ApiError) -> (StatusCode, Json<DeeplError>) {
    match error {
        // DeepL's clients expect 403 for a missing key, and do not know 401.
        ApiError::MissingKey => {
            let text = "this server requires an API key; send `Authorization: DeepL-Auth-Key KEY`";
            (StatusCode::FORBIDDEN, Json(DeeplError::new(text)))
        }
        // DeepL's status of a quota that is used up, after which its clients do not try again.
        ApiError::GlossaryShare { .. } => {
            let status = StatusCode::from_u16(456).unwrap_or(error.status());
            (status, Json(DeeplError::new(error.to_string())))
        }
        _ => (error.status(), Json(DeeplError::new(error.to_string()))),
    }
}

/// Creates the error of an unsupported value, in DeepL's words.
pub(super) fn unsupported(name: &str) -> ApiError {
    ApiError::request(format!("Value for '{name}' not supported."))
}
