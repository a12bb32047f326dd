//! The common parts of all requests of the interface.

use axum::extract::{FromRequestParts, Request};

use crate::serve::http::{ApiError, Client};
use crate::serve::parameters::Parameters;
use crate::serve::state::{Caller, Shared};

/// Reads the parameters of a request, and checks and counts its caller.
pub(super) async fn admitted(
    shared: &Shared,
    request: Request,
) -> Result<(Caller, Parameters), ApiError> {
    let (mut parts, body) = request.into_parts();
    let Ok(client) = Client::from_request_parts(&mut parts, &()).await;
    let parameters = Parameters::of(Request::from_parts(parts, body)).await?;
    let key = parameters.text("api_key").or(client.key.as_deref());
    let caller = shared.admit(client.address, key)?;
    Ok((caller, parameters))
}

/// Creates the error of a missing parameter.
pub(super) fn missing(name: &str) -> ApiError {
    ApiError::request(format!("Invalid request: missing {name} parameter"))
}

/// Returns the code of a language.
pub(super) fn language<'a>(parameters: &'a Parameters, name: &str) -> Result<&'a str, ApiError> {
    parameters.text(name).ok_or_else(|| missing(name))
}
