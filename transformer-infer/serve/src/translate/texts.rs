//! [`translate_texts`]: the translation function of all interfaces; HTML and XML: tags stay, and the text between them is
//! translated.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;
use transformer_core::text::one_line;
use transformer_documents::format::{HtmlOptions, XmlOptions, html_parts, xml_parts};
use transformer_documents::{Doubtful, Part, ReadError};
use transformer_translate::Glossary;

use super::document::translate_parts_of;
use super::pivot::through_pivot;
use super::plain::{PlainTexts, translate_plain};
use super::request::{SentenceEvent, TextFormat, TextTranslation, TranslateOptions};
use crate::http::ApiError;
use crate::models::{Choice, Route};
use crate::state::{Caller, Shared};

/// Checks the number and the length of texts, each of which is translated into some languages.
pub(crate) fn check_texts<T: AsRef<str>>(
    shared: &Shared,
    texts: &[T],
    n_targets: usize,
    caller: &Caller,
) -> Result<(), ApiError> {
    // Without texts, the languages count.
    let n_texts = texts.len().max((n_targets > 1).into()) * n_targets;
    let limit = shared.options.limits.max_texts;
    if n_texts > limit {
        return Err(ApiError::TooManyTexts { n_texts, limit });
    }
    let n_chars = texts.iter().map(|text| text.as_ref().chars().count());
    let n_chars = n_chars.sum::<usize>() * n_targets;
    let limit = caller.max_chars;
    if n_chars > limit {
        return Err(ApiError::TooLong { n_chars, limit });
    }
    shared.metrics.chars.inc_by(n_chars as u64);
    Ok(())
}

/// Checks the options of a translation by the models that are chosen, before they are loaded.
pub(crate) fn check_options(
    format: TextFormat,
    options: &TranslateOptions,
    has_attention: bool,
    choices: &[Choice],
) -> Result<(), ApiError> {
    let is_pivot = choices.len() > 1;
    let problem = match format {
        TextFormat::Text if is_pivot && has_attention => {
            "attention is not available through a third language; omit `attention`, or name a `model`"
        }
        TextFormat::Html if options.n_best > 1 || options.alignments || has_attention => {
            "alternatives, alignments and attention are only for plain text; omit them for HTML"
        }
        TextFormat::Html if is_pivot && options.glossary.is_some() => {
            "terms in HTML and XML are not available through a third language; omit `terms` or the glossary, or translate plain text"
        }
        _ => {
            for Choice { model, .. } in choices {
                options.search(&model.facts.search, options.n_best)?;
            }
            return Ok(());
        }
    };
    Err(ApiError::request(problem))
}

/// Translates texts that were [checked](check_texts), and returns one translation for each, in the same order. A
/// translation does not depend on other requests. Each sentence of plain text is also sent to `events` once it is
/// translated. Dropping the future cancels it.
pub(crate) async fn translate_texts(
    route: &Route,
    texts: Vec<String>,
    format: TextFormat,
    options: &TranslateOptions,
    caller: &Caller,
    events: Option<&UnboundedSender<SentenceEvent>>,
) -> Result<Vec<TextTranslation>, ApiError> {
    let Route { first, second } = route;
    match (format, second) {
        (TextFormat::Text, None) => {
            let texts = PlainTexts::of(texts);
            translate_plain(first, texts, options, caller, events).await
        }
        (TextFormat::Text, Some(second)) => {
            through_pivot(first, second, texts, options, caller, events).await
        }
        (TextFormat::Html, _) => {
            let name = || "the text".to_owned();
            let read = move |text| html_parts(name(), Cursor::new(text), HtmlOptions::default());
            translate(route, texts, options, caller, read).await
        }
    }
}

pub(crate) fn glossary(
    terms: &BTreeMap<String, String>,
) -> Result<Option<Arc<Glossary>>, ApiError> {
    if terms.is_empty() {
        return Ok(None);
    }
    let pairs = terms
        .iter()
        .map(|(source, target)| (source.as_str(), target.as_str()));
    let glossary = Glossary::from_pairs("`terms`", pairs);
    let glossary = glossary.map_err(|error| ApiError::request(one_line(&error)))?;
    Ok(Some(Arc::new(glossary)))
}

/// Returns the translation of a text that is a term of a glossary: that of the term, in the same spaces.
pub(crate) fn of_term(glossary: &Glossary, text: &str) -> Option<String> {
    let whole = text.trim();
    match &glossary.terms_in(whole)[..] {
        [term] if term.range == (0..whole.len()) => Some(text.replacen(whole, term.target, 1)),
        _ => None,
    }
}

pub(crate) async fn translate_xml(
    route: &Route,
    texts: Vec<String>,
    xml: &Arc<XmlOptions>,
    options: &TranslateOptions,
    caller: &Caller,
) -> Result<Vec<TextTranslation>, ApiError> {
    let xml = xml.clone();
    let read = move |text: String| Ok(xml_parts(&text, &xml));
    translate(route, texts, options, caller, read).await
}

/// Translates texts by each model of a route. `read` returns the parts of a text.
async fn translate(
    route: &Route,
    mut texts: Vec<String>,
    options: &TranslateOptions,
    caller: &Caller,
    read: impl Fn(String) -> Result<Vec<Part>, ReadError> + Clone + Send + 'static,
) -> Result<Vec<TextTranslation>, ApiError> {
    let mut all = Doubtful::default();
    for served in route.models() {
        let doubtful;
        (texts, doubtful) =
            translate_parts_of(served, options, caller, texts, read.clone()).await?;
        all = doubtful.and(all);
    }
    let mut texts: Vec<TextTranslation> = texts.into_iter().map(TextTranslation::whole).collect();
    if let Some(first) = texts.first_mut() {
        first.doubtful = all;
    }
    Ok(texts)
}
