//! [`ApiError`]: the refusal of a request, as a reply; [`doubtful_headers`]: the header about doubtful translations.

use std::error::Error;

use axum::Json;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use transformer_core::text::one_line;
use transformer_documents::Doubtful;
use utoipa::ToSchema;

const MAX_RETRY_AFTER: f64 = 3600.0;

/// The reason for refusing a request.
///
/// The texts contain no path of this machine and nothing about a model, and only as much of the request as is needed to
/// find the fault. The reply has the error among its extensions, so that another interface can rewrite it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ApiError {
    #[error("{text}")]
    Request { text: String },
    #[error("expected a JSON body with `Content-Type: application/json`")]
    MediaType,
    #[error("expected a body without `Content-Encoding`; send it as it is")]
    Encoding,
    #[error("{code} is not supported")]
    Language { code: String },
    #[error("{target} is not available as a target language from {source_code}")]
    Pair { source_code: String, target: String },
    #[error("there is no model `{name}`; GET /v1/models lists the models")]
    Model { name: String },
    #[error(
        "the request has {n_chars} characters, more than the limit of {limit}; send it in parts"
    )]
    TooLong { n_chars: usize, limit: usize },
    #[error("the request has {n_tokens} tokens, more than the limit of {limit}; send it in parts")]
    TooManyTokens { n_tokens: usize, limit: usize },
    #[error("the request has {n_texts} texts, more than the limit of {limit}; send them in parts")]
    TooManyTexts { n_texts: usize, limit: usize },
    #[error("the body has more than {limit} bytes; send it in parts")]
    BodyTooLarge { limit: usize },
    #[error("the body took more than {seconds} seconds to arrive; send it faster, or in parts")]
    SlowBody { seconds: u64 },
    #[error("the connection ended before the whole body arrived")]
    BrokenBody,
    #[error("this server requires an API key; send `Authorization: Bearer KEY`")]
    MissingKey,
    #[error("invalid API key")]
    WrongKey,
    #[error("more than {limit} requests per minute; try again in {retry_after} seconds")]
    TooManyRequests { limit: u32, retry_after: u64 },
    #[error("the server is busy; try again in {retry_after} seconds")]
    Busy { retry_after: u64 },
    #[error("the server has no room for the file; send a smaller one, or try again later")]
    Storage,
    #[error(
        "your glossaries would have more than your share of {limit} bytes; delete one, or make it smaller"
    )]
    GlossaryShare { limit: u64 },
    #[error("the models are still loading; try again in a few seconds")]
    Loading,
    #[error(
        "the model `{name}` cannot be loaded; see the log of the server, and try again in a few seconds"
    )]
    NotLoaded { name: String },
    #[error("the server is shutting down")]
    Stopping,
    #[error(
        "the translation took more than {seconds} seconds; send less text at a time, or try again later"
    )]
    Timeout { seconds: u64 },
    #[error(
        "the request has {n_hosts} `Host` headers, expected one; send the name of the server once"
    )]
    Hosts { n_hosts: usize },
    #[error("unknown host `{host}`; allow it with --allow-host")]
    Host { host: String },
    #[error("pages from {origin} may not call this server; allow them with --cors-origin")]
    Origin { origin: String },
    #[error("not found")]
    NotFound,
    #[error("method not allowed")]
    Method,
    #[error("internal error; see the log of the server")]
    Internal,
}

/// The body of a refusal.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// The reason of the refusal.
    pub(crate) error: String,
}

impl ApiError {
    pub(crate) fn request(text: impl Into<String>) -> Self {
        Self::Request { text: text.into() }
    }

    /// Writes an error that clients cannot mend to the log, and returns its refusal.
    pub(crate) fn internal(error: &dyn Error, message: &str) -> Self {
        tracing::error!(error = one_line(error), "{message}");
        Self::Internal
    }

    pub(crate) fn busy(seconds: f64) -> Self {
        let retry_after = seconds.clamp(1.0, MAX_RETRY_AFTER).ceil() as u64;
        Self::Busy { retry_after }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status_and_reason().0
    }

    /// Returns the label for the metric of refusals; `None` for errors that are not the server's own refusals.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        self.status_and_reason().1
    }

    fn status_and_reason(&self) -> (StatusCode, Option<&'static str>) {
        match self {
            Self::Request { .. }
            | Self::Language { .. }
            | Self::Pair { .. }
            | Self::Model { .. }
            | Self::BrokenBody => (StatusCode::BAD_REQUEST, None),
            Self::Hosts { .. } => (StatusCode::BAD_REQUEST, Some("host")),
            Self::MediaType | Self::Encoding => (StatusCode::UNSUPPORTED_MEDIA_TYPE, None),
            Self::TooLong { .. } => (StatusCode::PAYLOAD_TOO_LARGE, Some("characters")),
            Self::TooManyTokens { .. } => (StatusCode::PAYLOAD_TOO_LARGE, Some("tokens")),
            Self::TooManyTexts { .. } => (StatusCode::PAYLOAD_TOO_LARGE, Some("texts")),
            Self::BodyTooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, Some("body_bytes")),
            Self::SlowBody { .. } => (StatusCode::REQUEST_TIMEOUT, Some("slow_body")),
            Self::MissingKey => (StatusCode::UNAUTHORIZED, Some("api_key")),
            Self::WrongKey => (StatusCode::FORBIDDEN, Some("api_key")),
            Self::Origin { .. } => (StatusCode::FORBIDDEN, Some("origin")),
            Self::TooManyRequests { .. } => (StatusCode::TOO_MANY_REQUESTS, Some("request_rate")),
            Self::Busy { .. } => (StatusCode::TOO_MANY_REQUESTS, Some("busy")),
            // Not 504, which is for proxies, and not 408, which makes clients repeat the request at once.
            Self::Loading => (StatusCode::SERVICE_UNAVAILABLE, Some("loading")),
            Self::NotLoaded { .. } => (StatusCode::SERVICE_UNAVAILABLE, Some("not_loaded")),
            Self::Stopping => (StatusCode::SERVICE_UNAVAILABLE, Some("stopping")),
            Self::Timeout { .. } => (StatusCode::SERVICE_UNAVAILABLE, Some("request_time")),
            Self::Host { .. } => (StatusCode::MISDIRECTED_REQUEST, Some("host")),
            Self::NotFound => (StatusCode::NOT_FOUND, None),
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, None),
            Self::Storage => (StatusCode::INSUFFICIENT_STORAGE, Some("storage")),
            Self::GlossaryShare { .. } => (StatusCode::INSUFFICIENT_STORAGE, Some("glossaries")),
            Self::Internal => (StatusCode::INTERNAL_SERVER_ERROR, None),
        }
    }

    /// Returns the number of seconds after which the same request may be accepted.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        match self {
            Self::TooManyRequests { retry_after, .. } | Self::Busy { retry_after } => {
                Some(*retry_after)
            }
            Self::Loading => Some(2),
            Self::NotLoaded { .. } | Self::Stopping | Self::Timeout { .. } => Some(5),
            _ => None,
        }
    }

    /// Returns a reply with the status and headers of this error and an interface's own body.
    pub(crate) fn with_body(self, body: impl IntoResponse) -> Response {
        let mut response = (self.status(), body).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after() {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if self == Self::MissingKey {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(self);
        response
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let error = self.to_string();
        self.with_body(Json(ErrorBody { error }))
    }
}

pub(super) const DOUBTFUL: &str = "x-doubtful-translations";

/// Returns the header with the number of doubtful translations of a reply, and their faults, if there are any.
pub(crate) fn doubtful_headers(texts: impl IntoIterator<Item = Doubtful>) -> HeaderMap {
    let Doubtful { n, faults, .. } = texts.into_iter().fold(Doubtful::default(), Doubtful::and);
    let mut headers = HeaderMap::new();
    if n > 0 {
        let value = HeaderValue::from_str(&format!("{n}; {faults}"));
        headers.insert(DOUBTFUL, value.expect("the names of faults are ASCII"));
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use transformer_documents::Protection;

    #[test]
    fn the_header_counts_the_texts_of_a_reply() {
        let protection = Protection::placeholders().with_check(None);
        let text = |source: &str, translation: &str| {
            let mut doubtful = Doubtful::default();
            doubtful.add(1, protection.faults(source, translation));
            doubtful
        };
        let texts = [
            text("Room 7", "Zimmer"),
            text("Cost", "Kosssssss"),
            text("A", "B"),
        ];
        let headers = doubtful_headers(texts);
        assert_eq!(headers[DOUBTFUL], "2; numbers, repetition");
        assert!(doubtful_headers(texts[2..].to_vec()).is_empty());
    }
}
