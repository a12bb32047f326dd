//! [`answer`]: translations of texts in a given or detected language; [`Asked`] and [`Answer`]: requests of other
//! servers' interfaces, and their results; [`sources`]: the source language of each text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use transformer_core::text::LanguageCode;
use transformer_documents::format::XmlOptions;
use transformer_documents::{Doubtful, Split};
use transformer_translate::Glossary;

use super::detection::{Detection, LanguageDetector};
use crate::http::ApiError;
use crate::models::{Models, Selection};
use crate::state::{Caller, Shared};
use crate::translate::{
    TextFormat, TextTranslation, TranslateOptions, check_options, check_texts, of_term,
    translate_texts, translate_xml,
};

/// Translates texts, and returns an answer for each, in the same order.
///
/// A text that is already in the target language, or without a detectable language, is returned unchanged.
pub(crate) async fn answer(
    shared: &Shared,
    caller: &Caller,
    asked: &Asked<'_>,
) -> Result<Vec<Answer>, ApiError> {
    let mut answers = answer_each(shared, caller, asked, &[asked.target]).await?;
    answers.pop().ok_or(ApiError::Internal)
}

/// Translates texts into each of some languages, of which that in `asked` is one. The source language is detected once.
pub(crate) async fn answer_each(
    shared: &Shared,
    caller: &Caller,
    asked: &Asked<'_>,
    targets: &[&str],
) -> Result<Vec<Vec<Answer>>, ApiError> {
    let models = shared.models()?;
    check_texts(shared, asked.texts, targets.len(), caller)?;
    let sources = sources(&models, asked)?;
    let targets = targets.iter().map(|target| models.language(target));
    let targets: Vec<&LanguageCode> = targets.collect::<Result<_, _>>()?;
    let mut all = Vec::new();
    for target in targets {
        all.push(into(&models, caller, asked, &sources, target.as_str()).await?);
    }
    Ok(all)
}

async fn into(
    models: &Models,
    caller: &Caller,
    asked: &Asked<'_>,
    sources: &[Source],
    target: &str,
) -> Result<Vec<Answer>, ApiError> {
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
        if source.code == target {
            continue;
        }
        // With tags, the sentences are documents'.
        let is_plain = asked.format == AskedFormat::Text;
        let glossary = asked.glossary.as_deref().filter(|_| is_plain);
        if let Some(text) = glossary.and_then(|it| of_term(it, &asked.texts[index])) {
            answers[index].text = text;
        } else if source.is_translatable {
            groups.entry(source.code.as_str()).or_default().push(index);
        }
    }
    for (source, indices) in groups {
        let texts = indices
            .iter()
            .map(|index| asked.texts[*index].clone())
            .collect();
        let translated = translate(models, caller, asked, (source, target), texts).await?;
        for (index, text) in indices.into_iter().zip(translated) {
            answers[index].alternatives = text.alternatives(asked.n_alternatives);
            answers[index].text = text.text;
            answers[index].doubtful = text.doubtful;
        }
    }
    Ok(answers)
}

async fn translate(
    models: &Models,
    caller: &Caller,
    asked: &Asked<'_>,
    (source, target): (&str, &str),
    texts: Vec<String>,
) -> Result<Vec<TextTranslation>, ApiError> {
    let selection = Selection {
        source: Some(source),
        target: Some(target),
        ..Selection::default()
    };
    let mut options = TranslateOptions {
        split: asked.split,
        glossary: asked.glossary.clone(),
        has_terms_alone: true,
        ..TranslateOptions::default()
    };
    let choices = models.choose(selection)?;
    if options.glossary.is_some() && asked.format != AskedFormat::Text {
        check_options(TextFormat::Html, &options, false, &choices)?;
    }
    let route = models.pool.route(choices, false).await?;
    let format = match &asked.format {
        AskedFormat::Text => {
            options.n_best = 1 + asked.n_alternatives;
            TextFormat::Text
        }
        AskedFormat::Html => TextFormat::Html,
        AskedFormat::Xml(xml) => {
            return translate_xml(&route, texts, xml, &options, caller).await;
        }
    };
    translate_texts(&route, texts, format, &options, caller, None).await
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Asked<'a> {
    pub(crate) texts: &'a [String],
    /// The code of the source language; detected if absent.
    pub(crate) source: Option<&'a str>,
    pub(crate) target: &'a str,
    pub(crate) format: AskedFormat,
    pub(crate) split: Split,
    /// Number of further translations of each text; for plain text only.
    pub(crate) n_alternatives: usize,
    /// The terms that translations must contain, if any; then the source language is given.
    pub(crate) glossary: Option<Arc<Glossary>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum AskedFormat {
    #[default]
    Text,
    Html,
    Xml(Arc<XmlOptions>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    /// The next best, all different.
    pub(crate) alternatives: Vec<String>,
    pub(crate) source: String,
    /// The confidence of the source language, from 0 to 1.
    pub(crate) confidence: f64,
    pub(crate) doubtful: Doubtful,
}

/// Returns the codes of the source languages, each with the codes of its targets.
pub(crate) fn pairs(models: &Models) -> BTreeMap<&str, Vec<&str>> {
    let targets = models.targets.iter();
    targets
        .map(|(source, targets)| {
            let targets = targets.iter().map(LanguageCode::as_str);
            (source.as_str(), targets.collect())
        })
        .collect()
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Source {
    pub(super) code: String,
    pub(super) confidence: f64,
    /// True if the text has letters of a served language.
    pub(super) is_translatable: bool,
}

/// Returns the language of each text: the given one, or the detected one.
pub(super) fn sources(models: &Models, asked: &Asked<'_>) -> Result<Vec<Source>, ApiError> {
    if models.targets.is_empty() {
        // No language can be named or detected; the error says what to do.
        models.choose(Selection {
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
    let with_target = models.targets.iter().filter(|(_, all)| is_target(all));
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

/// Maximum number of bytes of a text without its tags that are examined.
const MAX_BYTES: usize = 1 << 14;

fn without_tags(text: &str) -> String {
    let mut rest = text;
    let mut visible = String::new();
    while visible.len() < MAX_BYTES
        && let Some(at) = rest.find('<')
    {
        visible.push_str(&rest[..at]);
        visible.push(' ');
        rest = &rest[at..];
        let Some(len) = len_of_tag(rest) else { break };
        rest = &rest[len..];
    }
    visible.push_str(rest);
    visible.truncate(visible.floor_char_boundary(MAX_BYTES));
    visible
}

/// Returns the length of a tag, in bytes, with the style, script or comment that it begins; 1 for a `<` without a tag.
/// `None` if no tag ends any more.
fn len_of_tag(text: &str) -> Option<usize> {
    if !text[1..].starts_with(|c: char| c.is_alphabetic() || matches!(c, '/' | '!' | '?')) {
        return Some(1);
    }
    let end = text.find('>')?;
    let tag = text[1..end].to_ascii_lowercase();
    let name = tag.split(|c: char| c.is_whitespace() || c == '/').next();
    let end_of_content = match name.unwrap_or_default() {
        "style" if !tag.ends_with('/') => "</style",
        "script" if !tag.ends_with('/') => "</script",
        name if name.starts_with("!--") => "-->",
        _ => return Some(end + 1),
    };
    let mut parts = text.as_bytes().windows(end_of_content.len());
    let end = parts.position(|it| it.eq_ignore_ascii_case(end_of_content.as_bytes()));
    Some(end.unwrap_or(text.len()))
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

    #[test]
    fn styles_scripts_and_comments_are_not_looked_at() {
        let english = "The colors of the page and of all of its parts. ".repeat(400);
        let german = "<p>Wo ist denn hier der nächste Bahnhof, bitte?</p>";
        let detector = LanguageDetector::new(["de", "en"]);
        for hidden in [
            format!("<STYLE media=\"screen\">{english}</Style>"),
            format!("<script>if (1 > 0) {{ {english} }}</script>"),
            format!("<!-- <br/> {english} -->"),
        ] {
            let found = detector.detect(&without_tags(&format!("{hidden}{german}")));
            assert_eq!(found.map(|it| it.code).as_deref(), Some("de"), "{hidden}");
        }
    }

    #[test]
    fn only_the_element_of_a_style_hides_text() {
        for text in [
            "<style/>dog",
            "<styles>dog</styles>",
            "<b dog",
            "<!---->dog",
        ] {
            assert!(without_tags(text).contains("dog"), "{text}");
        }
    }
}
