//! `GET /languages`: the source languages with their targets.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde::Serialize;
use transformer_core::text::LanguageCode;
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
    tag = "LibreTranslate",
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

/// Returns the name of a language in English.
pub(crate) fn english_name(code: &str) -> String {
    match code.parse::<LanguageCode>() {
        Ok(code) => LanguageNames::of(&code).english.to_owned(),
        Err(_) => code.to_owned(),
    }
}
