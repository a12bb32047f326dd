//! [`Passage`]: text to translate with the markup inside it.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A piece of a document, in the order of the file.
///
/// All parts together, with untranslated passages, are the file, byte for byte. Message catalogs are the exception: a
/// passage is not written where its text is read, see [`PoOptions`](super::format::PoOptions).
#[derive(Clone, Debug)]
pub enum Part {
    /// Text that is copied: markup, keys, times, code.
    Verbatim(String),
    /// Text that is translated.
    Passage(Passage),
}

/// A unit of text, such as a paragraph, without its markup, and the positions of the markup.
///
/// It is split into sentences for translation. No sentence continues in the next passage.
#[derive(Clone, Debug)]
pub struct Passage {
    /// The text as a person reads it, with entities and escapes resolved.
    pub text: String,
    /// The markup inside the text, in the order of the document: by start, with outer pairs before inner ones. Pairs do
    /// not overlap partially.
    pub marks: Vec<Mark>,
    /// The notation that writes translated text in the format of the document.
    pub notation: Arc<dyn Notation>,
}

/// Something inside a passage that is not translated and appears exactly once in the translation.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The bytes of the text that a pair encloses; for other marks, the single space that the mark replaces, or an
    /// empty range where the text needs no space.
    pub range: Range<usize>,
    /// Index of the innermost pair that encloses the mark.
    pub parent: Option<usize>,
    /// The kind.
    pub kind: MarkKind,
}

/// The kind of a mark, with its text in the notation of the document.
#[derive(Clone, Debug)]
pub enum MarkKind {
    /// Markup around words, such as `<b>…</b>`; in the translation, it encloses the corresponding words.
    Pair {
        /// The text before the words.
        open: Raw,
        /// The text after the words.
        close: Raw,
    },
    /// Something between words that moves with its neighbors, such as `<img>` or a placeholder.
    ///
    /// It replaces the whitespace between two words, so `raw` includes the whitespace around it, if any. The text of
    /// the passage has a single space there if the words would touch otherwise.
    Point {
        /// The text.
        raw: Raw,
    },
    /// Like a point, but breaks keep their order: line ends, and times of subtitles.
    Break {
        /// The text.
        raw: Raw,
    },
}

/// Text of a mark: copied text, which may contain passages, such as the text of an attribute.
#[derive(Clone, Debug, Default)]
pub struct Raw(pub Vec<Part>);

/// The rules for writing text in the format of a document.
pub trait Notation: fmt::Debug + Send + Sync {
    /// Writes translated text between two marks, and escapes text that has a special meaning in the format.
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(text)
    }

    /// Returns true if line ends and other whitespace in the text are equal to a space, as in HTML.
    ///
    /// Otherwise a line end ends a sentence, and the translation has one at the same place.
    fn has_soft_line_ends(&self) -> bool {
        false
    }

    /// Appends text or a mark, in this notation, to the passage that is written so far.
    fn append(&self, written: &mut String, piece: &str) {
        written.push_str(piece);
    }

    /// Completes a whole passage including marks; for example, adds quotation marks if its content requires them.
    fn complete(&self, written: String) -> String {
        written
    }
}

/// The notation of formats that write all text unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Notation for Plain {}

impl Passage {
    /// Makes a passage without markup, in a format that writes text unchanged.
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            marks: Vec::new(),
            notation: Arc::new(Plain),
        }
    }

    /// Writes the passage as in the document.
    ///
    /// # Panics
    ///
    /// Panics if the marks do not belong to this text: out of order, or beyond its end.
    pub fn source(&self) -> String {
        self.notation.complete(self.incomplete_source())
    }

    /// Writes the passage as in the document, before the notation completes it.
    pub(super) fn incomplete_source(&self) -> String {
        self.source_parts().iter().map(Part::source).collect()
    }

    /// Returns [`incomplete_source`](Self::incomplete_source) as parts: passages inside marks are not translated yet.
    pub(super) fn source_parts(&self) -> Vec<Part> {
        let mut writer = SourceWriter {
            passage: self,
            written: Vec::new(),
            at: 0,
            open: Vec::new(),
        };
        for (index, mark) in self.marks.iter().enumerate() {
            writer.close_until(mark.parent);
            writer.text_until(mark.range.start);
            match &mark.kind {
                MarkKind::Pair { open, .. } => {
                    writer.written.extend_from_slice(&open.0);
                    writer.open.push(index);
                }
                MarkKind::Point { raw } | MarkKind::Break { raw } => {
                    writer.written.extend_from_slice(&raw.0);
                    writer.at = mark.range.end;
                }
            }
        }
        writer.close_until(None);
        writer.text_until(self.text.len());
        writer.written
    }
}

struct SourceWriter<'a> {
    passage: &'a Passage,
    written: Vec<Part>,
    at: usize,
    open: Vec<usize>,
}

impl SourceWriter<'_> {
    fn text_until(&mut self, end: usize) {
        let text = &self.passage.text[self.at..end];
        if !text.is_empty() {
            let text = self.passage.notation.escape(text).into_owned();
            self.written.push(Part::Verbatim(text));
        }
        self.at = end;
    }

    fn close_until(&mut self, parent: Option<usize>) {
        while self.open.last().copied() != parent
            && let Some(ended) = self.open.pop()
        {
            let Mark { range, kind, .. } = &self.passage.marks[ended];
            self.text_until(range.end);
            if let MarkKind::Pair { close, .. } = kind {
                self.written.extend_from_slice(&close.0);
            }
        }
    }
}

impl Raw {
    pub(super) fn starts_with_space(&self) -> bool {
        matches!(self.0.first(), Some(Part::Verbatim(text)) if text.starts_with(char::is_whitespace))
    }

    pub(super) fn ends_with_space(&self) -> bool {
        matches!(self.0.last(), Some(Part::Verbatim(text)) if text.ends_with(char::is_whitespace))
    }

    /// Writes the text as in the document.
    pub fn source(&self) -> String {
        self.0.iter().map(Part::source).collect()
    }

    pub(super) fn push_str(&mut self, text: &str) {
        self.extend([Part::Verbatim(text.to_owned())]);
    }

    pub(super) fn insert_str(&mut self, text: &str) {
        match self.0.first_mut() {
            _ if text.is_empty() => {}
            Some(Part::Verbatim(first)) => first.insert_str(0, text),
            _ => self.0.insert(0, Part::Verbatim(text.to_owned())),
        }
    }

    pub(super) fn extend(&mut self, parts: impl IntoIterator<Item = Part>) {
        for part in parts {
            match (part, self.0.last_mut()) {
                (Part::Verbatim(text), _) if text.is_empty() => {}
                (Part::Verbatim(text), Some(Part::Verbatim(last))) => last.push_str(&text),
                (part, _) => self.0.push(part),
            }
        }
    }
}

impl Part {
    /// Writes the part as in the document.
    pub fn source(&self) -> String {
        match self {
            Self::Verbatim(text) => text.clone(),
            Self::Passage(passage) => passage.source(),
        }
    }
}

impl From<&str> for Raw {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for Raw {
    fn from(text: String) -> Self {
        Self(vec![Part::Verbatim(text)])
    }
}
