//! The interface of Microsoft's Translator, version 3, for programs that use it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use transformer_core::text::LanguageCode;
use utoipa::{OpenApi, ToSchema};

use crate::http::{ApiError, Client, KeyPlace, doubtful_headers, interface};
use crate::languages::{Asked, AskedFormat, Detection, answer_each, detector};
use crate::models::{LanguageNames, base_language, is_auto};
use crate::state::Shared;
use crate::translate::check_texts;
use crate::v1::JsonBody;

const RIGHT_TO_LEFT: [&str; 9] = ["ar", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"];

/// Errors with a number of their own at Microsoft, without the status before it.
const ERRORS: [(u32, &str); 3] = [
    (21, "The API version parameter is missing or invalid."),
    (
        36,
        "The target language (\"To\" field) is missing or invalid.",
    ),
    (71, "The value isn't valid for TextType."),
];

#[derive(OpenApi)]
#[openapi(paths(translate, languages, detect))]
pub(crate) struct Paths;

pub(crate) fn router(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    let with_key = Router::new()
        .route("/microsoft/translate", post(translate))
        .route("/microsoft/detect", post(detect));
    let without_key = Router::new().route("/microsoft/languages", get(languages));
    let keys = KeyPlace::HeadOrParameters("key");
    let without_key = interface(without_key, shared, keys, refused);
    interface(with_key, shared, KeyPlace::Head, refused).merge(without_key)
}

/// A text.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = microsoft::Text)]
struct Text {
    #[serde(rename = "Text", alias = "text")]
    text: String,
}

/// The translations of a text.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = microsoft::Translations)]
#[serde(rename_all = "camelCase")]
struct Translations {
    /// The language of the text, if it was detected.
    #[serde(skip_serializing_if = "Option::is_none")]
    detected_language: Option<DetectedLanguage>,
    /// The translations, in the order of the target languages.
    translations: Vec<Translation>,
}

/// The language of a text.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = microsoft::DetectedLanguage)]
struct DetectedLanguage {
    language: String,
    /// From 0 to 1.
    score: f64,
}

/// A translation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = microsoft::Translation)]
struct Translation {
    text: String,
    /// The target language, as requested.
    to: String,
}

/// Translates texts into one language or several.
#[utoipa::path(
    post,
    path = "/microsoft/translate",
    params(
        ("api-version" = String, Query, description = "`3.0`"),
        ("to" = Vec<String>, Query, description = "The target language; repeated for several"),
        ("from" = Option<String>, Query, description = "The source language. Default: detected"),
        ("textType" = Option<String>, Query, description = "`plain`, the default, or `html`"),
    ),
    request_body = Vec<Text>,
    responses(
        (status = 200, description = "The translations", body = Vec<Translations>),
        (status = 400, description = "A parameter is missing or not valid, or the texts are too long"),
        (status = 401, description = "The API key is missing or not valid"),
        (status = 429, description = "Too many requests; see Retry-After"),
        (status = 503, description = "The models are not loaded, or the translation takes too long"),
    )
)]
async fn translate(
    State(shared): State<Arc<Shared>>,
    client: Client,
    RawQuery(query): RawQuery,
    JsonBody(texts): JsonBody<Vec<Text>>,
) -> Result<(HeaderMap, Json<Vec<Translations>>), ApiError> {
    let caller = shared.admit(&client, client.key.as_deref())?;
    let query = Parameters::of(query)?;
    let texts: Vec<String> = texts.into_iter().map(|it| it.text).collect();
    let format = match query.first("textType").unwrap_or("plain") {
        kind if kind.eq_ignore_ascii_case("plain") => AskedFormat::Text,
        kind if kind.eq_ignore_ascii_case("html") => AskedFormat::Html,
        _ => return Err(refusal(71)),
    };
    let source = query.first("from");
    let source = source.filter(|code| !code.is_empty() && !is_auto(code));
    let mut known = BTreeSet::new();
    let targets = query.all("to").filter(|code| !code.is_empty());
    let targets: Vec<&str> = targets.filter(|code| known.insert(*code)).collect();
    let first = targets.first().ok_or_else(|| refusal(36))?;
    let asked = Asked {
        texts: &texts,
        source,
        target: first,
        format,
        ..Asked::default()
    };
    let answers = answer_each(&shared, &caller, &asked, &targets).await?;
    let mut all: Vec<Translations> = texts.iter().map(|_| Translations::default()).collect();
    let mut doubtful = Vec::new();
    for (target, answers) in targets.into_iter().zip(answers) {
        for (of_text, it) in all.iter_mut().zip(answers) {
            let (language, score) = (it.source, it.confidence);
            let detected = DetectedLanguage { language, score };
            of_text.detected_language = source.is_none().then_some(detected);
            doubtful.push(it.doubtful);
            let (text, to) = (it.text, target.to_owned());
            of_text.translations.push(Translation { text, to });
        }
    }
    Ok((doubtful_headers(doubtful), Json(all)))
}

/// The languages, by their codes.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = microsoft::Languages)]
struct Languages {
    translation: BTreeMap<String, Language>,
}

/// A language.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = microsoft::Language)]
#[serde(rename_all = "camelCase")]
struct Language {
    /// The name in English.
    name: String,
    native_name: String,
    /// `ltr` or `rtl`: the direction in which it is written.
    dir: &'static str,
}

/// Lists the languages for translation; there are none for dictionaries and transliteration.
#[utoipa::path(
    get,
    path = "/microsoft/languages",
    params(("api-version" = String, Query, description = "`3.0`")),
    responses((status = 200, description = "The languages", body = Languages))
)]
async fn languages(
    State(shared): State<Arc<Shared>>,
    RawQuery(query): RawQuery,
) -> Result<Json<Languages>, ApiError> {
    Parameters::of(query)?;
    let models = shared.models()?;
    let codes = models.codes().into_iter();
    let codes = codes.filter_map(|code| code.parse::<LanguageCode>().ok());
    let languages = codes.map(|code| {
        let names = LanguageNames::of(&code);
        let is_rtl = RIGHT_TO_LEFT.contains(&base_language(code.language()));
        let language = Language {
            name: names.english.to_owned(),
            native_name: names.native.to_owned(),
            dir: if is_rtl { "rtl" } else { "ltr" },
        };
        (code.to_string(), language)
    });
    let translation = languages.collect();
    Ok(Json(Languages { translation }))
}

/// The language of a text, and its uses.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = microsoft::Detected)]
#[serde(rename_all = "camelCase")]
struct Detected {
    #[serde(flatten)]
    language: DetectedLanguage,
    is_translation_supported: bool,
    /// Always false.
    is_transliteration_supported: bool,
}

/// Detects the language of each text, among those of the models.
#[utoipa::path(
    post,
    path = "/microsoft/detect",
    params(("api-version" = String, Query, description = "`3.0`")),
    request_body = Vec<Text>,
    responses(
        (status = 200, description = "The languages", body = Vec<Detected>),
        (status = 400, description = "A parameter is missing or not valid, or the texts are too long"),
        (status = 401, description = "The API key is missing or not valid"),
        (status = 429, description = "Too many requests; see Retry-After"),
        (status = 503, description = "The models are not loaded"),
    )
)]
async fn detect(
    State(shared): State<Arc<Shared>>,
    client: Client,
    RawQuery(query): RawQuery,
    JsonBody(texts): JsonBody<Vec<Text>>,
) -> Result<Json<Vec<Detected>>, ApiError> {
    let caller = shared.admit(&client, client.key.as_deref())?;
    Parameters::of(query)?;
    let texts: Vec<String> = texts.into_iter().map(|it| it.text).collect();
    check_texts(&shared, &texts, 1, &caller)?;
    let models = shared.models()?;
    let detector = detector(&models);
    let detected = texts.iter().map(|text| {
        let found = detector.detect(text);
        let is_translation_supported = found.is_some();
        let Detection { code, confidence } = found.unwrap_or_else(|| Detection {
            code: models.first_source().unwrap_or("en").to_owned(),
            confidence: 0.0,
        });
        Detected {
            language: DetectedLanguage {
                language: code,
                score: confidence,
            },
            is_translation_supported,
            is_transliteration_supported: false,
        }
    });
    Ok(Json(detected.collect()))
}

struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads a query, and checks the version of the interface.
    fn of(query: Option<String>) -> Result<Self, ApiError> {
        let query = query.unwrap_or_default();
        let pairs = form_urlencoded::parse(query.as_bytes()).into_owned();
        let parameters = Self(pairs.collect());
        match parameters.first("api-version") {
            Some("3.0") => Ok(parameters),
            _ => Err(refusal(21)),
        }
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let pairs = self.0.iter().filter(move |(given, _)| given == name);
        pairs.map(|(_, value)| value.as_str())
    }

    fn first(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }
}

fn refusal(number: u32) -> ApiError {
    let found = ERRORS.iter().find(|(known, _)| *known == number);
    ApiError::request(found.map_or("", |(_, text)| text))
}

fn refused(error: &ApiError) -> (StatusCode, Json<Value>) {
    let text = error.to_string();
    let (status, number) = match error {
        ApiError::MissingKey | ApiError::WrongKey => (StatusCode::UNAUTHORIZED, 0),
        ApiError::Language { .. } => (StatusCode::BAD_REQUEST, 19),
        ApiError::Pair { .. } => (StatusCode::BAD_REQUEST, 23),
        ApiError::TooLong { .. } | ApiError::TooManyTokens { .. } => (StatusCode::BAD_REQUEST, 50),
        ApiError::TooManyTexts { .. } => (StatusCode::BAD_REQUEST, 72),
        ApiError::BodyTooLarge { .. } => (StatusCode::BAD_REQUEST, 77),
        error => {
            let known = ERRORS.iter().find(|(_, known)| *known == text);
            (error.status(), known.map_or(0, |(number, _)| *number))
        }
    };
    let code = u32::from(status.as_u16()) * 1000 + number;
    let body = json!({ "error": { "code": code, "message": text } });
    (status, Json(body))
}
