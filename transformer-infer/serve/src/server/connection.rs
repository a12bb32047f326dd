//! [`serve_connection`]: the requests of one connection.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tower::ServiceExt;

use super::idle_phase::SharedPhase;
use super::timed_stream::TimedStream;
use crate::config::Limits;
use crate::http::{Peer, guard_body, guarded_body};

/// Maximum size of the head of a request, in bytes.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// Answers the requests of a connection in turn. When `stopping` becomes true, the current request is the last one, and
/// `Connection: close` tells the client.
pub(super) async fn serve_connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    limits: Limits,
    phase: SharedPhase,
    mut stopping: watch::Receiver<bool>,
) {
    // Replies are small, and must not wait for more bytes.
    let _ = stream.set_nodelay(true);
    let stream = TokioIo::new(TimedStream::new(stream, phase.clone(), &limits));
    let service = service_fn(move |request: Request<Incoming>| {
        let in_request = phase.begin();
        let body_read = in_request.body();
        let mut request = request.map(|body| guard_body(Body::new(body), body_read));
        request.extensions_mut().insert(Peer(peer));
        request.extensions_mut().insert(phase.sent_key().clone());
        let router = router.clone();
        async move {
            let response: Result<Response, Infallible> = router.oneshot(request).await;
            response.map(|response| guarded_body(response, in_request))
        }
    });
    let connection = http1::Builder::new()
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(stream, service);
    let mut connection = pin!(connection);
    let mut is_told = false;
    loop {
        tokio::select! {
            // An error is the client's: it hung up, or did not send HTTP.
            _ = connection.as_mut() => return,
            _ = stopping.wait_for(|is_stopping| *is_stopping), if !is_told => {
                is_told = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}
