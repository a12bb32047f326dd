//! [`answer`]: translations of texts in a given or detected language.

use std::collections::BTreeMap;

use super::asked::{Answer, Asked, AskedFormat};
use super::sources::{Source, sources};
use crate::http::ApiError;
use crate::models::{Models, Selection};
use crate::state::{Caller, Shared};
use crate::translate::{
    TextFormat, TextTranslation, TranslateOptions, check_texts, translate_texts_with, translate_xml,
};
use transformer_documents::Doubtful;

/// Translates texts, and returns an answer for each, in the same order.
///
/// A text that is already in the target language, or without a detectable language, is returned unchanged.
pub(crate) async fn answer(
    shared: &Shared,
    caller: &Caller,
    asked: &Asked<'_>,
) -> Result<Vec<Answer>, ApiError> {
    let models = shared.models()?;
    check_texts(shared, asked.texts, caller)?;
    let sources = sources(&models, asked)?;
    let target = models.language(asked.target)?.as_str().to_owned();
    let copy = |(source, text): (&Source, &String)| Answer {
        text: text.clone(),
        alternatives: Vec::new(),
        source: source.code.clone(),
        confidence: source.confidence,
        doubtful: Doubtful::default(),
    };
    let mut answers: Vec<Answer> = sources.iter().zip(asked.texts).map(copy).collect();
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, source) in sources.iter().enumerate() {
        if source.is_translatable && source.code != target {
            groups.entry(source.code.as_str()).or_default().push(index);
        }
    }
    for (source, indices) in groups {
        let texts = indices
            .iter()
            .map(|index| asked.texts[*index].clone())
            .collect();
        let translated = translate(&models, caller, asked, (source, &target), texts).await?;
        for (index, text) in indices.into_iter().zip(translated) {
            answers[index].alternatives = alternatives(&text, asked.n_best);
            answers[index].text = text.text;
            answers[index].doubtful = text.doubtful;
        }
    }
    Ok(answers)
}

/// Translates texts of one language.
async fn translate(
    models: &Models,
    caller: &Caller,
    asked: &Asked<'_>,
    (source, target): (&str, &str),
    texts: Vec<String>,
) -> Result<Vec<TextTranslation>, ApiError> {
    let route = models.route(Selection {
        source: Some(source),
        target: Some(target),
        ..Selection::default()
    })?;
    let mut options = TranslateOptions {
        split: asked.split,
        ..TranslateOptions::default()
    };
    let format = match &asked.format {
        AskedFormat::Text => {
            options.n_best = asked.n_best;
            TextFormat::Text
        }
        AskedFormat::Html => TextFormat::Html,
        AskedFormat::Xml(xml) => {
            return translate_xml(&route, texts, xml, &options, caller).await;
        }
    };
    translate_texts_with(&route, texts, format, &options, caller, None).await
}

/// Returns the next best translations of a text, without duplicates.
fn alternatives(text: &TextTranslation, n_best: usize) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for alternative in (1..n_best).map_while(|n| text.alternative(n)) {
        if alternative != text.text && !found.contains(&alternative) {
            found.push(alternative);
        }
    }
    found
}
