//! [`AsSpelled`]: keeps the spelling of a passage whose text comes back unchanged.

use std::borrow::Cow;
use std::sync::Arc;

use crate::document::{Notation, Passage};

/// A notation that writes an unchanged passage as it was, where the document could have spelled it otherwise: with
/// other escapes, entities or quotation marks than the notation writes.
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

    fn complete(&self, written: String) -> String {
        if written == self.unchanged {
            self.source.clone()
        } else {
            self.notation.complete(written)
        }
    }
}

/// The same notation, except that it does not complete passages.
#[derive(Debug)]
struct Incomplete(Arc<dyn Notation>);

impl Notation for Incomplete {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.0.escape(text)
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
