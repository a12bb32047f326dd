//! [`rewrite`]: refusals in the words of LibreTranslate, which clients look for.

use axum::Json;
use axum::http::StatusCode;
use axum::response::Response;

use crate::http::{ApiError, ErrorBody};

/// Rewrites the reply of an error; leaves others unchanged.
pub(super) async fn rewrite(response: Response) -> Response {
    ApiError::rewrite(response, |error| {
        let (status, error) = status_and_text(error);
        (status, Json(ErrorBody { error }))
    })
}

fn status_and_text(error: &ApiError) -> (StatusCode, String) {
    let exceeds = |n: usize, limit: usize| {
        let text = format!("Invalid request: request ({n}) exceeds text limit ({limit})");
        (StatusCode::BAD_REQUEST, text)
    };
    match error {
        ApiError::TooLong { n_chars, limit } => exceeds(*n_chars, *limit),
        ApiError::TooManyTexts { n_texts, limit } => exceeds(*n_texts, *limit),
        ApiError::MissingKey => (
            StatusCode::BAD_REQUEST,
            "Please contact the server operator to get an API key".to_owned(),
        ),
        ApiError::WrongKey => (StatusCode::FORBIDDEN, "Invalid API key".to_owned()),
        ApiError::TooManyRequests { .. } | ApiError::Busy { .. } => {
            (error.status(), format!("Slowdown: {error}"))
        }
        error => (error.status(), error.to_string()),
    }
}
