//! DeepL's interface, for programs that use it; see docs/serving.md.

mod document;
mod glossaries;
mod languages;
mod request;
mod translate;

use std::sync::Arc;

use axum::routing::{any, get, post, put};
use axum::{Extension, Json, Router};
use serde_json::{Value, json};
use utoipa::OpenApi;

use self::glossaries::{v2, v3};
use self::languages::Usage;
use self::request::{KeyOnly, refusal};
use crate::http::{ApiError, KeyPlace, interface};
use crate::parameters::Admitted;
use crate::state::Shared;

#[derive(OpenApi)]
#[openapi(paths(
    translate::translate,
    languages::languages,
    languages::usage,
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
pub(crate) struct Paths;

pub(crate) fn router(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    // Parts of DeepL's interface that this server does not have: lists of them are empty, and the rest is refused.
    let absent = |answer: Result<Value, &'static str>| {
        move |_: Admitted<KeyOnly>| async move { answer.map(Json).map_err(ApiError::request) }
    };
    let no_style_rule = "Value for 'language' not supported: this server has no style rules";
    let no_writing =
        "Value for 'target_lang' not supported: this server translates, and does not rephrase";
    let no_memories = json!({ "translation_memories": [], "total_count": 0 });
    let router = Router::new()
        .route("/v2/translate", post(translate::translate))
        .route(
            "/v2/languages",
            get(languages::languages).post(languages::languages),
        )
        .route("/v2/usage", get(languages::usage).post(languages::usage))
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
        .route("/v2/write/{*rest}", post(absent(Err(no_writing))))
        .route(
            "/v3/style_rules",
            get(absent(Ok(json!({ "style_rules": [] })))).post(absent(Err(no_style_rule))),
        )
        .route("/v3/translation_memories", get(absent(Ok(no_memories))))
        .route("/v2/{*rest}", any(async || ApiError::NotFound))
        .route("/v3/{*rest}", any(async || ApiError::NotFound));
    let keys = KeyPlace::HeadElseParameters("auth_key");
    interface(router, shared, keys, refusal).layer(Extension(Arc::<Usage>::default()))
}
