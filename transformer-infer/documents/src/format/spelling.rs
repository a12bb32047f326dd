//! Spellings of passages: [`AsSpelled`] keeps that of an unchanged one, [`WithEntities`] writes entities.

use std::borrow::Cow;
use std::sync::Arc;

use super::html::HtmlNotation;
use crate::{Notation, Passage};

/// A notation that writes an unchanged passage as in the document, which may use other escapes, entities or quotation
/// marks than the notation would.
#[derive(Debug)]
struct AsSpelled {
    notation: Arc<dyn Notation>,
    /// The unchanged passage, before it is completed.
    unchanged: String,
    /// The passage in the document.
    source: String,
}

impl Notation for AsSpelled {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.notation.escape(text)
    }

    fn has_soft_line_ends(&self) -> bool {
        self.notation.has_soft_line_ends()
    }

    fn append(&self, written: &mut String, piece: &str) {
        self.notation.append(written, piece);
    }

    fn complete(&self, written: String) -> String {
        if written == self.unchanged {
            self.source.clone()
        } else {
            self.notation.complete(written)
        }
    }
}

/// The same notation, without completing passages.
#[derive(Debug)]
struct Incomplete(Arc<dyn Notation>);

impl Notation for Incomplete {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.0.escape(text)
    }
}

/// A notation that writes as entities the characters that a given text writes as entities.
#[derive(Debug)]
pub(super) struct WithEntities {
    html: HtmlNotation,
    notation: Arc<dyn Notation>,
}

impl WithEntities {
    /// Makes a notation from the entities of a text.
    pub(super) fn new(mut html: HtmlNotation, text: &str, notation: &Arc<dyn Notation>) -> Self {
        html.learn_text(text);
        Self {
            html,
            notation: Arc::clone(notation),
        }
    }
}

impl Notation for WithEntities {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = self.html.escape(text);
        Cow::Owned(self.notation.escape(&text).into_owned())
    }

    fn append(&self, written: &mut String, piece: &str) {
        self.notation.append(written, piece);
    }

    fn complete(&self, written: String) -> String {
        self.notation.complete(written)
    }
}

/// Makes [`Passage::source`] return `source`.
pub(super) fn with_source(mut passage: Passage, source: String) -> Passage {
    if passage.source() != source {
        let notation = Arc::clone(&passage.notation);
        passage.notation = Arc::new(Incomplete(Arc::clone(&notation)));
        passage.notation = Arc::new(AsSpelled {
            unchanged: passage.source(),
            notation,
            source,
        });
    }
    passage
}
