//! [`Token`]: what the tokenizer finds, as lengths and ranges of bytes of the source.

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
    /// What is no part of the page: a doctype, `</>`, a tag that the file ends in.
    Nothing,
}

/// The name of a tag, and those attributes that matter here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tag {
    /// In lower case; the first [`MAX_NAME_BYTES`] at most.
    pub(super) name: String,
    /// In the order of the source; of attributes with the same name the first.
    pub(super) attributes: Vec<Attribute>,
    /// Whether it ends with `/>`.
    pub(super) is_self_closing: bool,
}

/// Longest name that is told from others.
pub(super) const MAX_NAME_BYTES: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attribute {
    pub(super) name: &'static str,
    /// The value in the tag, without its quotation marks.
    pub(super) value: Range<usize>,
    pub(super) quote: Quote,
}

/// How the value of an attribute is enclosed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quote {
    Double,
    Single,
    None,
}

/// How text is read until the end tag of an element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum TextMode {
    /// Markup and entities.
    #[default]
    Data,
    /// Until this end tag, with entities: `textarea`, `title`.
    Escapable(&'static str),
    /// Until this end tag: `style` and others.
    Raw(&'static str),
    /// `script`.
    Script(Script),
    /// Until the end of the file.
    Plain,
}

/// What a script was found to contain so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Script {
    #[default]
    Code,
    /// Behind `<!--`.
    Escaped,
    /// Behind `<!--` and `<script`.
    DoubleEscaped,
}

impl Tag {
    pub(super) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|found| found.name == name)
    }
}
