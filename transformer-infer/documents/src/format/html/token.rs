//! [`Token`]: a token of HTML, as lengths and ranges of bytes of the source.

use std::ops::Range;

/// A token that begins at the next byte of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Number of bytes.
    pub(super) len: usize,
    pub(super) kind: TokenKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Text, or a piece of it; entities are never divided.
    Text,
    Start(Tag),
    End(Tag),
    Comment,
    /// No part of the page: a doctype, `</>`, or a tag that is cut off at the end of the file.
    Nothing,
}

/// The name of a tag, and the attributes that matter to the reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tag {
    /// The name in lower case, cut to [`MAX_NAME_BYTES`].
    pub(super) name: String,
    /// The attributes in the order of the source; if a name is repeated, only the first.
    pub(super) attributes: Vec<Attribute>,
    /// True if it ends with `/>`.
    pub(super) is_self_closing: bool,
}

/// Maximum length of a name that is distinguished from others.
pub(super) const MAX_NAME_BYTES: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attribute {
    pub(super) name: &'static str,
    /// The value in the tag, without its quotation marks.
    pub(super) value: Range<usize>,
    pub(super) quote: Quote,
}

/// The quotation marks around the value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quote {
    Double,
    Single,
    None,
}

/// The way to read text up to the end tag of an element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum TextMode {
    /// With markup and entities.
    #[default]
    Data,
    /// Up to this end tag, with entities: `textarea`, `title`.
    Escapable(&'static str),
    /// Up to this end tag: `style` and others.
    Raw(&'static str),
    /// `script`.
    Script(Script),
    /// Up to the end of the file.
    Plain,
}

/// The state of a script so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Script {
    #[default]
    Code,
    /// After `<!--`.
    Escaped,
    /// After `<!--` and `<script`.
    DoubleEscaped,
}

impl Tag {
    pub(super) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|found| found.name == name)
    }
}
