//! `GET /languages`: the source languages with their targets; `GET /frontend/settings`: the settings that pages and
//! programs need in advance.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde::Serialize;
use transformer_core::text::LanguageCode;
use transformer_documents::format::Format;
use utoipa::ToSchema;

use crate::http::{ApiError, ErrorBody};
use crate::languages::pairs;
use crate::models::{LanguageNames, Models};
use crate::state::Shared;

/// A language.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = libretranslate::Language)]
pub(super) struct Language {
    /// The code, such as `en` or `pt-BR`.
    code: String,
    /// The name in English.
    name: String,
    /// The codes of the languages that it can be translated into. Each language is among its own targets: texts in it
    /// are returned unchanged.
    targets: Vec<String>,
}

/// Lists the languages.
#[utoipa::path(
    get,
    path = "/languages",
    responses(
        (status = 200, description = "The languages", body = Vec<Language>),
        (status = 503, description = "The models are not loaded yet", body = ErrorBody),
    )
)]
pub(super) async fn languages(
    State(shared): State<Arc<Shared>>,
) -> Result<impl IntoResponse, ApiError> {
    let list = |models: &Models| {
        serde_json::to_vec(&languages_of(models)).expect("texts are always written")
    };
    Ok((
        [(CONTENT_TYPE, "application/json")],
        shared.models()?.list(list),
    ))
}

fn languages_of(models: &Models) -> Vec<Language> {
    let targets = pairs(models);
    let sources = targets.keys().copied();
    let codes: BTreeSet<&str> = sources.chain(targets.values().flatten().copied()).collect();
    let language = |code: &str| {
        let mut of_code: BTreeSet<&str> = [code].into();
        of_code.extend(targets.get(code).into_iter().flatten().copied());
        Language {
            code: code.to_owned(),
            name: english_name(code),
            targets: of_code.into_iter().map(str::to_owned).collect(),
        }
    };
    codes.into_iter().map(language).collect()
}

pub(crate) fn english_name(code: &str) -> String {
    match code.parse::<LanguageCode>() {
        Ok(code) => LanguageNames::of(&code).english.to_owned(),
        Err(_) => code.to_owned(),
    }
}

/// Milliseconds that a page waits after a keystroke before it sends a request: LibreTranslate's default.
const FRONTEND_TIMEOUT: u32 = 500;

/// The settings and features of the server.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = libretranslate::Settings)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the fields are LibreTranslate's"
)]
pub(super) struct Settings {
    /// Maximum number of characters of a request.
    char_limit: usize,
    /// Milliseconds that a page should wait after a keystroke before it sends a request.
    frontend_timeout: u32,
    /// True if there are API keys.
    api_keys: bool,
    /// True if a request needs a key.
    key_required: bool,
    /// True if suggestions are accepted: never.
    suggestions: bool,
    /// True if files are translated: always.
    files_translation: bool,
    /// The extensions of these files.
    supported_files_format: Vec<String>,
    language: SettingsLanguages,
}

/// The languages that a page shows first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = libretranslate::SettingsLanguages)]
struct SettingsLanguages {
    source: SettingsLanguage,
    target: SettingsLanguage,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = libretranslate::SettingsLanguage)]
struct SettingsLanguage {
    code: String,
    name: String,
}

/// Returns the settings and features of the server.
#[utoipa::path(
    get,
    path = "/frontend/settings",
    responses(
        (status = 200, description = "The settings and features", body = Settings),
        (status = 503, description = "The models are not loaded yet", body = ErrorBody),
    )
)]
pub(super) async fn settings(
    State(shared): State<Arc<Shared>>,
) -> Result<Json<Settings>, ApiError> {
    let models = shared.models()?;
    let targets = pairs(&models);
    let target = targets.values().flatten().next().copied().unwrap_or("en");
    let requires_key = shared.requires_key();
    Ok(Json(Settings {
        char_limit: shared.options.limits.max_chars,
        frontend_timeout: FRONTEND_TIMEOUT,
        api_keys: requires_key,
        key_required: requires_key,
        suggestions: false,
        files_translation: true,
        supported_files_format: Format::extensions().map(|it| format!(".{it}")).collect(),
        language: SettingsLanguages {
            source: SettingsLanguage {
                code: "auto".to_owned(),
                name: "Auto Detect".to_owned(),
            },
            target: SettingsLanguage {
                code: target.to_owned(),
                name: english_name(target),
            },
        },
    }))
}
