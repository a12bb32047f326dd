//! [`rewrite`]: refusals in Google's form.

use axum::Json;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use crate::http::ApiError;

/// Rewrites the reply of an error; leaves others unchanged.
pub(super) async fn rewrite(response: Response) -> Response {
    ApiError::rewrite(response, |error| {
        let (status, reason) = match error {
            ApiError::MissingKey => (StatusCode::FORBIDDEN, "forbidden"),
            ApiError::WrongKey => (StatusCode::BAD_REQUEST, "keyInvalid"),
            error => match error.status() {
                StatusCode::TOO_MANY_REQUESTS => (error.status(), "rateLimitExceeded"),
                status if status.is_server_error() => (status, "backendError"),
                status => (status, "invalid"),
            },
        };
        let text = error.to_string();
        let errors = [json!({ "message": text, "domain": "global", "reason": reason })];
        let error = json!({ "code": status.as_u16(), "message": text, "errors": errors });
        (status, Json(json!({ "error": error })))
    })
}
