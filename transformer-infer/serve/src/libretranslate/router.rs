//! [`router`]: the paths of LibreTranslate's interface.

use std::sync::Arc;

use axum::Router;
use axum::middleware::map_response;
use axum::routing::{get, post};
use utoipa::OpenApi;

use super::{detect, error, files, languages, settings, suggest, translate};
use crate::http::{ApiError, KeyPlace, guarded};
use crate::state::Shared;

#[derive(OpenApi)]
#[openapi(paths(
    translate::translate,
    languages::languages,
    detect::detect,
    files::translate_file,
    files::download_file,
    settings::settings,
    suggest::suggest,
))]
struct Paths;

/// Returns the paths of the interface, with its limits and the texts of its errors.
pub(crate) fn router(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    let router = Router::new()
        .route("/translate", post(translate::translate))
        .route("/languages", get(languages::languages))
        .route("/detect", post(detect::detect))
        .route("/translate_file", post(files::translate_file))
        .route("/download_file/{file}", get(files::download_file))
        .route("/frontend/settings", get(settings::settings))
        .route("/suggest", post(suggest::suggest))
        .method_not_allowed_fallback(async || ApiError::Method);
    guarded(router, shared, KeyPlace::HeadOrParameters).layer(map_response(error::rewrite))
}

/// Returns the description of the interface.
pub(crate) fn openapi() -> utoipa::openapi::OpenApi {
    Paths::openapi()
}
