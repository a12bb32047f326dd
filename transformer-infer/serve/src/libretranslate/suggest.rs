//! `POST /suggest`: suggestions of better translations are not collected.

use axum::Json;
use axum::http::StatusCode;

use crate::http::ErrorBody;

/// Refuses a suggestion, as LibreTranslate does where they are disabled.
#[utoipa::path(
    post,
    path = "/suggest",
    tag = "LibreTranslate",
    responses((status = 403, description = "Always", body = ErrorBody))
)]
pub(super) async fn suggest() -> (StatusCode, Json<ErrorBody>) {
    let error = "Suggestions are disabled on this server.".to_owned();
    (StatusCode::FORBIDDEN, Json(ErrorBody { error }))
}
