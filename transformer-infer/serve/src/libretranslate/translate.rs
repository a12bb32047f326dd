//! `POST /translate`; `POST /detect`: detects the language of a text; `POST /suggest`: suggestions of better translations
//! are not collected.

use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{languages, missing};
use crate::config::Limits;
use crate::http::{ApiError, ErrorBody, doubtful_headers};
use crate::languages::{Answer, Asked, AskedFormat, Detection, answer, detector};
use crate::parameters::{Admitted, OneOrMany, Parameters, Repeated, number, text};

/// A request for translations.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = libretranslate::TranslateRequest)]
pub(super) struct TranslateRequest {
    /// The text, or an array of texts.
    #[serde(default)]
    #[schema(required, value_type = OneOrMany<String>)]
    q: Option<OneOrMany<String>>,
    /// The code of the source language, or `auto`.
    #[serde(default, deserialize_with = "text")]
    #[schema(required, nullable = false)]
    source: Option<String>,
    /// The code of the target language.
    #[serde(default, deserialize_with = "text")]
    #[schema(required, nullable = false)]
    target: Option<String>,
    /// `text`, the default, or `html`.
    #[serde(default, deserialize_with = "text")]
    format: Option<String>,
    /// Number of further translations of each text, at most 31; for HTML there are none.
    #[serde(default, deserialize_with = "number")]
    alternatives: Option<usize>,
    /// The key, if the server requires one.
    #[serde(default, rename = "api_key", deserialize_with = "text")]
    _api_key: Option<String>,
}

impl Parameters for TranslateRequest {
    const REPEATED: Repeated = Repeated::First;
}

/// Translations. All fields are arrays if `q` was one.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = libretranslate::TranslateReply)]
#[serde(rename_all = "camelCase")]
pub(super) struct TranslateReply {
    /// The translation.
    translated_text: OneOrMany<String>,
    /// The languages of the texts, if `source` was `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    detected_language: Option<OneOrMany<DetectedLanguage>>,
    /// Further translations, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    alternatives: Option<OneOrMany<Vec<String>>>,
}

/// Translates a text, or several.
#[utoipa::path(
    post,
    path = "/translate",
    request_body(content(
        (TranslateRequest = "application/json"),
        (TranslateRequest = "application/x-www-form-urlencoded"),
        (TranslateRequest = "multipart/form-data"),
    )),
    responses(
        (status = 200, description = "The translations", body = TranslateReply,
            headers(("x-doubtful-translations" = Option<String>, description = "Number and faults of doubtful translations"))),
        (status = 400, description = "A parameter is missing or not valid", body = ErrorBody),
        (status = 403, description = "The API key is not valid", body = ErrorBody),
        (status = 429, description = "Too many requests; see Retry-After", body = ErrorBody),
    )
)]
pub(super) async fn translate(
    Admitted(shared, caller, parameters): Admitted<TranslateRequest>,
) -> Result<(HeaderMap, Json<TranslateReply>), ApiError> {
    let texts = parameters.q.filter(|texts| match texts {
        OneOrMany::One(text) => !text.is_empty(),
        OneOrMany::Many(texts) => !texts.is_empty(),
    });
    let texts = texts.ok_or_else(|| missing("q"))?;
    let (source, target) = languages(parameters.source.as_ref(), parameters.target.as_ref())?;
    let format = match parameters.format.as_deref() {
        None | Some("text") => AskedFormat::Text,
        Some("html") => AskedFormat::Html,
        Some(other) => {
            let other: String = other.chars().take(40).collect();
            return Err(ApiError::request(format!(
                "{other} format is not supported"
            )));
        }
    };
    let n_alternatives = parameters.alternatives.unwrap_or(0);
    let limit = Limits::MOST_HYPOTHESES - 1;
    if n_alternatives > limit {
        let text = format!("Invalid request: alternatives parameter must be <= {limit}");
        return Err(ApiError::request(text));
    }
    let asked = Asked {
        texts: texts.as_slice(),
        source,
        target,
        format,
        n_alternatives,
        ..Asked::default()
    };
    let answers = answer(&shared, &caller, &asked).await?;
    let is_one = matches!(texts, OneOrMany::One(_));
    let headers = doubtful_headers(answers.iter().map(|it| it.doubtful));
    let reply = reply(answers, is_one, source.is_none(), n_alternatives > 0);
    Ok((headers, Json(reply)))
}

fn reply(
    answers: Vec<Answer>,
    is_one: bool,
    has_detected: bool,
    has_alternatives: bool,
) -> TranslateReply {
    let detected = answers
        .iter()
        .map(|it| DetectedLanguage::new(it.source.clone(), it.confidence));
    let detected: Vec<DetectedLanguage> = detected.collect();
    let (texts, alternatives): (Vec<String>, Vec<Vec<String>>) = answers
        .into_iter()
        .map(|it| (it.text, it.alternatives))
        .unzip();
    TranslateReply {
        translated_text: OneOrMany::of(texts, is_one),
        detected_language: has_detected.then(|| OneOrMany::of(detected, is_one)),
        alternatives: has_alternatives.then(|| OneOrMany::of(alternatives, is_one)),
    }
}

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
    #[serde(default)]
    #[schema(required, value_type = String)]
    q: Option<OneOrMany<String>>,
    /// The key, if the server requires one.
    #[serde(default, rename = "api_key", deserialize_with = "text")]
    _api_key: Option<String>,
}

impl Parameters for DetectRequest {
    const REPEATED: Repeated = Repeated::First;
}

/// Detects the language of a text, among those of the models.
#[utoipa::path(
    post,
    path = "/detect",
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
    Admitted(shared, caller, parameters): Admitted<DetectRequest>,
) -> Result<Json<Vec<DetectedLanguage>>, ApiError> {
    let texts = parameters.q.as_ref().map(OneOrMany::as_slice);
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

/// Refuses a suggestion, as LibreTranslate does where they are disabled.
#[utoipa::path(
    post,
    path = "/suggest",
    responses((status = 403, description = "Always", body = ErrorBody))
)]
pub(super) async fn suggest() -> (StatusCode, Json<ErrorBody>) {
    let error = "Suggestions are disabled on this server.".to_owned();
    (StatusCode::FORBIDDEN, Json(ErrorBody { error }))
}
