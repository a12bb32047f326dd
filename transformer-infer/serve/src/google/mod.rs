//! The interface of Google's Cloud Translation, version 2, for programs that use it.

mod detect;
mod error;
mod languages;
mod translate;

use std::sync::Arc;

use axum::Router;
use axum::middleware::map_response;
use axum::routing::{get, post};
use serde::Serialize;
use utoipa::{OpenApi, ToSchema};

use crate::http::{ApiError, KeyPlace, guarded};
use crate::state::Shared;

#[derive(OpenApi)]
#[openapi(paths(translate::translate, languages::languages, detect::detect))]
struct Paths;

/// A reply: all are in a field `data`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = google::Data)]
struct Data<T> {
    data: T,
}

/// Returns the paths of the interface, with its limits and its errors.
///
/// Texts come by `POST` alone: the pages of strangers can send `GET` without naming their origin.
pub(crate) fn router(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    const PATH: &str = "/language/translate/v2";
    let router = Router::new()
        .route(PATH, post(translate::translate))
        .route(
            &format!("{PATH}/languages"),
            get(languages::languages).post(languages::languages),
        )
        .route(&format!("{PATH}/detect"), post(detect::detect))
        .method_not_allowed_fallback(async || ApiError::Method);
    guarded(router, shared, KeyPlace::HeadOrParameters).layer(map_response(error::rewrite))
}

/// Returns the description of the interface.
pub(crate) fn openapi() -> utoipa::openapi::OpenApi {
    Paths::openapi()
}
