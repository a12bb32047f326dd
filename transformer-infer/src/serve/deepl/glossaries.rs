//! Glossaries: there are none.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use serde_json::{Value, json};

use super::request::admitted;
use crate::serve::http::ApiError;
use crate::serve::state::Shared;

/// Lists the glossaries: none.
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
    admitted(&shared, request).await?;
    Ok(Json(json!({ "glossaries": [] })))
}

/// Lists the languages for which glossaries can be made: none.
pub(super) async fn language_pairs(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Json<Value>, ApiError> {
    admitted(&shared, request).await?;
    Ok(Json(json!({ "supported_languages": [] })))
}
