//! `POST /v2/document` and its paths: the upload, the status, and the download of a document.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::languages::Usage;
use super::request::{Common, DeeplError};
use crate::files::{FileState, Upload, UploadOptions, download};
use crate::http::{ApiError, doubtful_headers};
use crate::parameters::{Admitted, Parameters, PathPart, UploadedFile, list, no_file, text};
use crate::state::{Caller, Shared};

/// A document to translate.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = deepl::DocumentRequest)]
pub(super) struct DocumentRequest {
    /// The file. The extension of its name determines the format.
    #[serde(default, deserialize_with = "no_file")]
    #[schema(required, value_type = String, content_media_type = "application/octet-stream")]
    file: Option<UploadedFile>,
    /// The name of the file, instead of the one in its part's header.
    #[serde(default, deserialize_with = "text")]
    filename: Option<String>,
    /// An extension of the file's format: documents are not converted to another format.
    #[serde(default, deserialize_with = "text")]
    output_format: Option<String>,
    /// TSV and CSV, which DeepL does not translate: the columns to translate, by their names in the first row or by their
    /// numbers from 1, separated by commas.
    #[serde(default, deserialize_with = "list")]
    columns: Vec<String>,
    #[serde(flatten)]
    common: Common,
}

/// A request about an uploaded document.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = deepl::StatusRequest)]
pub(super) struct StatusRequest {
    /// The `document_key` of the reply to the upload.
    #[serde(default, deserialize_with = "text")]
    #[schema(required, nullable = false)]
    document_key: Option<String>,
    /// The key, instead of the one in the header `Authorization`.
    #[serde(default, rename = "auth_key", deserialize_with = "text")]
    _auth_key: Option<String>,
}

impl Parameters for DocumentRequest {
    fn set_file(&mut self, file: UploadedFile) {
        self.file = Some(file);
    }
}

impl Parameters for StatusRequest {}

/// A document that is being translated.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = deepl::DocumentReply)]
pub(super) struct DocumentReply {
    /// Part of the address of the document.
    document_id: String,
    /// The key that is required to access the document.
    document_key: String,
}

/// The progress of a document.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = deepl::DocumentStatus)]
pub(super) struct DocumentStatus {
    document_id: String,
    /// `translating`, `done` or `error`.
    status: &'static str,
    /// Estimated seconds until the caller's waiting sentences are translated, while it is being translated.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds_remaining: Option<u64>,
    /// Number of characters, once it is translated.
    #[serde(skip_serializing_if = "Option::is_none")]
    billed_characters: Option<usize>,
    /// The reason why it could not be translated.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<String>,
}

/// Accepts a document for translation.
#[utoipa::path(
    post,
    path = "/v2/document",
    request_body(content = DocumentRequest, content_type = "multipart/form-data"),
    responses(
        (status = 200, description = "The document is being translated", body = DocumentReply),
        (status = 400, description = "A parameter is missing or not valid", body = DeeplError),
        (status = 403, description = "The API key is missing or not valid", body = DeeplError),
        (status = 429, description = "Too many documents or requests; see Retry-After", body = DeeplError),
    )
)]
pub(super) async fn upload(
    Extension(usage): Extension<Arc<Usage>>,
    Admitted(shared, caller, parameters): Admitted<DocumentRequest>,
) -> Result<Json<DocumentReply>, ApiError> {
    let upload = checked(&shared, &caller, parameters).await?;
    let file = shared.accept_file(&caller, &upload.name)?;
    let reply = DocumentReply {
        document_id: file.id.clone(),
        document_key: file.key.clone(),
    };
    if upload.is_translated() {
        file.fail(&ApiError::request("Source and target language are equal."));
        return Ok(Json(reply));
    }
    tokio::spawn(async move {
        let n_chars = upload.n_chars;
        let stored = match upload.translate(&caller, &file).await {
            Ok(translated) => {
                usage.add(&shared, &caller, n_chars);
                file.finish(translated, n_chars).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = stored {
            file.fail(&error);
        }
    });
    Ok(Json(reply))
}

async fn checked(
    shared: &Shared,
    caller: &Caller,
    parameters: DocumentRequest,
) -> Result<Upload, ApiError> {
    let common = &parameters.common;
    common.check_options()?;
    let missing = || ApiError::request("Parameter 'file' not specified.");
    let mut file = parameters.file.ok_or_else(missing)?;
    file.name = parameters.filename.unwrap_or(file.name);
    let (source, target) = (common.source_lang.as_deref(), common.target()?);
    let glossary = common.glossary(shared, caller).await?;
    let options = UploadOptions {
        glossary,
        columns: parameters.columns,
    };
    let upload = Upload::new(shared, caller, &file, source, target, options).await;
    let upload = upload.map_err(|error| common.of_languages(error))?;
    match parameters.output_format {
        Some(other) if other.parse() != Ok(upload.format) => Err(ApiError::request(
            "documents cannot be converted to another format; omit `output_format`",
        )),
        _ => Ok(upload),
    }
}

/// Returns the progress of a document.
#[utoipa::path(
    post,
    path = "/v2/document/{id}",
    params(("id" = String, Path, description = "`document_id`")),
    request_body(content(
        (StatusRequest = "application/json"),
        (StatusRequest = "application/x-www-form-urlencoded"),
    )),
    responses(
        (status = 200, description = "The status of the document", body = DocumentStatus,
            headers(("x-doubtful-translations" = Option<String>, description = "Number and faults of doubtful translations"))),
        (status = 404, description = "The document does not exist, or its key is not valid", body = DeeplError),
    )
)]
pub(super) async fn status(
    PathPart(document_id): PathPart,
    Admitted(shared, caller, request): Admitted<StatusRequest>,
) -> Result<(HeaderMap, Json<DocumentStatus>), ApiError> {
    let mut headers = HeaderMap::new();
    let mut reply = DocumentStatus {
        document_id,
        status: "translating",
        seconds_remaining: None,
        billed_characters: None,
        error_message: None,
    };
    match state(&shared, &reply.document_id, &request)? {
        FileState::Pending => reply.seconds_remaining = Some(shared.seconds_of_files(&caller)),
        FileState::Ready {
            n_chars, doubtful, ..
        } => {
            headers = doubtful_headers([doubtful]);
            (reply.status, reply.billed_characters) = ("done", Some(n_chars));
        }
        FileState::Failed(reason) => {
            (reply.status, reply.error_message) = ("error", Some(reason));
        }
    }
    Ok((headers, Json(reply)))
}

/// Returns a translated document.
#[utoipa::path(
    post,
    path = "/v2/document/{id}/result",
    params(("id" = String, Path, description = "`document_id`")),
    request_body(content(
        (StatusRequest = "application/json"),
        (StatusRequest = "application/x-www-form-urlencoded"),
    )),
    responses(
        (status = 200, description = "The document", content_type = "application/octet-stream", body = Vec<u8>,
            headers(("x-doubtful-translations" = Option<String>, description = "Number and faults of doubtful translations"))),
        (status = 404, description = "The document does not exist, or its key is not valid", body = DeeplError),
        (status = 503, description = "The document is not translated yet", body = DeeplError),
    )
)]
pub(super) async fn result(
    PathPart(id): PathPart,
    Admitted(shared, _, request): Admitted<StatusRequest>,
) -> Result<Response, ApiError> {
    match state(&shared, &id, &request)? {
        FileState::Ready {
            name,
            path,
            doubtful,
            ..
        } => download(&path, &name, doubtful).await,
        FileState::Pending => {
            let error = DeeplError::new("the document is not translated yet; ask for its status");
            Ok((StatusCode::SERVICE_UNAVAILABLE, Json(error)).into_response())
        }
        FileState::Failed(reason) => Err(ApiError::request(reason)),
    }
}

fn state(shared: &Shared, id: &str, request: &StatusRequest) -> Result<FileState, ApiError> {
    let key = request.document_key.as_deref().unwrap_or_default();
    let state = shared.files.state(id, Some(key));
    state.ok_or(ApiError::NotFound)
}
