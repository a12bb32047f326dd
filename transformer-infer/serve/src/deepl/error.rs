//! Refusals in the form of DeepL's interface.

use axum::Json;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::ApiError;

/// The body of a refusal.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = deepl::DeeplError)]
pub(super) struct DeeplError {
    /// The reason of the refusal.
    message: String,
}

impl DeeplError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// Rewrites the reply of an error; leaves others unchanged.
pub(super) async fn rewrite(response: Response) -> Response {
    ApiError::rewrite(response, |error| match error {
        // DeepL's clients expect 403 for a missing key, and do not know 401.
        ApiError::MissingKey => {
            let text = "this server requires an API key; send `Authorization: DeepL-Auth-Key KEY`";
            (StatusCode::FORBIDDEN, Json(DeeplError::new(text)))
        }
        _ => (error.status(), Json(DeeplError::new(error.to_string()))),
    })
}

/// Refuses requests to parts of DeepL's interface that are not supported.
pub(super) async fn unknown() -> ApiError {
    ApiError::NotFound
}

/// Creates the error of an unsupported value, in DeepL's words.
pub(super) fn unsupported(name: &str) -> ApiError {
    ApiError::request(format!("Value for '{name}' not supported."))
}
