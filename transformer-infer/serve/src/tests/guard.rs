//! The refusals of [`guarded`], and their isolation from other requests.

use std::convert::Infallible;
use std::fs;
use std::future::pending;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, EXPECT, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::post;
use futures_util::{StreamExt, stream};
use http_body_util::BodyExt;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tower::ServiceExt;

use crate::config::{Limits, ServeOptions};
use crate::http::{ApiError, Client, KeyPlace, Peer, guarded};
use crate::state::Shared;

/// Returns a server of a few paths with these limits, and its state.
fn server(limits: Limits) -> (Router, Arc<Shared>) {
    let options = ServeOptions {
        limits,
        ..ServeOptions::default()
    };
    server_with(options, KeyPlace::Head)
}

fn server_with(options: ServeOptions, keys: KeyPlace) -> (Router, Arc<Shared>) {
    let shared = Arc::new(Shared::new(Arc::new(options)).expect("the options are right"));
    let router = Router::new()
        .route("/echo", post(async |body: Bytes| body))
        .route("/admit", post(admit))
        .route("/panic", post(panics))
        .route("/never", post(pending::<()>));
    (
        guarded(router, &shared, keys).with_state(shared.clone()),
        shared,
    )
}

/// Admits the caller with the key, as if it were in the body, and returns the number of its requests and bytes.
async fn admit(State(shared): State<Arc<Shared>>, client: Client) -> Result<String, ApiError> {
    let caller = shared.admit(&client, Some(KEY))?;
    let used = [&shared.in_flight, &shared.buffered].map(|budget| budget.used_by(caller.id));
    Ok(format!("{used:?}"))
}

async fn panics() -> &'static str {
    let number: Result<u8, _> = "x".parse();
    number.map_or_else(|_| panic!("on purpose"), |_| "")
}

fn request(path: &str, body: Body) -> Request {
    let request = Request::post(path).body(body);
    request.expect("the path is valid")
}

/// Returns a request from the address 127.0.0.N.
fn request_from(n: u8, path: &str, body: Body) -> Request {
    let mut request = request(path, body);
    let address = IpAddr::from(Ipv4Addr::new(127, 0, 0, n));
    request.extensions_mut().insert(Peer((address, 1).into()));
    request
}

/// Returns a body that begins with a text and never ends.
fn endless(text: &'static str) -> Body {
    let start = stream::iter([Ok::<_, Infallible>(text)]);
    Body::from_stream(start.chain(stream::pending()))
}

/// Returns limits with much time for bodies, so that they hang however slow the machine is.
fn patient() -> Limits {
    Limits {
        body_time: Duration::from_secs(3600),
        ..Limits::default()
    }
}

/// Sends requests, and waits until they hang.
async fn hang(
    router: &Router,
    shared: &Shared,
    requests: impl IntoIterator<Item = Request>,
    is_so: impl Fn(&Shared) -> bool,
) {
    for request in requests {
        let router = router.clone();
        tokio::spawn(async move { answer(&router, request).await });
    }
    let wait = async {
        while !is_so(shared) {
            tokio::task::yield_now().await;
        }
    };
    let waited = timeout(Duration::from_secs(60), wait).await;
    waited.expect("the requests hang within a minute");
}

/// Runs a future on its own runtime.
fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime starts").block_on(future)
}

async fn answer(router: &Router, request: Request) -> Response {
    let answered: Result<Response, Infallible> = router.clone().oneshot(request).await;
    answered.expect("errors are replies")
}

async fn text(response: Response) -> String {
    let body = response.into_body().collect().await;
    let bytes = body.expect("the body is complete").to_bytes();
    String::from_utf8(bytes.into()).expect("the reply is text")
}

#[test]
fn a_body_within_the_limit_arrives() {
    run(async {
        let (router, _) = server(Limits {
            max_body_bytes: 5,
            ..Limits::default()
        });
        let response = answer(&router, request("/echo", "12345".into())).await;
        assert_eq!(text(response).await, "12345");
    });
}

#[test]
fn a_larger_body_is_refused_whether_it_names_its_length_or_not() {
    run(async {
        let (router, _) = server(Limits {
            max_body_bytes: 5,
            ..Limits::default()
        });
        let chunks = stream::iter(["123", "456"].map(Ok::<_, Infallible>));
        for body in [Body::from("123456"), Body::from_stream(chunks)] {
            let response = answer(&router, request("/echo", body)).await;
            assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
            let expected = r#"{"error":"the body has more than 5 bytes; send it in parts"}"#;
            assert_eq!(text(response).await, expected);
        }
    });
}

#[test]
fn bodies_beyond_the_memory_for_all_are_refused_until_it_is_free() {
    run(async {
        let (router, shared) = server(Limits {
            max_buffered_bytes: 5,
            ..Limits::default()
        });
        let held = answer(&router, request("/echo", "1234".into())).await;
        assert_eq!(shared.buffered.used(), 4);
        let refused = answer(&router, request("/echo", "12".into())).await;
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        drop(held);
        let response = answer(&router, request("/echo", "12".into())).await;
        assert_eq!(response.status(), StatusCode::OK);
    });
}

#[test]
fn a_body_that_never_ends_is_refused_in_time() {
    run(async {
        let (router, _) = server(Limits {
            body_time: Duration::from_millis(20),
            ..Limits::default()
        });
        let body = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        let response = answer(&router, request("/echo", body)).await;
        assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
    });
}

#[test]
fn requests_beyond_the_limit_in_flight_are_refused_until_a_reply_was_sent() {
    run(async {
        let (router, shared) = server(Limits {
            max_in_flight: 1,
            ..Limits::default()
        });
        let (sender, receiver) = oneshot::channel::<Result<Bytes, Infallible>>();
        let slow = Body::from_stream(stream::once(async {
            receiver.await.expect("the sender is there")
        }));
        let first = tokio::spawn({
            let router = router.clone();
            async move { answer(&router, request("/echo", slow)).await }
        });
        while shared.in_flight.used() == 0 {
            tokio::task::yield_now().await;
        }
        let refused = answer(&router, request("/echo", "a".into())).await;
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        assert!(refused.headers().contains_key(RETRY_AFTER));
        sender
            .send(Ok(Bytes::from("b")))
            .expect("the first request waits");
        let first = first.await.expect("the first request is answered");
        assert_eq!(shared.in_flight.used(), 1);
        assert_eq!(text(first).await, "b");
        let next = answer(&router, request("/echo", "c".into())).await;
        assert_eq!(next.status(), StatusCode::OK);
    });
}

#[test]
fn a_request_that_is_dropped_counts_no_more() {
    run(async {
        let (router, shared) = server(Limits::default());
        let never = tokio::spawn({
            let router = router.clone();
            async move { answer(&router, request("/never", Body::empty())).await }
        });
        while shared.in_flight.used() == 0 {
            tokio::task::yield_now().await;
        }
        never.abort();
        let _ = never.await;
        assert_eq!(shared.in_flight.used(), 0);
    });
}

#[test]
fn a_handler_that_takes_too_long_is_ended() {
    run(async {
        let (router, shared) = server(Limits {
            request_time: Duration::from_millis(20),
            ..Limits::default()
        });
        let response = answer(&router, request("/never", Body::empty())).await;
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        drop(response);
        assert_eq!(shared.in_flight.used(), 0);
    });
}

#[test]
fn a_panic_ends_its_own_request_only() {
    run(async {
        let (router, shared) = server(Limits::default());
        let response = answer(&router, request("/panic", Body::empty())).await;
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let reply = text(response).await;
        assert!(
            reply.contains("internal error") && !reply.contains("purpose"),
            "{reply}"
        );
        assert_eq!(shared.in_flight.used(), 0);
        let next = answer(&router, request("/echo", "a".into())).await;
        assert_eq!(next.status(), StatusCode::OK);
    });
}

#[test]
fn requests_that_hang_take_no_slot_from_another_address() {
    run(async {
        let (router, shared) = server(Limits {
            max_in_flight: 8,
            ..patient()
        });
        let hanging = (0..8).map(|_| request_from(1, "/echo", endless("a")));
        hang(&router, &shared, hanging, |it| it.in_flight.used() == 4).await;
        let refused = answer(&router, request_from(1, "/echo", "a".into())).await;
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        let served = answer(&router, request_from(2, "/echo", "a".into())).await;
        assert_eq!(served.status(), StatusCode::OK);
        assert_eq!(shared.in_flight.used(), 5);
    });
}

#[test]
fn bodies_that_hang_take_no_memory_from_another_address() {
    run(async {
        let (router, shared) = server(Limits {
            max_buffered_bytes: 80,
            max_body_bytes: 10,
            ..patient()
        });
        let hanging = (0..8).map(|_| request_from(1, "/echo", endless("123456789")));
        hang(&router, &shared, hanging, |it| it.buffered.used() == 36).await;
        let refused = answer(&router, request_from(1, "/echo", "123456789".into())).await;
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        let served = answer(&router, request_from(2, "/echo", "123456789".into())).await;
        assert_eq!(served.status(), StatusCode::OK);
    });
}

/// Returns options with a file of keys, which has one, and the file.
fn with_key(limits: Limits) -> (tempfile::NamedTempFile, ServeOptions) {
    let file = tempfile::NamedTempFile::new().expect("the system has temporary files");
    fs::write(file.path(), KEY).expect("the file is writable");
    let options = ServeOptions {
        limits,
        api_keys: Some(file.path().to_owned()),
        ..ServeOptions::default()
    };
    (file, options)
}

const KEY: &str = "0123456789abcdef";

#[test]
fn a_caller_with_a_key_is_served_while_strangers_of_many_addresses_hang() {
    run(async {
        let (_file, options) = with_key(Limits {
            max_in_flight: 8,
            ..patient()
        });
        let (router, shared) = server_with(options, KeyPlace::HeadOrParameters("api_key"));
        let hanging = (0..20).map(|n| request_from(n, "/echo", endless("a")));
        hang(&router, &shared, hanging, |it| it.in_flight.used() == 4).await;
        let refused = answer(&router, request_from(30, "/echo", "a".into())).await;
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        let mut request = request_from(1, "/echo", "a".into());
        let key = KEY.parse().expect("it is a header");
        request.headers_mut().insert("x-api-key", key);
        assert_eq!(answer(&router, request).await.status(), StatusCode::OK);
        let path = format!("/echo?api_key={KEY}");
        let served = answer(&router, request_from(1, &path, "a".into())).await;
        assert_eq!(served.status(), StatusCode::OK);
    });
}

#[test]
fn one_hanging_address_leaves_slots_to_callers_with_the_key_in_the_body() {
    run(async {
        let (_file, options) = with_key(Limits {
            max_in_flight: 8,
            ..patient()
        });
        let (router, shared) = server_with(options, KeyPlace::HeadOrParameters("api_key"));
        let hanging = (0..8).map(|_| request_from(1, "/echo", endless("a")));
        hang(&router, &shared, hanging, |it| it.in_flight.used() == 2).await;
        let served = answer(&router, request_from(2, "/admit", "body".into())).await;
        assert_eq!(served.status(), StatusCode::OK);
        assert_eq!(text(served).await, "[1, 4]", "they are the key's");
        assert_eq!(shared.in_flight.used(), 2);
    });
}

#[test]
fn without_the_right_key_in_the_head_a_request_takes_no_slot() {
    for (place, key, status) in [
        (KeyPlace::Head, None, StatusCode::UNAUTHORIZED),
        (
            KeyPlace::HeadElseParameters("api_key"),
            Some("wrong"),
            StatusCode::FORBIDDEN,
        ),
    ] {
        run(async {
            let (_file, options) = with_key(Limits::default());
            let (router, shared) = server_with(options, place);
            let (sender, n_slots) = oneshot::channel();
            let body = Body::from_stream(stream::once(async move {
                let _ = sender.send(shared.in_flight.used());
                Ok::<_, Infallible>("a")
            }));
            let mut request = request("/echo", body);
            if let Some(key) = key {
                let key = key.parse().expect("it is a header");
                request.headers_mut().insert("x-api-key", key);
            }
            assert_eq!(answer(&router, request).await.status(), status);
            assert_eq!(n_slots.await.ok(), Some(0));
        });
    }
}

#[test]
fn the_body_of_a_client_that_expects_permission_is_not_read() {
    run(async {
        let (router, _) = server(Limits {
            max_body_bytes: 5,
            ..Limits::default()
        });
        let (sender, is_read) = oneshot::channel();
        let body = Body::from_stream(stream::once(async move {
            let _ = sender.send(());
            Ok::<_, Infallible>("123456")
        }));
        let mut request = request("/echo", body);
        let headers = request.headers_mut();
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("6"));
        headers.insert(EXPECT, HeaderValue::from_static("100-continue"));
        let refused = answer(&router, request).await;
        assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert!(is_read.await.is_err());
    });
}

#[test]
fn a_compressed_body_is_refused() {
    run(async {
        let (router, _) = server(Limits::default());
        for (encoding, status) in [("gzip", 415), ("Identity", 200), ("", 200)] {
            let mut request = request("/echo", "a".into());
            let value = encoding.parse().expect("it is a header");
            request.headers_mut().insert(CONTENT_ENCODING, value);
            assert_eq!(answer(&router, request).await.status(), status);
        }
    });
}
