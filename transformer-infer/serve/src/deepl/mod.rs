//! DeepL's interface, for programs that use it; see docs/serving.md.

mod document;
mod languages;
mod request;
mod translate;
mod usage;

use std::sync::Arc;

use axum::middleware::map_response;
use axum::routing::{get, post};
use axum::{Extension, Router};
use utoipa::OpenApi;

use self::usage::Usage;
use crate::http::{ApiError, KeyPlace, guarded};
use crate::state::Shared;

#[derive(OpenApi)]
#[openapi(paths(
    translate::translate,
    languages::languages,
    usage::usage,
    document::upload,
    document::status,
    document::result,
    languages::glossaries,
))]
struct Paths;

/// Returns the paths of the interface, with its limits and the form of its errors.
pub(crate) fn router(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    let router = Router::new()
        .route("/v2/translate", post(translate::translate))
        .route(
            "/v2/languages",
            get(languages::languages).post(languages::languages),
        )
        .route("/v2/usage", get(usage::usage).post(usage::usage))
        .route("/v2/document", post(document::upload))
        .route(
            "/v2/document/{id}",
            get(document::status).post(document::status),
        )
        .route(
            "/v2/document/{id}/result",
            get(document::result).post(document::result),
        )
        .route("/v2/glossaries", get(languages::glossaries))
        .route(
            "/v2/glossary-language-pairs",
            get(languages::language_pairs),
        )
        .route("/v2/{*rest}", get(request::unknown).post(request::unknown))
        .route("/v3/{*rest}", get(request::unknown).post(request::unknown))
        .method_not_allowed_fallback(async || ApiError::Method);
    guarded(router, shared, KeyPlace::HeadElseParameters)
        .layer(Extension(Arc::<Usage>::default()))
        .layer(map_response(request::rewrite))
}

/// Returns the description of the interface.
pub(crate) fn openapi() -> utoipa::openapi::OpenApi {
    Paths::openapi()
}
