//! [`JsonBody`]: a JSON body with errors that name the fault.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use serde::de::DeserializeOwned;

use crate::http::ApiError;

/// A body of JSON. Other types of bodies are refused: browsers let every page send those.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let media_type = request.headers().get(CONTENT_TYPE);
        let media_type = media_type
            .and_then(|it| it.to_str().ok())
            .unwrap_or_default();
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        if !media_type.eq_ignore_ascii_case("application/json") {
            return Err(ApiError::MediaType);
        }
        let body = Bytes::from_request(request, state).await;
        let body = body.map_err(|_| ApiError::BrokenBody)?;
        let parsed = serde_json::from_slice(&body);
        let parsed = parsed.map_err(|error| ApiError::request(format!("invalid body: {error}")))?;
        Ok(Self(parsed))
    }
}
