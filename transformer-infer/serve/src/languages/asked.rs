//! [`Asked`] and [`Answer`]: requests of other servers' interfaces, and their results.

use std::sync::Arc;

use transformer_documents::format::XmlOptions;
use transformer_documents::{Doubtful, Split};

/// A request of another server's interface.
#[derive(Clone, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) texts: &'a [String],
    /// The code of the source language; detected if absent.
    pub(crate) source: Option<&'a str>,
    /// The code of the target language.
    pub(crate) target: &'a str,
    pub(crate) format: AskedFormat,
    pub(crate) split: Split,
    /// Number of translations of each text; for plain text only.
    pub(crate) n_best: usize,
}

/// The format of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AskedFormat {
    /// Plain text.
    Text,
    /// HTML.
    Html,
    /// Text with the tags of XML.
    Xml(Arc<XmlOptions>),
}

/// The translation of a text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    /// The best translation.
    pub(crate) text: String,
    /// The next best, all different.
    pub(crate) alternatives: Vec<String>,
    /// The code of the source language.
    pub(crate) source: String,
    /// The confidence of the source language, from 0 to 1.
    pub(crate) confidence: f64,
    /// The sentences with doubtful translations.
    pub(crate) doubtful: Doubtful,
}
