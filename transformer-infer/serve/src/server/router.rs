//! [`router`]: all paths of the server.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::{OpenApi as Description, Response as Described};
use utoipa::{OpenApi, ToSchema};

use crate::config::ServeError;
use crate::http::{ApiError, Client, check_origin, cors, observe};
use crate::page;
use crate::state::Shared;
use crate::{deepl, deeplx, google, libretranslate, microsoft, mtuoc, openai, v1};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(OpenApi)]
#[openapi(
    paths(health, live),
    info(
        title = "transformer-infer serve",
        description = "Translation over HTTP"
    )
)]
struct Paths;

/// The name of an interface in the description, its description, and its routes.
type Interface = (
    &'static str,
    fn() -> Description,
    fn(&Arc<Shared>) -> Router<Arc<Shared>>,
);

const INTERFACES: [Interface; 8] = [
    ("Translation", v1::Paths::openapi, v1::router),
    (
        "LibreTranslate",
        libretranslate::Paths::openapi,
        libretranslate::router,
    ),
    ("DeepL", deepl::Paths::openapi, deepl::router),
    ("OpenAI", openai::Paths::openapi, openai::router),
    ("Google", google::Paths::openapi, google::router),
    ("Microsoft", microsoft::Paths::openapi, microsoft::router),
    ("DeepLX", deeplx::Paths::openapi, deeplx::router),
    ("MTUOC", mtuoc::Paths::openapi, mtuoc::router),
];

/// Readiness of the server.
#[derive(Debug, Serialize, ToSchema)]
struct HealthReply {
    /// `ok`, `loading`, `stopping` or `live`.
    status: &'static str,
}

pub(super) fn router(shared: &Arc<Shared>) -> Result<Router, ServeError> {
    let router = Router::new()
        .route("/health", get(health))
        .route("/health/live", get(live))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(openapi))
        .route("/spec", get(spec))
        .merge(page::router());
    let interfaces = INTERFACES.iter().map(|(_, _, routes)| routes(shared));
    Ok(interfaces
        .fold(router, Router::merge)
        .fallback(async || ApiError::NotFound)
        .method_not_allowed_fallback(async || ApiError::Method)
        .layer(from_fn_with_state(shared.clone(), check_origin))
        .layer(cors(&shared.options)?)
        .layer(from_fn_with_state(shared.clone(), observe))
        .with_state(shared.clone()))
}

/// Reports whether the server is ready to translate.
#[utoipa::path(
    get,
    path = "/health",
    tag = "Operation",
    responses(
        (status = 200, description = "The server is ready", body = HealthReply),
        (status = 503, description = "The models are still loading, or the server is shutting down", body = HealthReply),
    )
)]
async fn health(State(shared): State<Arc<Shared>>) -> Response {
    let reply = |status| Json(HealthReply { status });
    if shared.is_stopping() {
        return ApiError::Stopping.with_body(reply("stopping"));
    }
    match shared.models() {
        Ok(_) => reply("ok").into_response(),
        Err(error) => error.with_body(reply("loading")),
    }
}

/// Reports that the server runs, even while it cannot translate: it need not be started again.
#[utoipa::path(
    get,
    path = "/health/live",
    tag = "Operation",
    responses((status = 200, description = "The server runs", body = HealthReply))
)]
async fn live() -> Json<HealthReply> {
    Json(HealthReply { status: "live" })
}

/// Returns the metrics. If calls need a key, this does, too.
async fn metrics(State(shared): State<Arc<Shared>>, client: Client) -> Result<Response, ApiError> {
    shared.check_key(client.key.as_deref())?;
    let models = shared.models().ok();
    let stats = models.map(|models| models.pool.stats()).unwrap_or_default();
    let text = shared.metrics.encode(shared.in_flight.used(), &stats);
    Ok(([(CONTENT_TYPE, OPEN_METRICS)], text).into_response())
}

async fn openapi() -> Json<Description> {
    Json(description())
}

/// Returns the description at LibreTranslate's address, with the title by which Dialect recognizes it.
async fn spec() -> Json<Description> {
    let mut description = description();
    description.info.title = "LibreTranslate".to_owned();
    Json(description)
}

fn description() -> Description {
    let mut description = Paths::openapi();
    for (name, describe, _) in INTERFACES {
        let mut interface = describe();
        let paths = interface.paths.paths.values_mut();
        for operation in paths.flat_map(operations) {
            operation.tags = Some(vec![name.to_owned()]);
            for (status, text) in REFUSALS {
                let replies = &mut operation.responses.responses;
                let reply = replies.entry(status.to_owned());
                reply.or_insert_with(|| Described::new(text).into());
            }
        }
        description.merge(interface);
    }
    description
}

fn operations(path: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let operations = [
        &mut path.get,
        &mut path.post,
        &mut path.put,
        &mut path.patch,
        &mut path.delete,
    ];
    operations.into_iter().flatten()
}

/// The refusals that every operation of an interface may answer.
const REFUSALS: [(&str, &str); 8] = [
    (
        "403",
        "The API key is not valid, or a page of another origin calls",
    ),
    ("408", "The body arrives too slowly"),
    ("413", "The body, or its texts, are too large"),
    ("415", "The body is compressed, or of another type"),
    ("421", "The name in `Host` is unknown"),
    ("429", "Too many requests; see Retry-After"),
    ("500", "A fault of the server"),
    (
        "503",
        "The models are still loading, a model cannot be loaded, the server is stopping, or the translation takes too \
         long; see Retry-After",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_the_name_of_a_group() {
        let description = serde_json::to_value(description()).expect("it is JSON");
        let paths = description["paths"].as_object().expect("there are paths");
        let operations = paths.values().filter_map(|path| path.as_object());
        let mut n_operations = 0;
        for operation in operations.flat_map(|path| path.values()) {
            let tags = operation["tags"].as_array().map(Vec::as_slice);
            let [tag] = tags.unwrap_or_default() else {
                panic!("{operation} has not one group");
            };
            let tag = tag.as_str().unwrap_or_default();
            assert!(
                tag.starts_with(char::is_uppercase) && !tag.contains(':'),
                "{tag}"
            );
            n_operations += 1;
        }
        assert!(n_operations > 20, "{n_operations}");
    }
}
