//! [`through_pivot`]: plain text through a third language, sentence by sentence.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use super::plain::{PlainTexts, translate_plain};
use super::request::{
    Alternative, SentenceEvent, SentenceTranslation, TextTranslation, TranslateOptions,
};
use crate::attention::Link;
use crate::document::Split;
use crate::serve::http::ApiError;
use crate::serve::models::Served;
use crate::serve::state::Caller;
use crate::translator::Glossary;

/// Translates the sentences into the third language, and each of them further, as a line. Terms are found in the source,
/// and required of the second model. Words belong together if they do through a word of the third language.
pub(super) async fn through_pivot(
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
        glossary: None,
        ..options.clone()
    };
    let sources = options.glossary.is_some().then(|| texts.clone());
    let middle = translate_plain(first, PlainTexts::of(texts), &best, caller, None).await?;
    let sentences = || middle.iter().flat_map(|text| &text.sentences);
    let lines = PlainTexts {
        terms: match options.glossary.as_deref().zip(sources) {
            Some((glossary, sources)) => terms(glossary, &sources, &middle),
            None => Vec::new(),
        },
        texts: sentences().map(|sentence| sentence.text.clone()).collect(),
    };
    let whole_lines = TranslateOptions {
        split: Split::None,
        glossary: None,
        ..options.clone()
    };
    let further = translate_plain(second, lines, &whole_lines, caller, None).await?;
    let mut further = further.into_iter();
    let mut translated = Vec::with_capacity(middle.len());
    for (index, text) in middle.into_iter().enumerate() {
        let sentences = text.sentences.into_iter().zip(further.by_ref());
        let sentences = sentences.map(|(before, after)| joined(before, after));
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

/// Returns the terms that the translation of each sentence must contain.
fn terms(glossary: &Glossary, sources: &[String], middle: &[TextTranslation]) -> Vec<Vec<String>> {
    let texts = sources.iter().zip(middle);
    let sentences = texts.flat_map(|(source, text)| {
        let sentences = text.sentences.iter();
        sentences.map(|sentence| &source[sentence.source.clone()])
    });
    let targets = sentences.map(|sentence| {
        let terms = glossary.terms_in(sentence).into_iter();
        terms.map(|term| term.target.to_owned()).collect()
    });
    targets.collect()
}

/// Makes one sentence of its translation into the third language and the translation of that.
fn joined(before: SentenceTranslation, after: TextTranslation) -> SentenceTranslation {
    let alignment = composed(&before.alignment, &after);
    let warnings = after.sentences.iter().filter_map(|it| it.warning.clone());
    let warnings: Vec<String> = before.warning.into_iter().chain(warnings).collect();
    let (score, alternatives) = match after.sentences.as_slice() {
        [sentence] => (sentence.score, sentence.alternatives.clone()),
        _ => (None, Vec::<Alternative>::new()),
    };
    SentenceTranslation {
        source: before.source,
        text: after.text,
        score,
        alternatives,
        alignment,
        warning: (!warnings.is_empty()).then(|| warnings.join("; ")),
        ..SentenceTranslation::default()
    }
}

/// Returns the words of source and translation that belong to the same word of the third language.
fn composed(before: &[Link], after: &TextTranslation) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    for first in before {
        for sentence in &after.sentences {
            for second in &sentence.alignment {
                if first.tgt.start >= second.src.end || second.src.start >= first.tgt.end {
                    continue;
                }
                let start = sentence.target.start;
                let link = Link {
                    src: first.src.clone(),
                    tgt: start + second.tgt.start..start + second.tgt.end,
                };
                if !links.contains(&link) {
                    links.push(link);
                }
            }
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(src: std::ops::Range<usize>, tgt: std::ops::Range<usize>) -> Link {
        Link { src, tgt }
    }

    #[test]
    fn words_belong_together_through_a_word_of_the_third_language() {
        // "der rote Hund" -> "the red dog" -> "le chien rouge", the last in two parts.
        let before = [link(0..3, 0..3), link(4..8, 4..7), link(9..13, 8..11)];
        let part = |target, alignment: &[Link]| SentenceTranslation {
            target,
            alignment: alignment.to_vec(),
            ..SentenceTranslation::default()
        };
        let after = TextTranslation {
            sentences: vec![
                part(0..2, &[link(0..3, 0..2)]),
                part(3..14, &[link(8..11, 0..5), link(4..7, 6..11)]),
            ],
            ..TextTranslation::default()
        };
        let expected = [link(0..3, 0..2), link(4..8, 9..14), link(9..13, 3..8)];
        assert_eq!(composed(&before, &after), expected);
    }
}
