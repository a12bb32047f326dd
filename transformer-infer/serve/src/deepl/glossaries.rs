//! Glossaries, which are not supported: the lists are empty.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use serde_json::{Value, json};

use super::request::{KeyOnly, admitted};
use crate::http::ApiError;
use crate::state::Shared;

/// Lists the glossaries: always empty.
#[utoipa::path(
    get,
    path = "/v2/glossaries",
    tag = "DeepL",
    responses((status = 200, description = "An empty list", body = Value))
)]
pub(super) async fn glossaries(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Json<Value>, ApiError> {
    let _: (_, KeyOnly) = admitted(&shared, request).await?;
    Ok(Json(json!({ "glossaries": [] })))
}

/// Lists the languages with glossaries: always empty.
pub(super) async fn language_pairs(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Json<Value>, ApiError> {
    let _: (_, KeyOnly) = admitted(&shared, request).await?;
    Ok(Json(json!({ "supported_languages": [] })))
}
