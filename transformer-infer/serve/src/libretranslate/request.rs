//! The common parts of all requests, and refusals in the words of LibreTranslate, which clients look for.

use axum::Json;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;

use crate::http::{ApiError, ErrorBody, KeyPlace};
use crate::parameters::{self, Parameters};
use crate::state::{Caller, Shared};

/// Reads the parameters of a request, and checks and counts its caller.
pub(crate) async fn admitted<P: Parameters>(
    shared: &Shared,
    request: Request,
) -> Result<(Caller, P), ApiError> {
    parameters::admitted(shared, request, KeyPlace::HeadOrParameters).await
}

/// Creates the error of a missing parameter.
pub(crate) fn missing(name: &str) -> ApiError {
    ApiError::request(format!("Invalid request: missing {name} parameter"))
}

/// Returns the codes of the source language, unless it is to be detected, and of the target language.
pub(super) fn languages<'a>(
    source: Option<&'a String>,
    target: Option<&'a String>,
) -> Result<(Option<&'a str>, &'a str), ApiError> {
    let source = source.ok_or_else(|| missing("source"))?;
    let target = target.ok_or_else(|| missing("target"))?;
    Ok((Some(&**source).filter(|code| *code != "auto"), target))
}

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
