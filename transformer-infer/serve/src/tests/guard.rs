//! The refusals of [`guarded`], and their isolation from other requests.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::Response;
use axum::routing::post;
use futures_util::stream;
use http_body_util::BodyExt;
use tokio::sync::oneshot;
use tower::ServiceExt;

use crate::config::{Limits, ServeOptions};
use crate::http::guarded;
use crate::state::Shared;

/// Returns a server of a few paths with these limits, and its state.
fn server(limits: Limits) -> (Router, Arc<Shared>) {
    let options = Arc::new(ServeOptions {
        limits,
        ..ServeOptions::default()
    });
    let shared = Arc::new(Shared::new(options).expect("there is no file of keys"));
    let router = Router::new()
        .route("/echo", post(async |body: Bytes| body))
        .route("/panic", post(panics))
        .route("/never", post(pending::<()>));
    (guarded(router, &shared).with_state(shared.clone()), shared)
}

async fn panics() -> &'static str {
    let number: Result<u8, _> = "x".parse();
    number.map_or_else(|_| panic!("on purpose"), |_| "")
}

fn request(path: &str, body: Body) -> Request {
    let request = Request::post(path).body(body);
    request.expect("the path is valid")
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
