//! XML: tags stay, and the text between them is translated.

use std::sync::Arc;

use super::document::with_lines;
use super::request::TranslateOptions;
use super::work::PLACEHOLDERS;
use crate::document::format::{XmlOptions, xml_parts};
use crate::document::{DocumentTranslator, Part};
use crate::serve::http::ApiError;
use crate::serve::models::{Route, Served};
use crate::serve::state::Caller;

/// Translates texts with the tags of XML, the sentences of all at once.
pub(crate) async fn translate_xml(
    route: &Route,
    texts: Vec<String>,
    xml: &Arc<XmlOptions>,
    options: &TranslateOptions,
    caller: &Caller,
) -> Result<Vec<String>, ApiError> {
    match route {
        Route::Direct(served) => translate(served, texts, xml, options, caller).await,
        Route::Pivot { first, second } => {
            let middle = translate(first, texts, xml, options, caller).await?;
            translate(second, middle, xml, options, caller).await
        }
    }
}

async fn translate(
    served: &Arc<Served>,
    texts: Vec<String>,
    xml: &Arc<XmlOptions>,
    options: &TranslateOptions,
    caller: &Caller,
) -> Result<Vec<String>, ApiError> {
    let xml = xml.clone();
    with_lines(served, options, caller, move |lines, splitter| {
        let texts: Vec<Vec<Part>> = texts.iter().map(|text| xml_parts(text, &xml)).collect();
        let n_parts: Vec<usize> = texts.iter().map(Vec::len).collect();
        let mut documents = DocumentTranslator::new(lines, splitter, &PLACEHOLDERS);
        let parts = texts.into_iter().flatten().collect();
        let translated = documents.translate_parts(parts, &mut |_| ())?;
        let mut translated = translated.into_iter();
        let joined = n_parts
            .into_iter()
            .map(|n| translated.by_ref().take(n).collect());
        Ok(joined.collect())
    })
    .await
}
