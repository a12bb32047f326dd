//! OpenAI's interface, for programs that know no other: the last message of the user is translated.

mod chat;
mod error;
mod model;

use std::sync::Arc;

use axum::Router;
use axum::middleware::map_response;
use axum::routing::post;
use utoipa::OpenApi;

use crate::http::{ApiError, KeyPlace, guarded};
use crate::state::Shared;

#[derive(OpenApi)]
#[openapi(paths(chat::complete))]
struct Paths;

/// Returns the paths of the interface, with its limits and its errors.
pub(crate) fn router(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    let router = Router::new()
        .route("/v1/chat/completions", post(chat::complete))
        .method_not_allowed_fallback(async || ApiError::Method);
    guarded(router, shared, KeyPlace::Head).layer(map_response(error::rewrite))
}

/// Returns the description of the interface.
pub(crate) fn openapi() -> utoipa::openapi::OpenApi {
    Paths::openapi()
}
