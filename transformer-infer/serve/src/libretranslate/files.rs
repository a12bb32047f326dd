//! `POST /translate_file`, and the download of translated files.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::HOST;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{languages, missing};
use crate::files::{FileState, Upload, UploadOptions, download};
use crate::http::{ApiError, ErrorBody, doubtful_headers};
use crate::parameters::{
    Admitted, Parameters, PathPart, Repeated, UploadedFile, list, no_file, text,
};
use crate::state::Shared;

/// A file to translate.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = libretranslate::FileRequest)]
pub(super) struct FileRequest {
    /// The file. The extension of its name determines the format.
    #[serde(default, deserialize_with = "no_file")]
    #[schema(required, value_type = String, content_media_type = "application/octet-stream")]
    file: Option<UploadedFile>,
    /// The code of the source language, or `auto`.
    #[serde(default, deserialize_with = "text")]
    #[schema(required, nullable = false)]
    source: Option<String>,
    /// The code of the target language.
    #[serde(default, deserialize_with = "text")]
    #[schema(required, nullable = false)]
    target: Option<String>,
    /// TSV and CSV, which LibreTranslate does not translate: the columns to translate, by their names in the first row or
    /// by their numbers from 1, separated by commas.
    #[serde(default, deserialize_with = "list")]
    columns: Vec<String>,
    /// The key, if the server requires one.
    #[serde(default, rename = "api_key", deserialize_with = "text")]
    _api_key: Option<String>,
}

impl Parameters for FileRequest {
    const REPEATED: Repeated = Repeated::First;

    fn set_file(&mut self, file: UploadedFile) {
        self.file = Some(file);
    }
}

/// The address of the translated file.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = libretranslate::FileReply)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileReply {
    /// The address.
    translated_file_url: String,
}

/// Translates a file, and returns the address at which it can be fetched for half an hour.
#[utoipa::path(
    post,
    path = "/translate_file",
    request_body(content = FileRequest, content_type = "multipart/form-data"),
    responses(
        (status = 200, description = "The address of the translated file", body = FileReply,
            headers(("x-doubtful-translations" = Option<String>, description = "Number and faults of doubtful translations"))),
        (status = 400, description = "A parameter is missing or not valid", body = ErrorBody),
        (status = 403, description = "The API key is not valid", body = ErrorBody),
        (status = 429, description = "Too many requests; see Retry-After", body = ErrorBody),
    )
)]
pub(super) async fn translate_file(
    headers: HeaderMap,
    Admitted(shared, caller, parameters): Admitted<FileRequest>,
) -> Result<(HeaderMap, Json<FileReply>), ApiError> {
    let file = parameters.file.ok_or_else(|| missing("file"))?;
    if file.name.is_empty() {
        return Err(ApiError::request("Invalid request: empty file"));
    }
    let (source, target) = languages(parameters.source.as_ref(), parameters.target.as_ref())?;
    let options = UploadOptions {
        columns: parameters.columns,
        ..UploadOptions::default()
    };
    let upload = Upload::new(&shared, &caller, &file, source, target, options).await?;
    let (name, n_chars) = (upload.name.clone(), upload.n_chars);
    let accepted = shared.accept_file(&caller, &name)?;
    let translated = upload.translate(&caller, &accepted).await?;
    let doubtful = doubtful_headers([translated.doubtful]);
    accepted.finish(translated, n_chars).await?;
    let (origin, id) = (origin(&headers), &accepted.id);
    let reply = FileReply {
        translated_file_url: format!("{origin}/download_file/{id}.{name}"),
    };
    Ok((doubtful, Json(reply)))
}

fn origin(headers: &HeaderMap) -> String {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    // A forged header affects only its sender.
    let scheme = match header("x-forwarded-proto") {
        Some("https") => "https",
        _ => "http",
    };
    match header(HOST.as_str()) {
        Some(host) => format!("{scheme}://{host}{}", prefix(header("x-forwarded-prefix"))),
        None => String::new(),
    }
}

/// Returns the folder into which a proxy has put the server, without a slash at its end.
fn prefix(header: Option<&str>) -> &str {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-._~".contains(c);
    let prefix = header.unwrap_or_default().trim_end_matches('/');
    match prefix.starts_with('/') && !prefix.starts_with("//") && prefix.chars().all(is_plain) {
        true => prefix,
        false => "",
    }
}

/// Returns a translated file.
#[utoipa::path(
    get,
    path = "/download_file/{file}",
    params(("file" = String, Path, description = "The last part of `translatedFileUrl`")),
    responses(
        (status = 200, description = "The file", content_type = "application/octet-stream", body = Vec<u8>,
            headers(("x-doubtful-translations" = Option<String>, description = "Number and faults of doubtful translations"))),
        (status = 404, description = "The file does not exist", body = ErrorBody),
    )
)]
pub(super) async fn download_file(
    State(shared): State<Arc<Shared>>,
    PathPart(file): PathPart,
) -> Result<Response, ApiError> {
    let id = file.split('.').next().unwrap_or_default();
    match shared.files.state(id, None) {
        Some(FileState::Ready {
            name,
            path,
            doubtful,
            ..
        }) => download(&path, &name, doubtful).await,
        _ => Err(ApiError::NotFound),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_plain_path() {
        assert_eq!(prefix(Some("/translate/v1/")), "/translate/v1");
        for wrong in ["", "/", "a", "//evil.example", "/a b", "/\"x"] {
            assert_eq!(prefix(Some(wrong)), "", "{wrong}");
        }
        assert_eq!(prefix(None), "");
    }
}
