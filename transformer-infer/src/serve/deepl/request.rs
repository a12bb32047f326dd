//! The common parts of all requests of the interface.

use axum::extract::{FromRequestParts, Request};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;

use super::error::unsupported;
use crate::serve::http::{ApiError, Client};
use crate::serve::parameters::Parameters;
use crate::serve::state::{Caller, Shared};

/// The scheme of the header `Authorization`.
const SCHEME: &str = "DeepL-Auth-Key";

/// Reads the parameters of a request, and checks and counts its caller.
pub(super) async fn admitted(
    shared: &Shared,
    request: Request,
) -> Result<(Caller, Parameters), ApiError> {
    let (mut parts, body) = request.into_parts();
    let Ok(client) = Client::from_request_parts(&mut parts, &()).await;
    let of_header = key(&parts.headers);
    let parameters = Parameters::of(Request::from_parts(parts, body)).await?;
    let key = of_header.as_deref().or(client.key.as_deref());
    let caller = shared.admit(client.address, key.or(parameters.text("auth_key")))?;
    Ok((caller, parameters))
}

fn key(headers: &HeaderMap) -> Option<String> {
    let (scheme, key) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case(SCHEME)
        .then(|| key.trim().to_owned())
}

/// Checks the options that change the result of a translation. Those that cannot be met are refused, as DeepL refuses
/// them for languages without them. Preferences, and options that only improve translations there, are ignored.
pub(super) fn check_options(parameters: &Parameters) -> Result<(), ApiError> {
    if matches!(parameters.text("formality"), Some("more" | "less")) {
        let text = "'formality' is not supported for given 'target_lang'.";
        return Err(ApiError::request(text));
    }
    let names = [
        "glossary_id",
        "glossary_ids",
        "style_id",
        "translation_memory_id",
    ];
    match names.iter().find(|name| !parameters.list(name).is_empty()) {
        Some(name) if name.starts_with("glossary") => Err(ApiError::request(
            "Glossary not found: this server has no glossaries",
        )),
        Some(name) => Err(unsupported(name)),
        None => Ok(()),
    }
}

/// Returns the code of the target language.
pub(super) fn target(parameters: &Parameters) -> Result<&str, ApiError> {
    parameters
        .text("target_lang")
        .ok_or_else(|| unsupported("target_lang"))
}

/// Returns an error in DeepL's words, which names the parameter with the language.
pub(super) fn of_languages(error: ApiError, parameters: &Parameters) -> ApiError {
    let is_source = |code: &str| {
        parameters
            .text("source_lang")
            .is_some_and(|source| source == code)
    };
    match &error {
        ApiError::Language { code } if is_source(code) => unsupported("source_lang"),
        ApiError::Language { .. } | ApiError::Pair { .. } => unsupported("target_lang"),
        _ => error,
    }
}
