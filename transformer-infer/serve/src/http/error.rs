//! [`ApiError`]: the refusal of a request, as a reply.

use axum::Json;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// Maximum number of seconds that a busy server names.
const MAX_RETRY_AFTER: f64 = 3600.0;

/// The reason for refusing a request.
///
/// The texts contain no path of this machine and nothing about a model, and only as much of the request as is needed to
/// find the fault. The reply has the error among its extensions, so that another interface can rewrite it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ApiError {
    /// The interface does not accept the request.
    #[error("{text}")]
    Request { text: String },
    /// The body has another content type.
    #[error("expected a JSON body with `Content-Type: application/json`")]
    MediaType,
    /// The body is compressed.
    #[error("expected a body without `Content-Encoding`; send it as it is")]
    Encoding,
    /// No model knows the language.
    #[error("{code} is not supported")]
    Language { code: String },
    /// The models do not translate between the two languages.
    #[error("{target} is not available as a target language from {source_code}")]
    Pair { source_code: String, target: String },
    /// There is no such model.
    #[error("there is no model `{name}`; GET /v1/models lists the models")]
    Model { name: String },
    /// The texts are too long.
    #[error(
        "the request has {n_chars} characters, more than the limit of {limit}; send it in parts"
    )]
    TooLong { n_chars: usize, limit: usize },
    /// The texts have more tokens than can wait.
    #[error("the request has {n_tokens} tokens, more than the limit of {limit}; send it in parts")]
    TooManyTokens {
        /// Number of source tokens.
        n_tokens: usize,
        /// Maximum number of source tokens that wait.
        limit: usize,
    },
    /// There are too many texts.
    #[error("the request has {n_texts} texts, more than the limit of {limit}; send them in parts")]
    TooManyTexts { n_texts: usize, limit: usize },
    /// The body is too large.
    #[error("the body has more than {limit} bytes; send it in parts")]
    BodyTooLarge {
        /// Maximum size in bytes.
        limit: usize,
    },
    /// The body did not arrive in time.
    #[error("the body took more than {seconds} seconds to arrive; send it faster, or in parts")]
    SlowBody { seconds: u64 },
    /// The connection ended before the body.
    #[error("the connection ended before the whole body arrived")]
    BrokenBody,
    /// A key is required and missing.
    #[error("this server requires an API key; send `Authorization: Bearer KEY`")]
    MissingKey,
    /// The key is not known.
    #[error("invalid API key")]
    WrongKey,
    /// The client sends too many requests.
    #[error("more than {limit} requests per minute; try again in {retry_after} seconds")]
    TooManyRequests { limit: u32, retry_after: u64 },
    /// Too much work is waiting.
    #[error("the server is busy; try again in {retry_after} seconds")]
    Busy { retry_after: u64 },
    /// The disk is full.
    #[error(
        "the server has no room for the translated file; send a smaller file, or try again later"
    )]
    Storage,
    /// The models are not loaded yet.
    #[error("the models are still loading; try again in a few seconds")]
    Loading,
    /// The server stops.
    #[error("the server is shutting down")]
    Stopping,
    /// The reply would take too long.
    #[error(
        "the translation took more than {seconds} seconds; send less text at a time, or try again later"
    )]
    Timeout { seconds: u64 },
    /// The request does not name one server.
    #[error(
        "the request has {n_hosts} `Host` headers, expected one; send the name of the server once"
    )]
    Hosts { n_hosts: usize },
    /// The request names another server.
    #[error("unknown host `{host}`; allow it with --allow-host")]
    Host { host: String },
    /// A page of another origin called.
    #[error("pages from {origin} may not call this server; allow them with --cors-origin")]
    Origin { origin: String },
    /// There is nothing at this path.
    #[error("not found")]
    NotFound,
    /// The path takes other methods.
    #[error("method not allowed")]
    Method,
    /// The server failed; the reason is in the log.
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
    /// Creates the error of a request that the interface does not accept.
    pub(crate) fn request(text: impl Into<String>) -> Self {
        Self::Request { text: text.into() }
    }

    /// Creates the error of a request that may be accepted after some seconds.
    pub(crate) fn busy(seconds: f64) -> Self {
        let retry_after = seconds.clamp(1.0, MAX_RETRY_AFTER).ceil() as u64;
        Self::Busy { retry_after }
    }

    /// Returns the status of the reply.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Request { .. }
            | Self::Language { .. }
            | Self::Pair { .. }
            | Self::Model { .. }
            | Self::Hosts { .. }
            | Self::BrokenBody => StatusCode::BAD_REQUEST,
            Self::MediaType | Self::Encoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLong { .. }
            | Self::TooManyTokens { .. }
            | Self::TooManyTexts { .. }
            | Self::BodyTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::SlowBody { .. } => StatusCode::REQUEST_TIMEOUT,
            Self::MissingKey => StatusCode::UNAUTHORIZED,
            Self::WrongKey | Self::Origin { .. } => StatusCode::FORBIDDEN,
            Self::TooManyRequests { .. } | Self::Busy { .. } => StatusCode::TOO_MANY_REQUESTS,
            // Not 504, which is for proxies, and not 408, which makes clients repeat the request at once.
            Self::Loading | Self::Stopping | Self::Timeout { .. } => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Host { .. } => StatusCode::MISDIRECTED_REQUEST,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Storage => StatusCode::INSUFFICIENT_STORAGE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Returns the number of seconds after which the same request may be accepted.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        match self {
            Self::TooManyRequests { retry_after, .. } | Self::Busy { retry_after } => {
                Some(*retry_after)
            }
            Self::Loading => Some(2),
            Self::Stopping | Self::Timeout { .. } => Some(5),
            _ => None,
        }
    }

    /// Returns the label for the metric of refusals; `None` for errors that are not the server's own refusals.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        Some(match self {
            Self::TooLong { .. } => "characters",
            Self::TooManyTokens { .. } => "tokens",
            Self::TooManyTexts { .. } => "texts",
            Self::BodyTooLarge { .. } => "body_bytes",
            Self::SlowBody { .. } => "slow_body",
            Self::MissingKey | Self::WrongKey => "api_key",
            Self::TooManyRequests { .. } => "request_rate",
            Self::Busy { .. } => "busy",
            Self::Storage => "storage",
            Self::Loading => "loading",
            Self::Stopping => "stopping",
            Self::Timeout { .. } => "request_time",
            Self::Host { .. } | Self::Hosts { .. } => "host",
            Self::Origin { .. } => "origin",
            _ => return None,
        })
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

    /// Rewrites the reply of an error with an interface's own status and body; leaves other replies unchanged.
    pub(crate) fn rewrite<B: IntoResponse>(
        response: Response,
        write: impl FnOnce(&Self) -> (StatusCode, B),
    ) -> Response {
        let Some(error) = response.extensions().get::<Self>().cloned() else {
            return response;
        };
        let (status, body) = write(&error);
        let mut response = error.with_body(body);
        *response.status_mut() = status;
        response
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let error = self.to_string();
        self.with_body(Json(ErrorBody { error }))
    }
}
