//! The interface of DeepLX, for programs that use it.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use axum::extract::{FromRequest, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{OpenApi, ToSchema};

use crate::http::{ApiError, KeyPlace, doubtful_headers, interface};
use crate::languages::{Asked, AskedFormat, answer};
use crate::models::is_auto;
use crate::parameters::{Admitted, Parameters, text};
use crate::state::Shared;

/// The refusal of a request without a text, for which DeepLX has a status of its own.
const NO_TEXT: &str = "No text to translate";

/// Number of further translations: DeepLX has no parameter for it.
const N_ALTERNATIVES: usize = 3;

#[derive(OpenApi)]
#[openapi(paths(translate))]
pub(crate) struct Paths;

pub(crate) fn router(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    let router = Router::new().route("/deeplx/translate", post(translate));
    let keys = KeyPlace::HeadElseParameters("token");
    interface(router, shared, keys, refusal)
}

/// A request for a translation.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = deeplx::TranslateRequest)]
struct TranslateRequest {
    /// The text.
    #[serde(default, deserialize_with = "text")]
    #[schema(required, nullable = false)]
    text: Option<String>,
    /// The code of the source language. Default, and for `auto`: detected.
    #[serde(default, deserialize_with = "text")]
    source_lang: Option<String>,
    /// The code of the target language.
    #[serde(default, deserialize_with = "text")]
    #[schema(required, nullable = false)]
    target_lang: Option<String>,
    /// `html` or `xml`. Default: plain text.
    #[serde(default, deserialize_with = "text")]
    tag_handling: Option<String>,
    /// The key, if the server requires one.
    #[serde(default, rename = "token", deserialize_with = "text")]
    _token: Option<String>,
}

impl Parameters for TranslateRequest {}

/// The translation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = deeplx::TranslateReply)]
struct TranslateReply {
    /// 200.
    code: u16,
    /// Milliseconds since 1970.
    id: u64,
    data: String,
    /// The next best translations of plain text.
    alternatives: Vec<String>,
    source_lang: String,
    target_lang: String,
    /// `Free`.
    method: &'static str,
}

/// Translates a text.
#[utoipa::path(
    post,
    path = "/deeplx/translate",
    params(("token" = Option<String>, Query, description = "The key, if the server requires one")),
    request_body = TranslateRequest,
    responses(
        (status = 200, description = "The translation", body = TranslateReply),
        (status = 400, description = "A parameter is missing or not valid"),
        (status = 401, description = "The API key is missing or not valid"),
        (status = 404, description = "There is no text"),
        (status = 413, description = "The text is too long"),
        (status = 429, description = "Too many requests; see Retry-After"),
        (status = 503, description = "The models are not loaded, or the translation takes too long"),
    )
)]
async fn translate(
    State(shared): State<Arc<Shared>>,
    mut request: Request,
) -> Result<(HeaderMap, Json<TranslateReply>), ApiError> {
    // DeepLX reads every body as JSON.
    let json = HeaderValue::from_static("application/json");
    request.headers_mut().insert(CONTENT_TYPE, json);
    let Admitted(_, caller, parameters) =
        Admitted::<TranslateRequest>::from_request(request, &shared).await?;
    let text = parameters.text.as_ref();
    let text = text.ok_or_else(|| ApiError::request(NO_TEXT))?;
    let target = parameters.target_lang.as_deref();
    let target = target.ok_or_else(|| ApiError::request("target_lang is required"))?;
    let source = parameters.source_lang.as_deref();
    let source = source.filter(|code| !is_auto(code));
    let (format, n_alternatives) = match parameters.tag_handling.as_deref() {
        None => (AskedFormat::Text, N_ALTERNATIVES),
        Some("html") => (AskedFormat::Html, 0),
        Some("xml") => (AskedFormat::Xml(Arc::default()), 0),
        Some(_) => {
            return Err(ApiError::request(
                "Invalid tag_handling value. Allowed values are 'html' and 'xml'.",
            ));
        }
    };
    let asked = Asked {
        texts: std::slice::from_ref(text),
        source,
        target,
        format,
        n_alternatives,
        ..Asked::default()
    };
    let mut answers = answer(&shared, &caller, &asked).await?;
    let answer = answers.pop().ok_or(ApiError::Internal)?;
    let reply = TranslateReply {
        code: StatusCode::OK.as_u16(),
        id: UNIX_EPOCH.elapsed().map_or(0, |it| it.as_millis() as u64),
        data: answer.text,
        alternatives: answer.alternatives,
        source_lang: answer.source.to_ascii_uppercase(),
        target_lang: target.to_owned(),
        method: "Free",
    };
    Ok((doubtful_headers([answer.doubtful]), Json(reply)))
}

fn refusal(error: &ApiError) -> (StatusCode, Json<Value>) {
    let status = match error {
        ApiError::MissingKey | ApiError::WrongKey => StatusCode::UNAUTHORIZED,
        ApiError::Request { text } if text == NO_TEXT => StatusCode::NOT_FOUND,
        error => error.status(),
    };
    let body = json!({ "code": status.as_u16(), "message": error.to_string() });
    (status, Json(body))
}
