//! [`sources`]: the source language of each text of a request.

use std::borrow::Cow;

use super::asked::{Asked, AskedFormat};
use super::detection::{Detection, LanguageDetector};
use crate::http::ApiError;
use crate::models::{Models, Selection};
use transformer_core::text::LanguageCode;

/// The language of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Source {
    /// The code, as in the model.
    pub(super) code: String,
    /// The confidence, from 0 to 1.
    pub(super) confidence: f64,
    /// True if the text has letters of a served language.
    pub(super) is_translatable: bool,
}

/// Returns the language of each text: the given one, or the detected one.
pub(super) fn sources(models: &Models, asked: &Asked<'_>) -> Result<Vec<Source>, ApiError> {
    if models.targets().is_empty() {
        // No language can be named or detected; the error says what to do.
        models.route(Selection {
            source: asked.source,
            target: Some(asked.target),
            ..Selection::default()
        })?;
    }
    let Some(code) = asked.source else {
        return detected(models, asked);
    };
    let source = Source {
        code: models.language(code)?.as_str().to_owned(),
        confidence: 1.0,
        is_translatable: true,
    };
    Ok(vec![source; asked.texts.len()])
}

/// Returns the detector of all languages of the models.
pub(crate) fn detector(models: &Models) -> LanguageDetector {
    LanguageDetector::new(models.codes())
}

fn detected(models: &Models, asked: &Asked<'_>) -> Result<Vec<Source>, ApiError> {
    let target = models.language(asked.target)?.as_str();
    let texts = asked.texts.iter().map(|text| match asked.format {
        AskedFormat::Text => Cow::Borrowed(text.as_str()),
        AskedFormat::Html | AskedFormat::Xml(_) => Cow::Owned(without_tags(text)),
    });
    let texts: Vec<Cow<'_, str>> = texts.collect();
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    // Both lists are in the order of the codes.
    let is_target = |targets: &[LanguageCode]| {
        let place = targets.binary_search_by(|code| code.as_str().cmp(target));
        place.is_ok()
    };
    let with_target = models.targets().iter().filter(|(_, all)| is_target(all));
    let of_target: Vec<&str> = with_target.map(|(source, _)| source.as_str()).collect();
    let translated = |source: &str| of_target.binary_search(&source).is_ok();
    let found = detector(models).detect_each(&texts);
    let likely = LanguageDetector::new(of_target.iter().copied()).detect_each(&texts);
    let fallback = of_target.first().copied().or_else(|| models.first_source());
    let fallback = fallback.unwrap_or("en");
    // A text to translate is in another language than the target, unless it surely is in that one.
    let choose = |(found, likely): (Option<Detection>, Option<Detection>)| match (found, likely) {
        (Some(found), Some(likely)) if !found.is_sure() && !translated(&found.code) => Some(likely),
        (found, _) => found,
    };
    let source = |detection: Option<Detection>| Source {
        is_translatable: detection.is_some(),
        confidence: detection.as_ref().map_or(0.0, |it| it.confidence),
        code: detection.map_or_else(|| fallback.to_owned(), |it| it.code),
    };
    Ok(found
        .into_iter()
        .zip(likely)
        .map(choose)
        .map(source)
        .collect())
}

/// Maximum number of bytes of a text with tags that are examined.
const MAX_BYTES: usize = 1 << 14;

/// Removes everything that looks like a tag.
pub(crate) fn without_tags(text: &str) -> String {
    let mut rest = &text[..text.floor_char_boundary(MAX_BYTES)];
    let mut visible = String::with_capacity(rest.len());
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        visible.push_str(before);
        let is_tag =
            tag[1..].starts_with(|c: char| c.is_alphabetic() || matches!(c, '/' | '!' | '?'));
        let len = match tag.find('>') {
            Some(end) if is_tag => end + 1,
            _ => 1,
        };
        visible.push(' ');
        rest = &tag[len..];
    }
    visible.push_str(rest);
    visible
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_not_looked_at() {
        let text = "<p class=\"bin ein\">I am <b>a</b> dog, 1 < 2</p>";
        let words: Vec<String> = without_tags(text)
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        assert_eq!(words, ["I", "am", "a", "dog,", "1", "2"]);
    }
}
