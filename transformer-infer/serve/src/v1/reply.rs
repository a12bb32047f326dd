//! [`TranslateReply`]: the reply of `POST /v1/translate`.

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use transformer_documents::Doubtful;
use utoipa::ToSchema;

use crate::models::Route;
use crate::translate::{SentenceTranslation, TextTranslation};

/// The translations of a request. Ranges are `[start, end]` in Unicode code points.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TranslateReply {
    /// Name of the model, or two names joined by `+` for a translation through a third language.
    pub(crate) model: String,
    /// Code of the source language, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
    /// Code of the target language, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<String>,
    /// One translation for each text, in the same order.
    pub(crate) translations: Vec<TextReply>,
}

/// The translation of a text.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TextReply {
    /// The translation.
    pub(crate) text: String,
    /// Its sentences, in order; absent for HTML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sentences: Option<Vec<SentenceReply>>,
    /// A warning about the translations of HTML, if any: with the first text, for all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) warning: Option<String>,
}

/// The translation of a sentence.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SentenceReply {
    /// Its position in the text of the request.
    #[schema(value_type = [usize; 2])]
    pub(crate) source: [usize; 2],
    /// The position of its translation in the whole translation; absent in events.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<[usize; 2]>)]
    pub(crate) target: Option<[usize; 2]>,
    /// The translation.
    pub(crate) text: String,
    /// The next best translations, if several were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) alternatives: Option<Vec<AlternativeReply>>,
    /// The score by which translations are ranked, if requested: the log-probability divided by the length penalty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) score: Option<f64>,
    /// Aligned words, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) alignment: Option<Vec<WordPair>>,
    /// The reply of `POST /v1/attention` for the sentence, if requested; without copied text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) attention: Option<Box<RawValue>>,
    /// A warning about the translation, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) warning: Option<String>,
}

/// Another translation of a sentence.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AlternativeReply {
    /// The translation.
    pub(crate) text: String,
    /// Its score, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) score: Option<f64>,
}

/// A pair of aligned words: one of the source and one of the translation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WordPair {
    /// The position of the word in the text of the request.
    #[schema(value_type = [usize; 2])]
    pub(crate) source: [usize; 2],
    /// The position of the word in the whole translation; in events, in the translation of the sentence.
    #[schema(value_type = [usize; 2])]
    pub(crate) target: [usize; 2],
}

/// The optional fields of a reply, and the unit of positions.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a field of the interface"
)]
pub(super) struct Fields {
    pub(super) sentences: bool,
    pub(super) alternatives: bool,
    pub(super) scores: bool,
    pub(super) alignments: bool,
    pub(super) attention: bool,
}

impl Fields {
    /// Makes the reply of a whole request; `texts` are those of the request.
    pub(super) fn reply(
        self,
        route: &Route,
        texts: &[String],
        translations: Vec<TextTranslation>,
    ) -> TranslateReply {
        let translations = texts.iter().zip(translations);
        let code =
            |code: Option<&transformer_core::text::LanguageCode>| code.map(ToString::to_string);
        TranslateReply {
            model: route.name(),
            source: code(route.source()),
            target: code(route.target()),
            translations: translations
                .map(|(source, translation)| self.text(source, translation))
                .collect(),
        }
    }

    fn text(self, source: &str, translation: TextTranslation) -> TextReply {
        let TextTranslation {
            text,
            sentences,
            doubtful,
            ..
        } = translation;
        let is_doubtful = sentences.is_empty() && doubtful.n > 0;
        let (src, tgt) = (CodePoints::of(source), CodePoints::of(&text));
        let sentence = |sentence: SentenceTranslation| {
            let start = sentence.target.start;
            let target = Some(tgt.range(&sentence.target));
            SentenceReply {
                target,
                ..self.sentence(&src, &tgt, start, sentence)
            }
        };
        let sentences: Vec<SentenceReply> = sentences.into_iter().map(sentence).collect();
        TextReply {
            sentences: self.sentences.then_some(sentences),
            warning: is_doubtful.then(|| {
                let Doubtful { n, faults, .. } = doubtful;
                format!("doubtful translations of sentences: {n} ({faults})")
            }),
            text,
        }
    }

    /// Makes the reply of one sentence, without its position in the whole translation.
    pub(super) fn event(self, src: &CodePoints, sentence: SentenceTranslation) -> SentenceReply {
        let tgt = CodePoints::of(&sentence.text);
        self.sentence(src, &tgt, 0, sentence)
    }

    /// Returns the reply of one sentence. `start` is the byte at which the sentence begins in the text of `tgt`.
    fn sentence(
        self,
        src: &CodePoints,
        tgt: &CodePoints,
        start: usize,
        sentence: SentenceTranslation,
    ) -> SentenceReply {
        let alternatives = sentence.alternatives.into_iter();
        let alternatives = alternatives.map(|alternative| AlternativeReply {
            text: alternative.text,
            score: self.scores.then_some(alternative.score),
        });
        let pairs = sentence.alignment.iter().map(|link| WordPair {
            source: src.range(&link.src),
            target: tgt.range(&(start + link.tgt.start..start + link.tgt.end)),
        });
        let weights = sentence.attention.as_ref().filter(|_| self.attention);
        SentenceReply {
            source: src.range(&sentence.source),
            target: None,
            alternatives: self.alternatives.then(|| alternatives.collect()),
            score: sentence.score.filter(|_| self.scores),
            alignment: self.alignments.then(|| pairs.collect()),
            attention: weights.and_then(raw),
            warning: sentence.warning,
            text: sentence.text,
        }
    }
}

fn raw(json: &Arc<str>) -> Option<Box<RawValue>> {
    RawValue::from_string(String::from(&**json)).ok()
}

#[derive(Clone, Debug)]
pub(super) struct CodePoints {
    starts: Vec<usize>,
}

impl CodePoints {
    pub(super) fn of(text: &str) -> Self {
        Self {
            starts: text.char_indices().map(|(start, _)| start).collect(),
        }
    }

    /// Returns a range of bytes as `[start, end]` in code points.
    pub(super) fn range(&self, bytes: &Range<usize>) -> [usize; 2] {
        let index = |byte| self.starts.partition_point(|start| *start < byte);
        [index(bytes.start), index(bytes.end)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_several_bytes_count_as_one() {
        let points = CodePoints::of("aé🙂b");
        assert_eq!(points.range(&(0..1)), [0, 1]);
        assert_eq!(points.range(&(1..7)), [1, 3]);
        assert_eq!(points.range(&(7..8)), [3, 4]);
        assert_eq!(points.range(&(8..8)), [4, 4]);
    }
}
