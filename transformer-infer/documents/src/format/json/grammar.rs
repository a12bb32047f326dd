//! [`Grammar`]: the grammar of JSON (RFC 8259), without recursion.

use super::filter::Selection;

/// Maximum nesting of objects and arrays.
pub(super) const MAX_DEPTH: usize = 512;

/// The tokens that may come next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Expected {
    /// A value.
    Value,
    /// A value, or `]` after `[`.
    ValueOrEnd,
    /// A key.
    Key,
    /// A key, or `}` after `{`.
    KeyOrEnd,
    /// `:` after a key.
    Colon,
    /// `,`, or the end of the object, array or document.
    CommaOrEnd,
}

/// An open object or array.
#[derive(Clone, Copy, Debug)]
struct Container {
    is_object: bool,
    selection: Selection,
}

/// The position in a document.
#[derive(Debug)]
pub(super) struct Grammar {
    pub(super) expected: Expected,
    /// The strings to translate at this position.
    pub(super) selection: Selection,
    open: Vec<Container>,
}

impl Grammar {
    pub(super) fn new(selection: Selection) -> Self {
        Self {
            expected: Expected::Value,
            selection,
            open: Vec::new(),
        }
    }

    /// Returns whether the document may end here.
    pub(super) fn is_complete(&self) -> bool {
        self.open.is_empty() && self.expected == Expected::CommaOrEnd
    }

    /// Returns whether a value may come here.
    pub(super) fn expects_value(&self) -> bool {
        matches!(self.expected, Expected::Value | Expected::ValueOrEnd)
    }

    /// Returns the selection of the object or array here.
    pub(super) fn outer_selection(&self) -> Selection {
        self.open
            .last()
            .map_or(self.selection, |last| last.selection)
    }

    /// Moves past a value.
    pub(super) fn end_value(&mut self) {
        self.expected = Expected::CommaOrEnd;
        self.selection = self.outer_selection();
    }

    /// Moves past one of `{}[],:`; returns whether it may come here. [`MAX_DEPTH`] limits opening braces and brackets;
    /// [`is_too_deep`](Self::is_too_deep) tells whether it is exceeded.
    pub(super) fn punctuate(&mut self, byte: u8) -> bool {
        let in_object = self.open.last().map(|last| last.is_object);
        match (byte, self.expected) {
            (b'{' | b'[', Expected::Value | Expected::ValueOrEnd) => {
                let is_object = byte == b'{';
                self.open.push(Container {
                    is_object,
                    selection: self.selection,
                });
                self.expected = if is_object {
                    Expected::KeyOrEnd
                } else {
                    Expected::ValueOrEnd
                };
            }
            (b'}', Expected::KeyOrEnd | Expected::CommaOrEnd) if in_object == Some(true) => {
                self.close();
            }
            (b']', Expected::ValueOrEnd | Expected::CommaOrEnd) if in_object == Some(false) => {
                self.close();
            }
            (b',', Expected::CommaOrEnd) if in_object == Some(true) => {
                self.expected = Expected::Key;
            }
            (b',', Expected::CommaOrEnd) if in_object == Some(false) => {
                self.expected = Expected::Value;
            }
            (b':', Expected::Colon) => self.expected = Expected::Value,
            _ => return false,
        }
        true
    }

    pub(super) fn is_too_deep(&self) -> bool {
        self.open.len() > MAX_DEPTH
    }

    /// Describes the tokens that may come here.
    pub(super) fn description(&self) -> &'static str {
        let in_object = self.open.last().map(|last| last.is_object);
        match self.expected {
            Expected::Value => "a value",
            Expected::ValueOrEnd => "a value or `]`",
            Expected::Key => "a key in quotation marks",
            Expected::KeyOrEnd => "a key in quotation marks or `}`",
            Expected::Colon => "`:`",
            Expected::CommaOrEnd => match in_object {
                Some(true) => "`,` or `}`",
                Some(false) => "`,` or `]`",
                None => "the end of the file",
            },
        }
    }

    fn close(&mut self) {
        self.open.pop();
        self.end_value();
    }
}
