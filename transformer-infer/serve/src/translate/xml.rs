//! XML: tags stay, and the text between them is translated.

use std::sync::Arc;

use super::document::translate_parts_of;
use super::request::{TextTranslation, TranslateOptions};
use super::texts::further;
use crate::http::ApiError;
use crate::models::{Route, Served};
use crate::state::Caller;
use transformer_documents::format::{XmlOptions, xml_parts};

/// Translates texts with the tags of XML, the sentences of all at once.
pub(crate) async fn translate_xml(
    route: &Route,
    texts: Vec<String>,
    xml: &Arc<XmlOptions>,
    options: &TranslateOptions,
    caller: &Caller,
) -> Result<Vec<TextTranslation>, ApiError> {
    match route {
        Route::Direct(served) => translate(served, texts, xml, options, caller).await,
        Route::Pivot { first, second } => {
            let middle = translate(first, texts, xml, options, caller).await?;
            further(middle, async |texts| {
                translate(second, texts, xml, options, caller).await
            })
            .await
        }
    }
}

async fn translate(
    served: &Arc<Served>,
    texts: Vec<String>,
    xml: &Arc<XmlOptions>,
    options: &TranslateOptions,
    caller: &Caller,
) -> Result<Vec<TextTranslation>, ApiError> {
    let xml = xml.clone();
    let read = move |text: String| Ok(xml_parts(&text, &xml));
    translate_parts_of(served, options, caller, texts, read).await
}
