//! Files: documents in all formats of `translate --in`.

use std::io::Cursor;
use std::sync::Arc;

use axum::body::Bytes;

use super::document::ServedDocument;
use super::request::TranslateOptions;
use crate::http::ApiError;
use crate::models::{Route, Served};
use crate::state::Caller;
use transformer_documents::Doubtful;
use transformer_documents::format::{Format, FormatOptions};

/// A translated document.
#[derive(Debug)]
pub(crate) struct TranslatedFile {
    pub(crate) bytes: Bytes,
    /// The sentences with doubtful translations.
    pub(crate) doubtful: Doubtful,
}

/// Translates a document; error messages call it `the file`.
pub(crate) async fn translate_file(
    route: &Route,
    (format, read): (Format, FormatOptions),
    file: Bytes,
    options: &TranslateOptions,
    caller: &Caller,
) -> Result<TranslatedFile, ApiError> {
    let mut translated = TranslatedFile {
        bytes: file,
        doubtful: Doubtful::default(),
    };
    for served in route.models() {
        let mut read = read.clone();
        let language = served.languages.tgt.as_ref();
        read.tgt_lang = language.map(|it| it.as_str().to_owned());
        read.is_step = matches!(route, Route::Pivot { .. });
        let format = (format, read);
        let next = translate(served, format, translated.bytes, options, caller).await?;
        translated = TranslatedFile {
            doubtful: next.doubtful.and(translated.doubtful),
            ..next
        };
    }
    Ok(translated)
}

async fn translate(
    served: &Arc<Served>,
    (format, format_options): (Format, FormatOptions),
    file: Bytes,
    options: &TranslateOptions,
    caller: &Caller,
) -> Result<TranslatedFile, ApiError> {
    let mut document = ServedDocument::begin(served, options, caller)?;
    let read = move || {
        let name = "the file".to_owned();
        let mut reader = format.read(name, Cursor::new(file), &format_options)?;
        let window = reader.window()?;
        Ok((reader, window))
    };
    let (mut reader, mut window) = document.read(read).await?;
    let mut translated = Vec::new();
    while !window.is_empty() {
        let texts = document.translate(window).await?;
        let read = move || {
            let mut bytes = Vec::new();
            for text in texts {
                bytes.extend_from_slice(&reader.written(&text)?);
            }
            let window = reader.window()?;
            Ok((reader, window, bytes))
        };
        let bytes;
        (reader, window, bytes) = document.read(read).await?;
        translated.extend(bytes);
    }
    translated.extend(document.read(move || reader.end()).await?);
    Ok(TranslatedFile {
        bytes: translated.into(),
        doubtful: document.doubtful,
    })
}
