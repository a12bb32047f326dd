//! Requests that nobody wrote: no reply is an internal error.

use std::convert::Infallible;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tower::ServiceExt;

use super::running::{Models, Running, start};

/// A server that is called without connections.
struct Called {
    _models: Models,
    server: Running,
    runtime: Runtime,
}

impl Called {
    fn new() -> Self {
        let (models, server) = start();
        Self {
            _models: models,
            server,
            runtime: Runtime::new().expect("a runtime starts"),
        }
    }

    /// Returns the status of a request.
    fn post(&self, path: &str, body: impl Into<Body>) -> u16 {
        let request = Request::post(path).header("content-type", "application/json");
        let request = request.body(body.into()).expect("the path is valid");
        let router = self.server.router();
        let answered: Result<Response, Infallible> = self.runtime.block_on(async {
            let response = router.oneshot(request).await?;
            let (parts, body) = response.into_parts();
            // A stream has to be read to its end.
            let read = axum::body::to_bytes(body, usize::MAX).await;
            read.expect("the reply is complete");
            Ok(Response::from_parts(parts, Body::empty()))
        });
        answered.expect("errors are replies").status().as_u16()
    }
}

/// JSON values, of which some are what the interface takes.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..40_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-zA-Z .{}%<>/&;:é🙂\\n\\t\u{0}]{0,30}".prop_map(Value::from),
        prop::sample::select(vec!["en", "de", "auto", "copy", "text", "html"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{0,4}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Requests with some fields of the interface, and any values.
fn request() -> impl Strategy<Value = Value> {
    let fields = vec![
        "source",
        "target",
        "model",
        "format",
        "split",
        "n_best",
        "beam_size",
        "alignments",
        "attention",
        "scores",
        "terms",
        "stream",
        "other",
    ];
    let field = prop::sample::select(fields);
    let text = prop_oneof![
        9 => "[a-zA-Z .!?{}%<>/&;:é🙂\\n\\t\u{0}]{0,60}".prop_map(Value::from),
        1 => value(),
    ];
    (text, prop::collection::btree_map(field, value(), 0..3)).prop_map(|(text, fields)| {
        let mut request = json!({ "text": text });
        for (field, value) in fields {
            request[field] = value;
        }
        request
    })
}

/// Draws 64 cases, or as many as `PROPTEST_CASES` says.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => default.cases,
        None => 64,
    };
    ProptestConfig { cases, ..default }
}

#[test]
fn no_request_is_an_internal_error() {
    let called = Called::new();
    proptest!(config(), |(request in request())| {
        let status = called.post("/v1/translate", request.to_string());
        prop_assert!(status < 500, "{status}: {request}");
    });
}

#[test]
fn no_html_is_an_internal_error() {
    let called = Called::new();
    let pieces = "(</?(p|b|br|i|pre|script|!--)[ >]|[a-z&;<>\"' \u{0}é]){0,40}";
    proptest!(config(), |(text in pieces)| {
        let request = json!({ "text": text, "format": "html" });
        let status = called.post("/v1/translate", request.to_string());
        prop_assert!(status < 500, "{status}");
    });
}

#[test]
fn no_bytes_are_an_internal_error() {
    let called = Called::new();
    let paths = "/(v1/(translate|attention|models)|v2/(translate|languages|usage|glossaries|document)\
                 |translate|translate_file|detect|suggest|languages|[a-z0-9/]{0,9})";
    proptest!(config(), |(body: Vec<u8>, path in paths)| {
        let status = called.post(&path, body);
        prop_assert!(status < 500, "{status}");
    });
}

/// Requests of the two other interfaces: a path, and fields with values of any kind.
fn foreign_request() -> impl Strategy<Value = (&'static str, Value)> {
    let paths = vec!["/translate", "/detect", "/suggest", "/v2/translate"];
    let fields = vec![
        "source",
        "target",
        "format",
        "alternatives",
        "api_key",
        "source_lang",
        "target_lang",
        "tag_handling",
        "split_sentences",
        "glossary_id",
        "ignore_tags",
        "context",
    ];
    let text = "[a-zA-Z .!?{}%<>/&;:é🙂\\n\\t\u{0}]{0,60}";
    let text = prop_oneof![
        4 => text.prop_map(Value::from),
        4 => prop::collection::vec(text.prop_map(Value::from), 0..3).prop_map(Value::from),
        1 => value(),
    ];
    let fields = prop::collection::btree_map(prop::sample::select(fields), value(), 0..4);
    (prop::sample::select(paths), text, fields).prop_map(|(path, text, fields)| {
        let mut request = match path {
            "/v2/translate" => json!({ "text": text, "target_lang": "DE" }),
            _ => json!({ "q": text, "source": "en", "target": "de" }),
        };
        for (field, value) in fields {
            request[field] = value;
        }
        (path, request)
    })
}

#[test]
fn no_request_of_another_interface_is_an_internal_error() {
    let called = Called::new();
    proptest!(config(), |((path, request) in foreign_request())| {
        let status = called.post(path, request.to_string());
        prop_assert!(status < 500, "{status}: {path} {request}");
    });
}
