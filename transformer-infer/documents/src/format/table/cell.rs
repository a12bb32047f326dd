//! The notations of cells.

use std::borrow::Cow;
use std::sync::Arc;

use crate::Notation;

/// Text between the quotation marks of a cell of CSV.
#[derive(Debug)]
pub(super) struct QuotedText;

/// A cell of CSV without quotation marks; its translation gets them if needed.
#[derive(Debug)]
pub(super) struct UnquotedCell {
    /// The notation of the text between the spaces.
    pub(super) notation: Arc<dyn Notation>,
    /// The spaces before and after the text.
    pub(super) before: String,
    pub(super) after: String,
    pub(super) separator: char,
}

/// A cell of TSV.
#[derive(Debug)]
pub(super) struct TsvText;

impl Notation for QuotedText {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if text.contains('"') {
            Cow::Owned(text.replace('"', "\"\""))
        } else {
            Cow::Borrowed(text)
        }
    }
}

impl Notation for UnquotedCell {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.notation.escape(text)
    }

    fn complete(&self, written: String) -> String {
        let written = self.notation.complete(written);
        let cell = format!("{}{written}{}", self.before, self.after);
        if cell.contains(['"', '\n', '\r', self.separator]) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell
        }
    }
}

impl Notation for TsvText {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if text.contains(['\t', '\n', '\r']) {
            Cow::Owned(text.replace(['\t', '\n', '\r'], " "))
        } else {
            Cow::Borrowed(text)
        }
    }
}
