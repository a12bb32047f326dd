//! [`Client`]: the origin of a request; [`observe`]: the log, the metrics and the id of every request.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use parking_lot::Mutex;

use super::{ApiError, KeyPlace};
use crate::config::Network;
use crate::state::{Share, Shared};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// A flag of a connection: a request on it had a valid key. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentKey(Arc<AtomicBool>);

impl SentKey {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The shares of a request until its reply has been sent: a slot among those that are answered, and its body.
pub(crate) type Shares = Arc<Mutex<[Share; 2]>>;

/// The origin of a request.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    /// The address of the connection, or the one that a trusted proxy forwards.
    pub(crate) address: IpAddr,
    pub(crate) id: Arc<str>,
    /// The key in the header `Authorization: Bearer KEY`, with `DeepL-Auth-Key` instead of `Bearer`, in `X-API-Key`,
    /// `X-Goog-Api-Key` or `Ocp-Apim-Subscription-Key`.
    pub(crate) key: Option<String>,
    pub(crate) sent_key: SentKey,
    /// The parts of the request that may have the key, in its interface.
    pub(crate) keys: KeyPlace,
    /// The shares of the request, once its body was read.
    pub(crate) shares: Option<Shares>,
}

impl Client {
    pub(super) fn of(
        headers: &HeaderMap,
        extensions: &Extensions,
        trusted: &[Network],
        id: Arc<str>,
    ) -> Self {
        let peer = extensions.get::<Peer>();
        let peer = peer.map_or(Ipv4Addr::LOCALHOST.into(), |peer| peer.0.ip());
        Self {
            address: forwarded(peer, headers, trusted),
            id,
            key: key(headers),
            keys: KeyPlace::Head,
            sent_key: extensions.get().cloned().unwrap_or_default(),
            shares: None,
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Client {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let client = parts.extensions.get::<Self>().cloned();
        // Without the outermost layer, as in a test of a single interface.
        Ok(client.unwrap_or_else(|| Self::of(&parts.headers, &parts.extensions, &[], "".into())))
    }
}

/// Returns the address of the client behind trusted proxies: the last one in `X-Forwarded-For` that is not a trusted
/// proxy's. The client may have forged those before it.
fn forwarded(peer: IpAddr, headers: &HeaderMap, trusted: &[Network]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|it| it.contains(address));
    let values = headers.get_all("x-forwarded-for").into_iter();
    let values: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
    let addresses = values.iter().flat_map(|value| value.split(','));
    let mut addresses: Vec<&str> = addresses.map(str::trim).collect();
    let mut address = peer;
    while is_trusted(address)
        && let Some(Ok(next)) = addresses.pop().map(str::parse)
    {
        address = next;
    }
    address
}

fn key(headers: &HeaderMap) -> Option<String> {
    let bearer = || {
        let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
        let (scheme, key) = value.split_once(' ')?;
        let schemes = ["Bearer", "DeepL-Auth-Key"];
        let is_key = schemes.iter().any(|it| it.eq_ignore_ascii_case(scheme));
        is_key.then(|| key.trim().to_owned())
    };
    let named = |name| Some(headers.get(name)?.to_str().ok()?.trim().to_owned());
    let names = ["x-api-key", "x-goog-api-key", "ocp-apim-subscription-key"];
    bearer().or_else(|| names.into_iter().find_map(named))
}

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const MAX_ID_LEN: usize = 64;

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
        trace: Trace::of(request.headers()),
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
    trace: Option<Trace>,
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
        let trace = self.trace.as_ref();
        tracing::info!(
            %id, trace_id = trace.map(|it| &*it.trace_id), span_id = trace.map(|it| &*it.span_id),
            client = %address, method = self.method, route = self.route, status, reason,
            milliseconds = time.as_millis() as u64, "answered"
        );
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        if !self.is_answered {
            self.shared.metrics.hang_ups.inc();
            let Client { address, id, .. } = &self.client;
            let trace = self.trace.as_ref();
            tracing::info!(
                %id, trace_id = trace.map(|it| &*it.trace_id), span_id = trace.map(|it| &*it.span_id),
                client = %address, method = self.method, route = self.route,
                milliseconds = self.start.elapsed().as_millis() as u64, "the client hung up"
            );
        }
    }
}

/// The caller's trace and span, of the header `traceparent` (W3C Trace Context), as OpenTelemetry sends it.
#[derive(Debug, PartialEq, Eq)]
struct Trace {
    trace_id: String,
    span_id: String,
}

impl Trace {
    /// Reads the header; `None` if it is absent, repeated or wrong.
    fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all("traceparent").into_iter();
        let value = values.next().filter(|_| values.next().is_none())?;
        let mut fields = value.to_str().ok()?.split('-');
        let mut hex = |len: usize| {
            let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            let field = fields.next()?;
            (field.len() == len && field.bytes().all(is_hex)).then_some(field)
        };
        let (version, trace_id, span_id, _) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
        let is_zero = |id: &str| id.bytes().all(|byte| byte == b'0');
        // Later versions may have further fields.
        let is_right = match version {
            "00" => fields.next().is_none(),
            version => version != "ff",
        };
        (is_right && !is_zero(trace_id) && !is_zero(span_id)).then(|| Self {
            trace_id: trace_id.to_owned(),
            span_id: span_id.to_owned(),
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn address(peer: &str, forwarded: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            let value = value.parse().expect("it is a header");
            headers.append("x-forwarded-for", value);
        }
        let trusted = ["127.0.0.1", "10.0.0.0/8"].map(|it| it.parse().expect("it is a range"));
        let peer = peer.parse().expect("it is an address");
        super::forwarded(peer, &headers, &trusted).to_string()
    }

    fn trace(values: &[&str]) -> Option<Trace> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("traceparent", value.parse().expect("it is a header"));
        }
        Trace::of(&headers)
    }

    /// The examples of W3C Trace Context.
    #[test]
    fn the_trace_of_the_caller_is_read() {
        let expected = Trace {
            trace_id: "4bf92f3577b34da6a3ce929d0e0e4736".to_owned(),
            span_id: "00f067aa0ba902b7".to_owned(),
        };
        let value = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(trace(&[value]).as_ref(), Some(&expected));
        let later =
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-the-future-brings";
        assert_eq!(trace(&[later]), Some(expected));
        assert_eq!(trace(&[value, value]), None);
    }

    #[test]
    fn a_trace_in_another_form_is_ignored() {
        for value in [
            "",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        ] {
            assert_eq!(trace(&[value]), None, "{value}");
        }
    }

    #[test]
    fn a_header_of_a_stranger_is_ignored() {
        assert_eq!(address("9.9.9.9", &["1.2.3.4"]), "9.9.9.9");
    }

    #[test]
    fn a_trusted_proxy_forwards_the_address() {
        assert_eq!(address("127.0.0.1", &["1.2.3.4"]), "1.2.3.4");
        assert_eq!(address("127.0.0.1", &["1.2.3.4, 10.0.0.7"]), "1.2.3.4");
        assert_eq!(address("127.0.0.1", &["1.2.3.4", "10.0.0.7"]), "1.2.3.4");
    }

    #[test]
    fn what_the_client_wrote_before_the_proxy_is_ignored() {
        assert_eq!(address("127.0.0.1", &["8.8.8.8, 1.2.3.4"]), "1.2.3.4");
    }

    #[test]
    fn what_is_no_address_is_ignored() {
        assert_eq!(address("127.0.0.1", &["1.2.3.4, unknown"]), "127.0.0.1");
        assert_eq!(address("127.0.0.1", &[]), "127.0.0.1");
    }
}
