//! [`download`]: a translated file as a reply.

use std::io::ErrorKind;
use std::path::Path;

use axum::http::header::{
    CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use tokio::task::spawn_blocking;

use crate::http::{ApiError, doubtful_headers};
use transformer_documents::Doubtful;

/// Replies with a file, which browsers save and do not show: a page among the files must not act for this server.
/// A header says how many translations are doubtful.
pub(crate) async fn download(
    path: &Path,
    name: &str,
    doubtful: Doubtful,
) -> Result<Response, ApiError> {
    let path = path.to_owned();
    let read = spawn_blocking(move || std::fs::read(path)).await;
    let bytes = match read {
        Ok(Ok(bytes)) => bytes,
        // A program that cleans the temporary folder was faster.
        Ok(Err(error)) if error.kind() == ErrorKind::NotFound => return Err(ApiError::NotFound),
        _ => return Err(ApiError::Internal),
    };
    let headers = [
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{name}\""),
        ),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (
            CONTENT_SECURITY_POLICY,
            "sandbox; default-src 'none'".to_owned(),
        ),
    ];
    Ok((headers, doubtful_headers([doubtful]), bytes).into_response())
}
