//! [`guarded`] and [`interface`]: limits for the requests of every interface; [`guarded_body`] and [`guard_body`]: hold a
//! value as long as a body.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequestParts, Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, EXPECT};
use axum::http::request::Parts;
use axum::middleware::{Next, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http_body_util::BodyExt;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout, timeout_at};

use super::{ApiError, Client};
use crate::state::{Share, Shared};

/// Maximum time to read and discard the rest of a body that is refused, so that the client sees the reply.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// Maximum number of bytes that are discarded this way, unless the limit of a body is larger.
const DRAIN_BYTES: usize = 8 << 20;

/// The part of the time for a body in which it may arrive at any rate: one sixth.
const FREE_PART: u32 = 6;

/// Minimum rate of a body after that, on average.
const MIN_BYTES_PER_SECOND: u32 = 1 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    /// The head: without the right key the body is discarded.
    Head,
    /// The head or the parameter of this name; a wrong key in the head is refused without the body.
    HeadElseParameters(&'static str),
    /// The parameter of this name, or else the head.
    HeadOrParameters(&'static str),
}

/// Adds the limits of requests, and the form of refusals, to the routes of another server's interface.
pub(crate) fn interface<B: IntoResponse + 'static>(
    router: Router<Arc<Shared>>,
    shared: &Arc<Shared>,
    keys: KeyPlace,
    refusal: fn(&ApiError) -> (StatusCode, B),
) -> Router<Arc<Shared>> {
    let router = router.method_not_allowed_fallback(async || ApiError::Method);
    let rewrite = move |response: Response| async move {
        let Some(error) = response.extensions().get::<ApiError>().cloned() else {
            return response;
        };
        let (status, body) = refusal(&error);
        let mut response = error.with_body(body);
        *response.status_mut() = status;
        response
    };
    guarded(router, shared, keys).layer(map_response(rewrite))
}

/// Adds the limits of a request to the routes of an interface: the number answered at a time, the size, rate and time
/// of the body, and the time of the reply. Each caller has its share of them. A panic ends only one request.
///
/// Handlers receive the whole body, as [`Bytes`].
pub(crate) fn guarded(
    router: Router<Arc<Shared>>,
    shared: &Arc<Shared>,
    keys: KeyPlace,
) -> Router<Arc<Shared>> {
    let guard = move |State(shared): State<Arc<Shared>>, request: Request, next: Next| async move {
        let answered = guard(&shared, keys, request, next).await;
        answered.unwrap_or_else(IntoResponse::into_response)
    };
    router
        .layer(from_fn_with_state(shared.clone(), guard))
        .layer(DefaultBodyLimit::disable())
}

async fn guard(
    shared: &Shared,
    keys: KeyPlace,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let (mut parts, mut body) = request.into_parts();
    let Ok(client) = Client::from_request_parts(&mut parts, &()).await;
    let n_bytes = parts.headers.get(CONTENT_LENGTH);
    let n_bytes = n_bytes.and_then(|it| it.to_str().ok()?.parse::<usize>().ok());
    let read = match Admission::new(shared, keys, &client, &parts, n_bytes) {
        Ok(mut admission) => {
            let read = admission.read(&mut body).await;
            read.map(|bytes| (bytes, admission.shares))
        }
        Err(error) => Err(error),
    };
    let (bytes, shares) = match read {
        Err(error @ (ApiError::SlowBody { .. } | ApiError::BrokenBody)) => return Err(error),
        Err(error) => {
            let most = shared.options.limits.max_body_bytes.max(DRAIN_BYTES);
            // A client that expects permission has sent nothing yet. The end of a longer body would not be reached.
            if !parts.headers.contains_key(EXPECT) && n_bytes.is_none_or(|it| it <= most) {
                drain(&mut body, most).await;
            }
            return Err(error);
        }
        Ok(read) => read,
    };
    drop(body); // tells the connection that it was read
    let shares = Arc::new(Mutex::new(shares));
    parts.extensions.insert(Client {
        keys,
        shares: Some(shares.clone()),
        ..client.clone()
    });
    let request = Request::from_parts(parts, Body::from(bytes));
    let time = shared.options.limits.request_time;
    let response = match timeout(time, AssertUnwindSafe(next.run(request)).catch_unwind()).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => {
            tracing::error!(id = &*client.id, "the handler of a request panicked");
            ApiError::Internal.into_response()
        }
        Err(_) => ApiError::Timeout {
            seconds: time.as_secs(),
        }
        .into_response(),
    };
    Ok(guarded_body(response, shares))
}

struct Admission<'a> {
    shared: &'a Shared,
    caller: u64,
    /// A slot among the requests that are answered, and the size of the body.
    shares: [Share; 2],
}

impl<'a> Admission<'a> {
    fn new(
        shared: &'a Shared,
        keys: KeyPlace,
        client: &Client,
        parts: &Parts,
        n_bytes: Option<usize>,
    ) -> Result<Self, ApiError> {
        let claimant = shared.claimant(client, &parts.uri, keys)?;
        let mut encodings = parts.headers.get_all(CONTENT_ENCODING).into_iter();
        if !encodings.all(|it| is_identity(it.as_bytes())) {
            return Err(ApiError::Encoding);
        }
        let limit = shared.options.limits.max_body_bytes;
        if n_bytes.is_some_and(|n_bytes| n_bytes > limit) {
            return Err(ApiError::BodyTooLarge { limit });
        }
        let slot = shared.in_flight.take(claimant, 1);
        let slot = slot.ok_or_else(|| shared.busy(claimant.id))?;
        let size = shared.buffered.take_nothing(claimant);
        Ok(Self {
            shared,
            caller: claimant.id,
            shares: [slot, size],
        })
    }

    async fn read(&mut self, body: &mut Body) -> Result<Bytes, ApiError> {
        let limits = &self.shared.options.limits;
        let limit = limits.max_body_bytes;
        let start = Instant::now();
        let mut read: Vec<u8> = Vec::new();
        loop {
            let time = time_for(read.len(), limits.body_time);
            let frame = timeout_at(start + time, body.frame()).await;
            let frame = frame.map_err(|_| ApiError::SlowBody {
                seconds: time.as_secs().max(1),
            })?;
            let Some(frame) = frame else {
                return Ok(read.into());
            };
            let frame = frame.map_err(|_| ApiError::BrokenBody)?;
            let Ok(data) = frame.into_data() else {
                continue; // trailers
            };
            if read.len() + data.len() > limit {
                return Err(ApiError::BodyTooLarge { limit });
            }
            if !self.shares[1].grow(data.len()) {
                return Err(self.shared.busy(self.caller));
            }
            read.extend_from_slice(&data);
        }
    }
}

fn is_identity(encoding: &[u8]) -> bool {
    let encoding = encoding.trim_ascii();
    encoding.is_empty() || encoding.eq_ignore_ascii_case(b"identity")
}

/// Returns the time in which more than `n_bytes` of a body must have arrived.
fn time_for(n_bytes: usize, limit: Duration) -> Duration {
    let n_bytes = u32::try_from(n_bytes).unwrap_or(u32::MAX);
    let time = limit / FREE_PART + Duration::from_secs(1) * n_bytes / MIN_BYTES_PER_SECOND;
    time.min(limit)
}

/// Reads and discards the rest of a body for a moment: closing a connection with unread bytes would lose the reply.
async fn drain(body: &mut Body, most: usize) {
    let end = Instant::now() + DRAIN_TIME;
    let mut n_bytes = 0;
    while n_bytes < most
        && let Ok(Some(Ok(frame))) = timeout_at(end, body.frame()).await
    {
        n_bytes += frame.data_ref().map_or(0, Bytes::len);
    }
}

/// Holds `guard` until the body of a reply has been sent, or the client is gone.
pub(crate) fn guarded_body<G: Send + 'static>(response: Response, guard: G) -> Response {
    response.map(|body| guard_body(body, guard))
}

pub(crate) fn guard_body<G: Send + 'static>(body: Body, guard: G) -> Body {
    // Errors stay as they are: the closure only owns the guard.
    Body::new(body.map_err(move |error| {
        let _ = &guard;
        error
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_needs_a_minimum_rate_after_a_while_and_ends_in_time() {
        let seconds = |n_bytes| time_for(n_bytes, Duration::from_secs(30)).as_secs();
        assert_eq!([0, 1023, 2048, 4 << 20].map(seconds), [5, 5, 7, 30]);
    }
}
