//! API keys, limits of requests, and pages of other origins.

use std::fs;
use std::num::NonZeroU32;

use serde_json::json;
use transformer_infer::serve::{Limits, ServeError, ServeOptions, ServerSignal};

use super::client::{call, post};
use super::running::{Models, Running, options};

const KEY: &str = "0123456789abcdef-first";
const OTHER: &str = "0123456789abcdef-other";

/// Starts a server whose keys are in the file `keys`.
fn with_keys(models: &Models, keys: &str) -> Running {
    let file = models.path("keys");
    fs::write(&file, keys).expect("the temporary directory is writable");
    let path = models.write("copy", Some(("en", "de")));
    Running::ready(ServeOptions {
        api_keys: Some(file),
        ..options(&[path])
    })
}

/// Returns the status of a translation with some headers.
fn status(server: &Running, headers: &[(&str, &str)]) -> u16 {
    post(
        server.address,
        "/v1/translate",
        headers,
        &json!({ "text": "a" }),
    )
    .status
}

fn bearer(key: &str) -> String {
    format!("Bearer {key}")
}

#[test]
fn a_key_is_required_and_a_wrong_one_refused() {
    let models = Models::new();
    let server = with_keys(&models, KEY);
    let (right, wrong) = (bearer(KEY), bearer(OTHER));
    assert_eq!(status(&server, &[("authorization", &right)]), 200);
    assert_eq!(status(&server, &[("x-api-key", KEY)]), 200);
    assert_eq!(status(&server, &[("authorization", &wrong)]), 403);
    assert_eq!(status(&server, &[]), 401);
    assert_eq!(status(&server, &[("authorization", "Bearer ")]), 401);
    for path in ["/v1/models", "/metrics"] {
        assert_eq!(server.get(path).status, 401, "{path}");
    }
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn a_key_has_limits_of_its_own() {
    let models = Models::new();
    let keys = format!("{KEY} chars=3\n{OTHER} requests-per-minute=1\n");
    let server = with_keys(&models, &keys);
    let send = |key: &str, text: &str| {
        let headers = [("x-api-key", key)];
        let body = json!({ "text": text });
        post(server.address, "/v1/translate", &headers, &body)
    };
    assert_eq!(send(KEY, "abc").status, 200);
    assert_eq!(send(KEY, "abcd").status, 413);
    assert_eq!(send(OTHER, "abcd").status, 200);
    let refused = send(OTHER, "abcd");
    assert_eq!(refused.status, 429);
    let seconds = refused.header("retry-after").map(str::parse);
    assert!(matches!(seconds, Some(Ok(1..=60))), "{refused:?}");
    assert_eq!(send(KEY, "abc").status, 200);
}

#[test]
fn keys_are_read_again_and_a_broken_file_changes_nothing() {
    let models = Models::new();
    let server = with_keys(&models, KEY);
    let reload = |keys: &str, result: &str| {
        fs::write(models.path("keys"), keys).expect("the temporary directory is writable");
        server.signal(ServerSignal::Reload);
        server.wait("the keys are read", |server| {
            let headers = [("x-api-key", KEY)];
            let other = [("x-api-key", OTHER)];
            let texts = [headers, other]
                .map(|headers| call(server.address, "GET", "/metrics", &headers, "").body);
            let line = format!("reloads_total{{result=\"{result}\"}} 1");
            texts.iter().any(|text| text.contains(&line))
        });
    };
    reload("short", "failed");
    assert_eq!(status(&server, &[("x-api-key", KEY)]), 200);
    reload(OTHER, "ok");
    assert_eq!(status(&server, &[("x-api-key", KEY)]), 403);
    assert_eq!(status(&server, &[("x-api-key", OTHER)]), 200);
}

#[test]
fn a_broken_file_of_keys_stops_the_start_without_showing_the_key() {
    let models = Models::new();
    let file = models.path("keys");
    fs::write(&file, "# ours\nsecret\n").expect("the temporary directory is writable");
    let options = ServeOptions {
        api_keys: Some(file),
        ..options(&[models.path("none")])
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let device = crate::model::test_device();
    let bound = runtime.block_on(transformer_infer::serve::Server::bind(options, device));
    let error = bound.expect_err("the key is too short");
    assert!(matches!(error, ServeError::Keys { line: 2, .. }), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[test]
fn without_keys_an_address_has_its_limit() {
    let models = Models::new();
    let path = models.write("copy", None);
    let server = Running::ready(ServeOptions {
        limits: Limits {
            requests_per_minute: NonZeroU32::new(2),
            ..Limits::default()
        },
        trusted_proxies: vec!["127.0.0.1".parse().expect("it is an address")],
        ..options(&[path])
    });
    let from = |address: &str| status(&server, &[("x-forwarded-for", address)]);
    assert_eq!(
        [from("1.1.1.1"), from("1.1.1.1"), from("1.1.1.1")],
        [200, 200, 429]
    );
    assert_eq!(from("1.1.1.2"), 200);
}

#[test]
fn forwarded_addresses_of_strangers_count_for_the_connection() {
    let models = Models::new();
    let path = models.write("copy", None);
    let server = Running::ready(ServeOptions {
        limits: Limits {
            requests_per_minute: NonZeroU32::new(1),
            ..Limits::default()
        },
        ..options(&[path])
    });
    let from = |address: &str| status(&server, &[("x-forwarded-for", address)]);
    assert_eq!([from("1.1.1.1"), from("1.1.1.2")], [200, 429]);
}

#[test]
fn pages_of_other_origins_are_refused_unless_the_options_allow_them() {
    let models = Models::new();
    let path = models.write("copy", None);
    let server = Running::ready(ServeOptions {
        cors_origins: vec!["https://good.example".to_owned()],
        ..options(&[path])
    });
    let origin = |origin| status(&server, &[("origin", origin)]);
    assert_eq!(origin("https://good.example"), 200);
    assert_eq!(origin("https://evil.example"), 403);
    assert_eq!(status(&server, &[("host", "evil.example")]), 421);
    let allowed = call(
        server.address,
        "GET",
        "/health",
        &[("origin", "https://good.example")],
        "",
    );
    let header = allowed.header("access-control-allow-origin");
    assert_eq!(header, Some("https://good.example"));
}
