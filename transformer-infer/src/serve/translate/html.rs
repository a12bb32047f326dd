//! HTML: tags stay, and the text between them is translated.

use std::io::Cursor;
use std::sync::Arc;

use super::document::with_lines;
use super::request::TranslateOptions;
use super::work::PLACEHOLDERS;
use crate::document::format::{HtmlOptions, HtmlReader};
use crate::document::{DocumentTranslator, Part};
use crate::serve::http::ApiError;
use crate::serve::models::Served;
use crate::serve::state::Caller;

/// Translates fragments or pages of HTML, the sentences of all at once.
pub(super) async fn translate_html(
    served: &Arc<Served>,
    texts: Vec<String>,
    options: &TranslateOptions,
    caller: &Caller,
) -> Result<Vec<String>, ApiError> {
    with_lines(served, options, caller, move |lines, splitter| {
        let mut all = Vec::new();
        let mut n_parts = Vec::with_capacity(texts.len());
        for text in texts {
            let name = "the text".to_owned();
            let parts = HtmlReader::new(name, Cursor::new(text), HtmlOptions::default())?;
            let parts: Vec<Part> = parts.collect::<Result<_, _>>()?;
            n_parts.push(parts.len());
            all.extend(parts);
        }
        let mut documents = DocumentTranslator::new(lines, splitter, &PLACEHOLDERS);
        let translated = documents.translate_parts(all, &mut |_| ())?;
        let mut translated = translated.into_iter();
        let joined = n_parts
            .into_iter()
            .map(|n| translated.by_ref().take(n).collect());
        Ok(joined.collect())
    })
    .await
}
