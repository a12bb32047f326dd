//! HTML: tags stay, and the text between them is translated.

use std::io::Cursor;
use std::sync::Arc;

use super::document::translate_parts_of;
use super::request::{TextTranslation, TranslateOptions};
use crate::http::ApiError;
use crate::models::Served;
use crate::state::Caller;
use transformer_documents::format::{HtmlOptions, html_parts};

/// Translates fragments or pages of HTML, the sentences of all at once.
pub(super) async fn translate_html(
    served: &Arc<Served>,
    texts: Vec<String>,
    options: &TranslateOptions,
    caller: &Caller,
) -> Result<Vec<TextTranslation>, ApiError> {
    translate_parts_of(served, options, caller, texts, |text| {
        let name = "the text".to_owned();
        html_parts(name, Cursor::new(text), HtmlOptions::default())
    })
    .await
}
