//! The common parts of all requests of the interface.

use axum::extract::{FromRequestParts, Request};

use crate::http::{ApiError, Client};
use crate::parameters::Parameters;
use crate::state::{Caller, Shared};

/// Reads the parameters of a request, and checks and counts its caller.
pub(crate) async fn admitted<P: Parameters>(
    shared: &Shared,
    request: Request,
) -> Result<(Caller, P), ApiError> {
    let (mut parts, body) = request.into_parts();
    let Ok(client) = Client::from_request_parts(&mut parts, &()).await;
    let admit = |key: Option<&str>| shared.admit(&client, key.or(client.key.as_deref()));
    P::admitted(Request::from_parts(parts, body), admit).await
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
