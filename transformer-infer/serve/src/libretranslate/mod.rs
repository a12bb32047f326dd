//! LibreTranslate's interface, for programs that use it; see docs/serving.md.

mod files;
mod languages;
mod translate;

pub(crate) use languages::english_name;

use std::sync::Arc;

use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use utoipa::OpenApi;

use crate::http::{ApiError, ErrorBody, KeyPlace, interface};
use crate::models::is_auto;
use crate::state::Shared;

#[derive(OpenApi)]
#[openapi(paths(
    translate::translate,
    languages::languages,
    translate::detect,
    files::translate_file,
    files::download_file,
    languages::settings,
    translate::suggest,
))]
pub(crate) struct Paths;

pub(crate) fn router(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    let router = Router::new()
        .route("/translate", post(translate::translate))
        .route("/languages", get(languages::languages))
        .route("/detect", post(translate::detect))
        .route("/translate_file", post(files::translate_file))
        .route("/download_file/{file}", get(files::download_file))
        .route("/frontend/settings", get(languages::settings))
        .route("/suggest", post(translate::suggest));
    let keys = KeyPlace::HeadOrParameters("api_key");
    interface(router, shared, keys, refusal)
}

pub(crate) fn missing(name: &str) -> ApiError {
    ApiError::request(format!("Invalid request: missing {name} parameter"))
}

/// Returns the codes of the source language, unless it is to be detected, and of the target language.
fn languages<'a>(
    source: Option<&'a String>,
    target: Option<&'a String>,
) -> Result<(Option<&'a str>, &'a str), ApiError> {
    let source = source.ok_or_else(|| missing("source"))?;
    let target = target.ok_or_else(|| missing("target"))?;
    let source = Some(source.as_str()).filter(|code| !is_auto(code));
    Ok((source, target))
}

/// Returns the status and the text that LibreTranslate has, which clients look for.
fn refusal(error: &ApiError) -> (StatusCode, Json<ErrorBody>) {
    let exceeds = |n: usize, limit: usize| {
        let text = format!("Invalid request: request ({n}) exceeds text limit ({limit})");
        (StatusCode::BAD_REQUEST, text)
    };
    let (status, error) = match error {
        ApiError::TooLong { n_chars, limit } => exceeds(*n_chars, *limit),
        ApiError::TooManyTexts { n_texts, limit } => exceeds(*n_texts, *limit),
        ApiError::MissingKey => (
            StatusCode::BAD_REQUEST,
            "Please contact the server operator to get an API key".to_owned(),
        ),
        ApiError::WrongKey => (StatusCode::FORBIDDEN, "Invalid API key".to_owned()),
        ApiError::TooManyRequests { .. } | ApiError::Busy { .. } => {
            (error.status(), format!("Slowdown: {error}"))
        }
        error => (error.status(), error.to_string()),
    };
    (status, Json(ErrorBody { error }))
}
