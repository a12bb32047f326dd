//! DeepL's interface, for programs that use it; see docs/serving.md.

mod absent;
mod document;
mod glossaries;
mod languages;
mod request;
mod translate;
mod usage;

use std::sync::Arc;

use axum::middleware::map_response;
use axum::routing::{any, get, post, put};
use axum::{Extension, Router};
use utoipa::OpenApi;

use self::glossaries::{v2, v3};
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
    v2::create,
    v2::list,
    v2::describe,
    v2::entries,
    v2::delete,
    v2::language_pairs,
    v3::create,
    v3::list,
    v3::describe,
    v3::change,
    v3::delete,
    v3::entries,
    v3::put_dictionary,
    v3::delete_dictionary,
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
        .route("/v2/glossaries", get(v2::list).post(v2::create))
        .route("/v2/glossaries/{id}", get(v2::describe).delete(v2::delete))
        .route("/v2/glossaries/{id}/entries", get(v2::entries))
        .route("/v2/glossary-language-pairs", get(v2::language_pairs))
        .route("/v3/glossaries", get(v3::list).post(v3::create))
        .route(
            "/v3/glossaries/{id}",
            get(v3::describe).patch(v3::change).delete(v3::delete),
        )
        .route("/v3/glossaries/{id}/entries", get(v3::entries))
        .route(
            "/v3/glossaries/{id}/dictionaries",
            put(v3::put_dictionary).delete(v3::delete_dictionary),
        )
        .route("/v2/write/{*rest}", post(absent::write))
        .route(
            "/v3/style_rules",
            get(absent::style_rules).post(absent::style_rule),
        )
        .route(
            "/v3/translation_memories",
            get(absent::translation_memories),
        )
        .route("/v2/{*rest}", any(absent::unknown))
        .route("/v3/{*rest}", any(absent::unknown))
        .method_not_allowed_fallback(async || ApiError::Method);
    guarded(router, shared, KeyPlace::HeadElseParameters)
        .layer(Extension(Arc::<Usage>::default()))
        .layer(map_response(request::rewrite))
}

/// Returns the description of the interface.
pub(crate) fn openapi() -> utoipa::openapi::OpenApi {
    Paths::openapi()
}
