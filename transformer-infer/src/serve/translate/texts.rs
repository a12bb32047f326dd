//! [`translate_texts`]: the function by which every interface translates.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use super::html::translate_html;
use super::plain::translate_plain;
use super::request::{
    Alternative, SentenceEvent, SentenceTranslation, TextFormat, TextTranslation, TranslateOptions,
};
use crate::document::Split;
use crate::one_line;
use crate::serve::http::ApiError;
use crate::serve::models::{Route, Served};
use crate::serve::state::{Caller, Shared};
use crate::translator::Glossary;

/// Checks the number and the length of texts.
pub(crate) fn check_texts<T: AsRef<str>>(
    shared: &Shared,
    texts: &[T],
    caller: &Caller,
) -> Result<(), ApiError> {
    let (n_texts, limit) = (texts.len(), shared.options.limits.max_texts);
    if n_texts > limit {
        return Err(ApiError::TooManyTexts { n_texts, limit });
    }
    let n_chars = texts.iter().map(|text| text.as_ref().chars().count()).sum();
    let limit = caller.max_chars;
    if n_chars > limit {
        return Err(ApiError::TooLong { n_chars, limit });
    }
    shared.metrics.chars.inc_by(n_chars as u64);
    Ok(())
}

/// Translates texts, and returns one translation for each, in the same order. A translation does not depend on what else
/// the server does. Dropping the future cancels it.
pub(crate) async fn translate_texts(
    shared: &Shared,
    route: &Route,
    texts: Vec<String>,
    format: TextFormat,
    options: &TranslateOptions,
    caller: &Caller,
) -> Result<Vec<TextTranslation>, ApiError> {
    check_texts(shared, &texts, caller)?;
    translate_texts_with(route, texts, format, options, caller, None).await
}

/// Like [`translate_texts`], for texts that were checked; sends each sentence of plain text to `events` when it is
/// translated.
pub(crate) async fn translate_texts_with(
    route: &Route,
    texts: Vec<String>,
    format: TextFormat,
    options: &TranslateOptions,
    caller: &Caller,
    events: Option<&UnboundedSender<SentenceEvent>>,
) -> Result<Vec<TextTranslation>, ApiError> {
    if options.glossary.is_some() && matches!(route, Route::Pivot { .. }) {
        return Err(ApiError::request(
            "terms need a model between their two languages, and this is a translation through a third one; leave out \
             `terms`",
        ));
    }
    match (format, route) {
        (TextFormat::Text, Route::Direct(served)) => {
            translate_plain(served, texts, options, caller, events).await
        }
        (TextFormat::Text, Route::Pivot { .. }) if options.alignments => Err(ApiError::request(
            "words are aligned by one model only, and this is a translation through a third language; leave out \
             `alignments`",
        )),
        (TextFormat::Text, Route::Pivot { first, second }) => {
            through_pivot(first, second, texts, options, caller, events).await
        }
        (TextFormat::Html, _) if options.n_best > 1 || options.alignments => {
            Err(ApiError::request(
                "alternatives and alignments are for plain text; leave them out for HTML",
            ))
        }
        (TextFormat::Html, Route::Direct(served)) => {
            let translated = translate_html(served, texts, options, caller).await?;
            Ok(translated.into_iter().map(whole).collect())
        }
        (TextFormat::Html, Route::Pivot { first, second }) => {
            let middle = translate_html(first, texts, options, caller).await?;
            let translated = translate_html(second, middle, options, caller).await?;
            Ok(translated.into_iter().map(whole).collect())
        }
    }
}

/// Translates the sentences into the third language, and each of them further, as a line.
async fn through_pivot(
    first: &Arc<Served>,
    second: &Arc<Served>,
    texts: Vec<String>,
    options: &TranslateOptions,
    caller: &Caller,
    events: Option<&UnboundedSender<SentenceEvent>>,
) -> Result<Vec<TextTranslation>, ApiError> {
    let best = TranslateOptions {
        n_best: 1,
        beam_size: None,
        ..options.clone()
    };
    let middle = translate_plain(first, texts, &best, caller, None).await?;
    let lines = middle.iter().flat_map(|text| &text.sentences);
    let lines: Vec<String> = lines.map(|sentence| sentence.text.clone()).collect();
    let whole_lines = TranslateOptions {
        split: Split::None,
        ..options.clone()
    };
    let further = translate_plain(second, lines, &whole_lines, caller, None).await?;
    let mut further = further.into_iter();
    let mut translated = Vec::with_capacity(middle.len());
    for (index, text) in middle.into_iter().enumerate() {
        let sentences = text.sentences.into_iter().zip(further.by_ref());
        let sentences = sentences.map(|(before, after)| joined(before, &after));
        let sentences: Vec<SentenceTranslation> = sentences.collect();
        if let Some(events) = events {
            for (sentence, translation) in sentences.iter().enumerate() {
                let _ = events.send(SentenceEvent {
                    text: index,
                    sentence,
                    translation: translation.clone(),
                });
            }
        }
        translated.push(TextTranslation::join(sentences, text.gaps));
    }
    Ok(translated)
}

/// Makes one sentence of its translation into the third language and the translation of that.
fn joined(before: SentenceTranslation, after: &TextTranslation) -> SentenceTranslation {
    let warnings = after.sentences.iter().filter_map(|it| it.warning.clone());
    let warnings: Vec<String> = before.warning.into_iter().chain(warnings).collect();
    let alternatives = match after.sentences.as_slice() {
        [sentence] => sentence.alternatives.clone(),
        _ => Vec::<Alternative>::new(),
    };
    let score = match after.sentences.as_slice() {
        [sentence] => sentence.score,
        _ => None,
    };
    SentenceTranslation {
        source: before.source,
        text: after.text.clone(),
        score,
        alternatives,
        warning: (!warnings.is_empty()).then(|| warnings.join("; ")),
        ..SentenceTranslation::default()
    }
}

fn whole(text: String) -> TextTranslation {
    TextTranslation {
        text,
        ..TextTranslation::default()
    }
}

/// Makes a glossary of the terms of a request.
pub(crate) fn glossary(
    terms: &BTreeMap<String, String>,
) -> Result<Option<Arc<Glossary>>, ApiError> {
    if terms.is_empty() {
        return Ok(None);
    }
    let mut file = String::new();
    for (source, target) in terms {
        if [source, target]
            .iter()
            .any(|term| term.contains(['\t', '\n', '\r']))
        {
            return Err(ApiError::request(
                "a term has a tab or a line end; write it with single spaces",
            ));
        }
        // With the space, a term may begin with `#`.
        file.push_str(&format!(" {source}\t{target}\n"));
    }
    let glossary = Glossary::from_reader("`terms`", file.as_bytes());
    let glossary = glossary.map_err(|error| ApiError::request(one_line(&error)))?;
    Ok(Some(Arc::new(glossary)))
}
