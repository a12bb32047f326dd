//! Parts of DeepL's interface that this server does not have: lists of them are empty, and the rest is refused.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use serde_json::{Value, json};

use super::request::{KeyOnly, admitted};
use crate::http::ApiError;
use crate::state::Shared;

/// Refuses to rephrase or correct texts, as DeepL does for languages in which it cannot.
pub(super) async fn write(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<(), ApiError> {
    let _: (_, KeyOnly) = admitted(&shared, request).await?;
    Err(ApiError::request(
        "Value for 'target_lang' not supported: this server translates, and does not rephrase",
    ))
}

/// Lists the style rules: there are none.
pub(super) async fn style_rules(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Json<Value>, ApiError> {
    let _: (_, KeyOnly) = admitted(&shared, request).await?;
    Ok(Json(json!({ "style_rules": [] })))
}

/// Refuses a new style rule.
pub(super) async fn style_rule(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<(), ApiError> {
    let _: (_, KeyOnly) = admitted(&shared, request).await?;
    Err(ApiError::request(
        "Value for 'language' not supported: this server has no style rules",
    ))
}

/// Lists the translation memories: there are none.
pub(super) async fn translation_memories(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Json<Value>, ApiError> {
    let _: (_, KeyOnly) = admitted(&shared, request).await?;
    Ok(Json(
        json!({ "translation_memories": [], "total_count": 0 }),
    ))
}

/// Refuses requests to other parts.
pub(super) async fn unknown() -> ApiError {
    ApiError::NotFound
}
