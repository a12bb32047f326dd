//! [`rewrite`]: refusals in OpenAI's form.

use axum::Json;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use crate::http::ApiError;

/// Rewrites the reply of an error; leaves others unchanged.
pub(super) async fn rewrite(response: Response) -> Response {
    ApiError::rewrite(response, |error| {
        let (status, code) = match error {
            ApiError::MissingKey | ApiError::WrongKey => {
                (StatusCode::UNAUTHORIZED, Some("invalid_api_key"))
            }
            ApiError::Model { .. } => (StatusCode::NOT_FOUND, Some("model_not_found")),
            error => (error.status(), None),
        };
        let kind = match status {
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        let text = error.to_string();
        let error = json!({ "message": text, "type": kind, "param": null, "code": code });
        (status, Json(json!({ "error": error })))
    })
}
