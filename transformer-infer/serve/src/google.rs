//! The interface of Google's Cloud Translation, version 2, for programs that use it.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{OpenApi, ToSchema};

use crate::http::{ApiError, KeyPlace, interface};
use crate::languages::{Asked, AskedFormat, answer, detector};
use crate::libretranslate::{english_name, missing};
use crate::parameters::{Admitted, OneOrMany, Parameters, text};
use crate::state::Shared;
use crate::translate::check_texts;

#[derive(OpenApi)]
#[openapi(paths(translate, languages, detect))]
pub(crate) struct Paths;

/// A reply: all are in a field `data`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = google::Data)]
struct Data<T> {
    data: T,
}

/// Texts come by `POST` alone: the pages of strangers can send `GET` without naming their origin.
pub(crate) fn router(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    const PATH: &str = "/language/translate/v2";
    let router = Router::new()
        .route(PATH, post(translate))
        .route(&format!("{PATH}/languages"), get(languages).post(languages))
        .route(&format!("{PATH}/detect"), post(detect));
    let keys = KeyPlace::HeadOrParameters("key");
    interface(router, shared, keys, refusal)
}

/// A request for translations. Other parameters, such as `model`, have no effect.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = google::TranslateRequest)]
struct TranslateRequest {
    /// The text, or several.
    #[serde(default)]
    #[schema(required, value_type = Vec<String>)]
    q: Option<OneOrMany<String>>,
    /// The code of the target language.
    #[serde(default, deserialize_with = "text")]
    #[schema(required, nullable = false)]
    target: Option<String>,
    /// The code of the source language. Default: detected.
    #[serde(default, deserialize_with = "text")]
    source: Option<String>,
    /// `html`, the default, or `text`.
    #[serde(default, deserialize_with = "text")]
    format: Option<String>,
    /// The key, if the server requires one.
    #[serde(default, rename = "key", deserialize_with = "text")]
    _key: Option<String>,
}

impl Parameters for TranslateRequest {}

/// The translations, in the order of the texts.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = google::Translations)]
struct Translations {
    translations: Vec<Translation>,
}

/// A translation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = google::Translation)]
#[serde(rename_all = "camelCase")]
struct Translation {
    translated_text: String,
    /// The language of the text, if it was detected.
    #[serde(skip_serializing_if = "Option::is_none")]
    detected_source_language: Option<String>,
}

/// Translates texts.
#[utoipa::path(
    post,
    path = "/language/translate/v2",
    request_body(content(
        (TranslateRequest = "application/json"),
        (TranslateRequest = "application/x-www-form-urlencoded"),
    )),
    responses(
        (status = 200, description = "The translations", body = Data<Translations>),
        (status = 400, description = "A parameter is missing or not valid"),
        (status = 403, description = "The API key is missing"),
        (status = 429, description = "Too many requests; see Retry-After"),
    )
)]
async fn translate(
    Admitted(shared, caller, parameters): Admitted<TranslateRequest>,
) -> Result<Json<Data<Translations>>, ApiError> {
    let texts = parameters.q.ok_or_else(|| missing("q"))?;
    let target = parameters.target.ok_or_else(|| missing("target"))?;
    let source = parameters.source.as_deref();
    let format = match parameters.format.as_deref() {
        None | Some("html") => AskedFormat::Html,
        Some("text") => AskedFormat::Text,
        Some(other) => {
            let other: String = other.chars().take(40).collect();
            let text = format!("`format` is `{other}`, expected `html` or `text`");
            return Err(ApiError::request(text));
        }
    };
    let asked = Asked {
        texts: texts.as_slice(),
        source,
        target: &target,
        format,
        ..Asked::default()
    };
    let answers = answer(&shared, &caller, &asked).await?.into_iter();
    let translations = answers.map(|answer| Translation {
        translated_text: answer.text,
        detected_source_language: source.is_none().then_some(answer.source),
    });
    let translations = translations.collect();
    Ok(Json(Data {
        data: Translations { translations },
    }))
}

/// A request for the languages.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = google::LanguagesRequest)]
struct LanguagesRequest {
    /// If given, languages have names, in English.
    #[serde(default, deserialize_with = "text")]
    target: Option<String>,
    /// The key, if the server requires one.
    #[serde(default, rename = "key", deserialize_with = "text")]
    _key: Option<String>,
}

impl Parameters for LanguagesRequest {}

/// The languages, in the order of their codes.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = google::Languages)]
struct Languages {
    languages: Vec<Language>,
}

/// A language.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = google::Language)]
struct Language {
    language: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

/// Lists the languages.
#[utoipa::path(
    get,
    path = "/language/translate/v2/languages",
    responses((status = 200, description = "The languages", body = Data<Languages>))
)]
async fn languages(
    Admitted(shared, _, parameters): Admitted<LanguagesRequest>,
) -> Result<Json<Data<Languages>>, ApiError> {
    let models = shared.models()?;
    let languages = models.codes().into_iter().map(|code| Language {
        language: code.to_owned(),
        name: parameters.target.as_ref().map(|_| english_name(code)),
    });
    let languages = languages.collect();
    Ok(Json(Data {
        data: Languages { languages },
    }))
}

/// A request to detect languages.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = google::DetectRequest)]
struct DetectRequest {
    /// The text, or several.
    #[serde(default)]
    #[schema(required, value_type = Vec<String>)]
    q: Option<OneOrMany<String>>,
    /// The key, if the server requires one.
    #[serde(default, rename = "key", deserialize_with = "text")]
    _key: Option<String>,
}

impl Parameters for DetectRequest {}

/// The languages of the texts, one list for each.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = google::Detections)]
struct Detections {
    detections: Vec<[Detected; 1]>,
}

/// A language.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = google::Detected)]
#[serde(rename_all = "camelCase")]
struct Detected {
    /// The code; `und` if no language of the models is likely.
    language: String,
    /// From 0 to 1.
    confidence: f64,
    /// Always false, as at Google.
    is_reliable: bool,
}

/// Detects the language of each text, among those of the models.
#[utoipa::path(
    post,
    path = "/language/translate/v2/detect",
    request_body(content(
        (DetectRequest = "application/json"),
        (DetectRequest = "application/x-www-form-urlencoded"),
    )),
    responses(
        (status = 200, description = "The languages", body = Data<Detections>),
        (status = 400, description = "The text is missing"),
    )
)]
async fn detect(
    Admitted(shared, caller, parameters): Admitted<DetectRequest>,
) -> Result<Json<Data<Detections>>, ApiError> {
    let texts = parameters.q.ok_or_else(|| missing("q"))?;
    check_texts(&shared, texts.as_slice(), 1, &caller)?;
    let models = shared.models()?;
    let detector = detector(&models);
    let detected = texts.as_slice().iter().map(|text| {
        let (language, confidence) = match detector.detect(text) {
            Some(found) => (found.code, found.confidence),
            None => ("und".to_owned(), 0.0),
        };
        [Detected {
            language,
            confidence,
            is_reliable: false,
        }]
    });
    let detections = detected.collect();
    Ok(Json(Data {
        data: Detections { detections },
    }))
}

fn refusal(error: &ApiError) -> (StatusCode, Json<Value>) {
    let (status, reason) = match error {
        ApiError::MissingKey => (StatusCode::FORBIDDEN, "forbidden"),
        ApiError::WrongKey => (StatusCode::BAD_REQUEST, "keyInvalid"),
        error => match error.status() {
            StatusCode::TOO_MANY_REQUESTS => (error.status(), "rateLimitExceeded"),
            status if status.is_server_error() => (status, "backendError"),
            status => (status, "invalid"),
        },
    };
    let text = error.to_string();
    let errors = [json!({ "message": text, "domain": "global", "reason": reason })];
    let error = json!({ "code": status.as_u16(), "message": text, "errors": errors });
    (status, Json(json!({ "error": error })))
}
