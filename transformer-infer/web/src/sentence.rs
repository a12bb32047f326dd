//! A translated sentence: [`Sentence`] for JavaScript, [`Line`] for other workers.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use transformer_infer::Translation;
use transformer_infer::attention::Link;
use transformer_infer::document::TranslatedLine;

/// A sentence with its translations.
#[derive(Debug, Serialize)]
pub(crate) struct Sentence<'a> {
    source: &'a str,
    translations: Vec<Candidate<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alignment: Option<Vec<Pair>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    text: &'a str,
    score: f64,
    log_prob: f64,
}

/// Ranges of both texts, in UTF-16 code units, as JavaScript counts.
#[derive(Debug, Serialize)]
struct Pair {
    source: [usize; 2],
    target: [usize; 2],
}

impl<'a> Sentence<'a> {
    pub(crate) fn new(
        source: &'a str,
        translation: &'a Translation,
        links: Option<&[Link]>,
    ) -> Self {
        let candidates = translation.candidates.iter().map(|it| Candidate {
            text: &it.text,
            score: it.hypothesis.score,
            log_prob: it.hypothesis.log_prob,
        });
        let pair = |link: &Link| Pair {
            source: in_utf16(source, &link.src),
            target: in_utf16(translation.text(), &link.tgt),
        };
        Self {
            source,
            translations: candidates.collect(),
            alignment: links.map(|links| links.iter().map(pair).collect()),
        }
    }
}

fn in_utf16(text: &str, range: &Range<usize>) -> [usize; 2] {
    [range.start, range.end].map(|end| text[..end].encode_utf16().count())
}

/// A translation, with its links as first and end bytes of source and target.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Line(String, Vec<[usize; 4]>);

impl From<&TranslatedLine> for Line {
    fn from(TranslatedLine { text, links }: &TranslatedLine) -> Self {
        let links = links.iter();
        let links = links.map(|Link { src, tgt }| [src.start, src.end, tgt.start, tgt.end]);
        Self(text.clone(), links.collect())
    }
}

impl From<Line> for TranslatedLine {
    fn from(Line(text, links): Line) -> Self {
        let links = links
            .into_iter()
            .map(|[start, end, tgt_start, tgt_end]| Link {
                src: start..end,
                tgt: tgt_start..tgt_end,
            });
        Self {
            text,
            links: links.collect(),
        }
    }
}
