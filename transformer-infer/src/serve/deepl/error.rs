//! Refusals in the form of DeepL's interface.

use axum::Json;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use crate::serve::http::ApiError;

/// The body of a refusal.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = deepl::DeeplError)]
pub(super) struct DeeplError {
    /// Why the request is refused.
    message: String,
}

impl DeeplError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// Writes the reply of an error anew; leaves others as they are.
pub(super) async fn rewrite(response: Response) -> Response {
    match response.extensions().get::<ApiError>().cloned() {
        Some(error) => {
            let status = match error {
                // DeepL's clients take 403 for a key that is missing, and know no 401.
                ApiError::MissingKey => StatusCode::FORBIDDEN,
                _ => error.status(),
            };
            let message = match error {
                ApiError::MissingKey => {
                    "this server requires an API key; send `Authorization: DeepL-Auth-Key KEY`"
                        .to_owned()
                }
                _ => error.to_string(),
            };
            let mut response = error.with_body(Json(DeeplError { message }));
            *response.status_mut() = status;
            response
        }
        None => response,
    }
}

/// Refuses what of DeepL's interface is not here.
pub(super) async fn unknown() -> ApiError {
    ApiError::NotFound
}

/// Makes the error of a value that is not taken, in DeepL's words.
pub(super) fn unsupported(name: &str) -> ApiError {
    ApiError::request(format!("Value for '{name}' not supported."))
}
