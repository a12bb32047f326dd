//! [`observe`]: the log, the metrics and the id of every request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;

use super::{ApiError, Client};
use crate::state::Shared;

/// The header with the id of a request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Maximum length of an id that a client may choose.
const MAX_ID_LEN: usize = 64;

/// Number of requests so far.
static N_REQUESTS: AtomicU64 = AtomicU64::new(0);

/// Determines the address of a request, gives it an id, logs it and counts it. The log contains no text of a request.
pub(crate) async fn observe(
    State(shared): State<Arc<Shared>>,
    mut request: Request,
    next: Next,
) -> Response {
    let id = request_id(request.headers(), &shared);
    let trusted = &shared.options.trusted_proxies;
    let client = Client::of(request.headers(), request.extensions(), trusted, id.clone());
    let route = request.extensions().get::<MatchedPath>();
    let mut observation = Observation {
        shared: shared.clone(),
        start: Instant::now(),
        method: method(request.method()),
        route: route.map_or_else(|| "other".to_owned(), |route| route.as_str().to_owned()),
        client: client.clone(),
        is_answered: false,
    };
    request.extensions_mut().insert(client);
    let mut response = next.run(request).await;
    observation.end(&response);
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// A request before its reply begins. If it is dropped then, the client hung up.
struct Observation {
    shared: Arc<Shared>,
    start: Instant,
    method: &'static str,
    route: String,
    client: Client,
    is_answered: bool,
}

impl Observation {
    fn end(&mut self, response: &Response) {
        self.is_answered = true;
        let (status, time) = (response.status().as_u16(), self.start.elapsed());
        let metrics = &self.shared.metrics;
        metrics.answered(self.method, &self.route, status, time);
        let error = response.extensions().get::<ApiError>();
        let reason = error.and_then(ApiError::reason);
        if let Some(reason) = reason {
            metrics.refused(reason);
        }
        let Client { address, id, .. } = &self.client;
        tracing::info!(
            %id, client = %address, method = self.method, route = self.route, status, reason,
            milliseconds = time.as_millis() as u64, "answered"
        );
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        if !self.is_answered {
            self.shared.metrics.hang_ups.inc();
            let Client { address, id, .. } = &self.client;
            tracing::info!(
                %id, client = %address, method = self.method, route = self.route,
                milliseconds = self.start.elapsed().as_millis() as u64, "the client hung up"
            );
        }
    }
}

/// Returns the id that the client sent, if it is short and plain, or a new one.
fn request_id(headers: &HeaderMap, shared: &Shared) -> Arc<str> {
    let is_plain = |id: &&str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        (1..=MAX_ID_LEN).contains(&id.len()) && id.bytes().all(allowed)
    };
    let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
    match given.filter(is_plain) {
        Some(id) => id.into(),
        None => {
            let number = N_REQUESTS.fetch_add(1, Ordering::Relaxed);
            format!("{:08x}-{number}", shared.hash("request") as u32).into()
        }
    }
}

/// Returns the name of a method. The number of names is bounded, because metrics remember each.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}
