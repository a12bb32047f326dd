//! `POST /detect`: detects the language of a text.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::request::{admitted, missing};
use crate::http::{ApiError, ErrorBody};
use crate::languages::{Detection, detector};
use crate::parameters::{Parameters, Texts, text, texts};
use crate::state::Shared;

/// The language of a text.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = libretranslate::DetectedLanguage)]
pub(super) struct DetectedLanguage {
    /// The confidence, from 0 to 100.
    confidence: f64,
    /// The code of the language.
    language: String,
}

impl DetectedLanguage {
    /// Creates the language of a text with its confidence from 0 to 1.
    pub(super) fn new(language: String, confidence: f64) -> Self {
        Self {
            confidence: (100.0 * confidence).round(),
            language,
        }
    }
}

/// A request to detect a language.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = libretranslate::DetectRequest)]
pub(super) struct DetectRequest {
    /// The text.
    #[serde(default, deserialize_with = "texts")]
    #[schema(required, value_type = String)]
    q: Option<Texts>,
    /// The key, if the server requires one.
    #[serde(default, deserialize_with = "text")]
    api_key: Option<String>,
}

impl Parameters for DetectRequest {
    fn key(&self) -> Option<&str> {
        self.api_key.as_deref()
    }
}

/// Detects the language of a text, among those of the models.
#[utoipa::path(
    post,
    path = "/detect",
    tag = "LibreTranslate",
    request_body(content(
        (DetectRequest = "application/json"),
        (DetectRequest = "application/x-www-form-urlencoded"),
        (DetectRequest = "multipart/form-data"),
    )),
    responses(
        (status = 200, description = "The language", body = Vec<DetectedLanguage>),
        (status = 400, description = "The text or the API key is missing", body = ErrorBody),
        (status = 403, description = "The API key is not valid", body = ErrorBody),
        (status = 429, description = "Too many requests; see Retry-After", body = ErrorBody),
    )
)]
pub(super) async fn detect(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Json<Vec<DetectedLanguage>>, ApiError> {
    let (caller, parameters): (_, DetectRequest) = admitted(&shared, request).await?;
    let texts = parameters.q.as_ref().map(Texts::as_slice);
    let texts = texts.unwrap_or_default();
    if texts.iter().all(String::is_empty) {
        return Err(missing("q"));
    }
    let n_chars = texts.iter().map(|text| text.chars().count()).sum();
    if n_chars > caller.max_chars {
        let limit = caller.max_chars;
        return Err(ApiError::TooLong { n_chars, limit });
    }
    let models = shared.models()?;
    let found = detector(&models).detect(&texts.join("\n"));
    let Detection { code, confidence } = found.unwrap_or_else(|| Detection {
        code: models.first_source().unwrap_or("en").to_owned(),
        confidence: 0.0,
    });
    Ok(Json(vec![DetectedLanguage::new(code, confidence)]))
}
