//! [`serve_connection`]: the requests of one connection; [`refuse`]: tells a client that its connection is beyond the
//! limit.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tower::ServiceExt;

use super::timed_stream::{SharedPhase, TimedStream};
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
    let stream = TokioIo::new(TimedStream::new(stream, phase.clone(), limits));
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

/// Maximum wait for the request of such a connection.
const TIME: Duration = Duration::from_secs(1);

const REPLY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    Content-Type: application/json\r\n\
    Content-Length: 66\r\n\
    Retry-After: 2\r\n\
    Connection: close\r\n\
    \r\n\
    {\"error\":\"the server has too many connections; try again in 2 s\"}\n";

pub(super) async fn refuse(mut stream: TcpStream) {
    let _ = timeout(TIME, async {
        let _ = stream.write_all(REPLY).await;
        let _ = stream.shutdown().await;
        // Closing a connection with unread bytes would lose the reply.
        let mut buffer = [0; 4096];
        while matches!(stream.read(&mut buffer).await, Ok(1..)) {}
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_the_refusal_is_right() {
        let text = std::str::from_utf8(REPLY).expect("the reply is text");
        let (head, body) = text.split_once("\r\n\r\n").expect("there is a body");
        assert!(
            head.contains(&format!("Content-Length: {}\r\n", body.len())),
            "{}",
            body.len()
        );
        assert!(serde_json::from_str::<serde_json::Value>(body).is_ok());
    }
}
