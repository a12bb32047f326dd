//! Files: documents in all formats of `translate --in`.

use std::io::Cursor;
use std::sync::Arc;

use axum::body::Bytes;

use super::document::with_lines;
use super::request::TranslateOptions;
use super::work::PLACEHOLDERS;
use crate::document::DocumentTranslator;
use crate::document::format::{Format, FormatOptions};
use crate::serve::http::ApiError;
use crate::serve::models::{Route, Served};
use crate::serve::state::Caller;

/// Translates a document; error messages call it `the file`.
pub(crate) async fn translate_file(
    route: &Route,
    format: Format,
    file: Bytes,
    options: &TranslateOptions,
    caller: &Caller,
) -> Result<Bytes, ApiError> {
    match route {
        Route::Direct(served) => translate(served, format, file, options, caller).await,
        Route::Pivot { first, second } => {
            let middle = translate(first, format, file, options, caller).await?;
            translate(second, format, middle, options, caller).await
        }
    }
}

async fn translate(
    served: &Arc<Served>,
    format: Format,
    file: Bytes,
    options: &TranslateOptions,
    caller: &Caller,
) -> Result<Bytes, ApiError> {
    with_lines(served, options, caller, move |lines, splitter| {
        let name = "the file".to_owned();
        let parts = format.read(name, Cursor::new(file), &FormatOptions::default())?;
        let mut documents = DocumentTranslator::new(lines, splitter, &PLACEHOLDERS);
        let mut translated = Vec::new();
        documents.translate(parts, &mut translated, &mut |_| ())?;
        Ok(translated.into())
    })
    .await
}
