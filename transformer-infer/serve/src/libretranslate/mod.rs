//! LibreTranslate's interface, for programs that use it; see docs/serving.md.

mod files;
mod languages;
mod request;
mod translate;

pub(crate) use languages::english_name;
pub(crate) use request::{admitted, missing};

use std::sync::Arc;

use axum::Router;
use axum::middleware::map_response;
use axum::routing::{get, post};
use utoipa::OpenApi;

use crate::http::{ApiError, KeyPlace, guarded};
use crate::state::Shared;

#[derive(OpenApi)]
#[openapi(paths(
    translate::translate,
    languages::languages,
    translate::detect,
    files::translate_file,
    files::download_file,
    languages::settings,
    translate::suggest,
))]
struct Paths;

/// Returns the paths of the interface, with its limits and the texts of its errors.
pub(crate) fn router(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    let router = Router::new()
        .route("/translate", post(translate::translate))
        .route("/languages", get(languages::languages))
        .route("/detect", post(translate::detect))
        .route("/translate_file", post(files::translate_file))
        .route("/download_file/{file}", get(files::download_file))
        .route("/frontend/settings", get(languages::settings))
        .route("/suggest", post(translate::suggest))
        .method_not_allowed_fallback(async || ApiError::Method);
    guarded(router, shared, KeyPlace::HeadOrParameters).layer(map_response(request::rewrite))
}

/// Returns the description of the interface.
pub(crate) fn openapi() -> utoipa::openapi::OpenApi {
    Paths::openapi()
}
