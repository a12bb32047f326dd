//! [`guarded`]: limits for the requests of every interface.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::CONTENT_LENGTH;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout, timeout_at};

use super::{ApiError, Client, guarded_body};
use crate::state::{Share, Shared};

/// Maximum time to read and discard the rest of a body that is too large, so that the client sees the reply.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// Maximum number of bytes that are discarded this way.
const DRAIN_BYTES: usize = 64 << 20;

/// Adds the limits of a request to the routes of an interface: the number answered at a time, the size and time of the
/// body, and the time of the reply. A panic ends only one request.
///
/// Handlers receive the whole body, as [`Bytes`].
pub(crate) fn guarded(router: Router<Arc<Shared>>, shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    let guard = move |State(shared): State<Arc<Shared>>, request: Request, next: Next| async move {
        let answered = guard(&shared, request, next).await;
        answered.unwrap_or_else(IntoResponse::into_response)
    };
    router
        .layer(from_fn_with_state(shared.clone(), guard))
        .layer(DefaultBodyLimit::disable())
}

async fn guard(shared: &Shared, request: Request, next: Next) -> Result<Response, ApiError> {
    let busy = || ApiError::Busy { retry_after: 1 };
    let in_flight = shared.in_flight.take(1).ok_or_else(busy)?;
    let (parts, body) = request.into_parts();
    let n_bytes = parts.headers.get(CONTENT_LENGTH);
    let n_bytes = n_bytes.and_then(|it| it.to_str().ok()?.parse().ok());
    let mut reader = BodyReader {
        shared,
        body,
        limit: shared.options.limits.max_body_bytes,
        share: shared.buffered.take(0).ok_or_else(busy)?,
    };
    let body = reader.read(n_bytes.unwrap_or(0)).await?;
    let share = reader.share;
    let id = parts.extensions.get::<Client>().map(|it| it.id.clone());
    let request = Request::from_parts(parts, Body::from(body));
    let time = shared.options.limits.request_time;
    let response = match timeout(time, AssertUnwindSafe(next.run(request)).catch_unwind()).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => {
            tracing::error!(id = id.as_deref(), "the handler of a request panicked");
            ApiError::Internal.into_response()
        }
        Err(_) => ApiError::Timeout {
            seconds: time.as_secs(),
        }
        .into_response(),
    };
    Ok(guarded_body(response, (in_flight, share)))
}

/// Reads the body of a request.
struct BodyReader<'a> {
    shared: &'a Shared,
    body: Body,
    limit: usize,
    share: Share,
}

impl BodyReader<'_> {
    /// Reads the body; by its header it has `n_bytes`.
    async fn read(&mut self, n_bytes: usize) -> Result<Bytes, ApiError> {
        let limit = self.limit;
        if n_bytes > limit {
            self.drain().await;
            return Err(ApiError::BodyTooLarge { limit });
        }
        let time = self.shared.options.limits.body_time;
        let end = Instant::now() + time;
        let mut read: Vec<u8> = Vec::new();
        loop {
            let frame = timeout_at(end, self.body.frame()).await;
            let frame = frame.map_err(|_| ApiError::SlowBody {
                seconds: time.as_secs(),
            })?;
            let Some(frame) = frame else {
                return Ok(read.into());
            };
            let frame = frame.map_err(|_| ApiError::BrokenBody)?;
            let Ok(data) = frame.into_data() else {
                continue; // trailers
            };
            if read.len() + data.len() > limit {
                self.drain().await;
                return Err(ApiError::BodyTooLarge { limit });
            }
            if !self.share.grow(data.len()) {
                self.drain().await;
                return Err(ApiError::Busy { retry_after: 1 });
            }
            read.extend_from_slice(&data);
        }
    }

    /// Reads and discards the rest for a moment: closing a connection with unread bytes would lose the reply.
    async fn drain(&mut self) {
        let end = Instant::now() + DRAIN_TIME;
        let mut n_bytes = 0;
        while n_bytes < DRAIN_BYTES
            && let Ok(Some(Ok(frame))) = timeout_at(end, self.body.frame()).await
        {
            n_bytes += frame.data_ref().map_or(0, Bytes::len);
        }
    }
}
