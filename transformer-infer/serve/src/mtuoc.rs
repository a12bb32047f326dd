//! The interface of MTUOC, for programs that use it.

use std::sync::Arc;

use axum::routing::post;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{OpenApi, ToSchema};

use crate::http::{ApiError, ErrorBody, KeyPlace, guarded};
use crate::models::Selection;
use crate::parameters::{Admitted, Parameters, text};
use crate::state::Shared;
use crate::translate::{TextFormat, TranslateOptions, check_texts, translate_texts};

#[derive(OpenApi)]
#[openapi(paths(translate))]
pub(crate) struct Paths;

pub(crate) fn router(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    let router = Router::new()
        .route("/mtuoc/translate", post(translate))
        .method_not_allowed_fallback(async || ApiError::Method);
    guarded(router, shared, KeyPlace::HeadElseParameters("key"))
}

/// A segment to translate. Fields may also be in the address.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = mtuoc::TranslateRequest)]
#[serde(rename_all = "camelCase")]
struct TranslateRequest {
    /// A number or a text, which the reply repeats.
    #[serde(default)]
    #[schema(value_type = Object)]
    id: Value,
    /// The text.
    #[serde(default, deserialize_with = "text")]
    #[schema(required, nullable = false)]
    src: Option<String>,
    /// The code of the source language. Default: the only one.
    #[serde(default, deserialize_with = "text")]
    src_lang: Option<String>,
    /// The code of the target language. Default: the only one.
    #[serde(default, deserialize_with = "text")]
    tgt_lang: Option<String>,
    /// The key, if the server requires one.
    #[serde(default, rename = "key", deserialize_with = "text")]
    _key: Option<String>,
}

impl Parameters for TranslateRequest {}

/// The translation of a segment.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = mtuoc::TranslateReply)]
struct TranslateReply {
    /// That of the request.
    #[schema(value_type = Object)]
    id: Value,
    src: String,
    /// The name of the model.
    system_name: String,
    tgt: String,
    /// Always empty.
    alternate_translations: Vec<String>,
}

/// Translates a segment.
#[utoipa::path(
    post,
    path = "/mtuoc/translate",
    params(
        ("srcLang" = Option<String>, Query, description = "As in the body"),
        ("tgtLang" = Option<String>, Query, description = "As in the body"),
        ("key" = Option<String>, Query, description = "As in the body"),
    ),
    request_body = TranslateRequest,
    responses(
        (status = 200, description = "The translation", body = TranslateReply),
        (status = 400, description = "A field is missing or not valid", body = ErrorBody),
        (status = 401, description = "The API key is missing", body = ErrorBody),
        (status = 403, description = "The API key is not valid", body = ErrorBody),
        (status = 413, description = "The text is too long", body = ErrorBody),
        (status = 429, description = "Too many requests; see Retry-After", body = ErrorBody),
        (status = 503, description = "The models are not loaded, or the translation takes too long", body = ErrorBody),
    )
)]
async fn translate(
    Admitted(shared, caller, segment): Admitted<TranslateRequest>,
) -> Result<Json<TranslateReply>, ApiError> {
    let src = segment
        .src
        .ok_or_else(|| ApiError::request("`src` is required"))?;
    check_texts(&shared, &[&src], 1, &caller)?;
    let selection = Selection {
        model: None,
        source: segment.src_lang.as_deref(),
        target: segment.tgt_lang.as_deref(),
    };
    let route = shared.models()?.route(selection).await?;
    let (texts, options) = (vec![src.clone()], TranslateOptions::default());
    let translations =
        translate_texts(&route, texts, TextFormat::Text, &options, &caller, None).await?;
    Ok(Json(TranslateReply {
        id: segment.id,
        src,
        system_name: route.name(),
        tgt: translations.into_iter().map(|it| it.text).collect(),
        alternate_translations: Vec::new(),
    }))
}
