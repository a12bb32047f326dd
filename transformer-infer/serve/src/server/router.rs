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
        for (path, item) in &mut interface.paths.paths {
            // Interfaces, and the versions of DeepL's, have functions of the same names.
            let version = match path.split('/').nth(1) {
                Some(version @ ("v2" | "v3")) => format!("{version}_"),
                _ => String::new(),
            };
            for operation in operations(item) {
                operation.tags = Some(vec![name.to_owned()]);
                let function = operation.operation_id.take().unwrap_or_default();
                let id = format!("{name}_{version}{function}").to_ascii_lowercase();
                operation.operation_id = Some(id);
                for (status, text) in REFUSALS {
                    let replies = &mut operation.responses.responses;
                    let reply = replies.entry(status.to_owned());
                    reply.or_insert_with(|| Described::new(text).into());
                }
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
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    fn described() -> Value {
        serde_json::to_value(description()).expect("it is JSON")
    }

    /// Returns all operations, each with its path.
    fn all_operations(description: &Value) -> Vec<(&str, &Value)> {
        let paths = description["paths"].as_object().expect("there are paths");
        let operations = paths.iter().flat_map(|(path, item)| {
            let item = item.as_object().into_iter().flatten();
            item.map(move |(_, operation)| (path.as_str(), operation))
        });
        let operations: Vec<(&str, &Value)> = operations.collect();
        assert!(operations.len() > 20, "{operations:?}");
        operations
    }

    #[test]
    fn every_operation_has_the_name_of_a_group() {
        for (_, operation) in all_operations(&described()) {
            let tags = operation["tags"].as_array().map(Vec::as_slice);
            let [tag] = tags.unwrap_or_default() else {
                panic!("{operation} has not one group");
            };
            let tag = tag.as_str().unwrap_or_default();
            assert!(
                tag.starts_with(char::is_uppercase) && !tag.contains(':'),
                "{tag}"
            );
        }
    }

    #[test]
    fn the_id_of_an_operation_is_its_own() {
        let mut ids = BTreeSet::new();
        for (path, operation) in all_operations(&described()) {
            let id = operation["operationId"].as_str().unwrap_or_default();
            assert!(!id.is_empty() && ids.insert(id.to_owned()), "{path}: {id}");
        }
    }

    #[test]
    fn the_parameters_of_a_path_are_those_in_its_braces() {
        for (path, operation) in all_operations(&described()) {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let of_path = parameters.filter(|it| it["in"] == "path");
            let declared: BTreeSet<&str> = of_path.filter_map(|it| it["name"].as_str()).collect();
            let parts = path.split('/').filter_map(|it| it.strip_prefix('{'));
            let in_braces: BTreeSet<&str> = parts.filter_map(|it| it.strip_suffix('}')).collect();
            assert_eq!(declared, in_braces, "{path}");
        }
    }

    #[test]
    fn every_reference_of_the_description_resolves() {
        let description = described();
        let mut values = vec![&description];
        while let Some(value) = values.pop() {
            if let Some(reference) = value["$ref"].as_str() {
                let pointer = reference.strip_prefix('#').unwrap_or_default();
                assert!(description.pointer(pointer).is_some(), "{reference}");
            }
            match value {
                Value::Object(fields) => values.extend(fields.values()),
                Value::Array(items) => values.extend(items),
                _ => {}
            }
        }
    }
}
