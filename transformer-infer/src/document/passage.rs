//! [`Passage`]: text to translate, and the markup inside of it.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A piece of a document, in the order of the file.
///
/// All parts, written one after the other with passages as they were, are the file, byte for byte. Message catalogs are
/// the exception: a passage is written in another place than its text is read from, see
/// [`PoReader`](super::format::PoReader).
#[derive(Clone, Debug)]
pub enum Part {
    /// Text that is copied: markup, keys, times, code.
    Verbatim(String),
    /// Text that is translated.
    Passage(Passage),
}

/// Text that belongs together, such as a paragraph, without its markup, and where the markup is.
///
/// It is split into sentences where it is translated. Sentences do not continue in the next passage.
#[derive(Clone, Debug)]
pub struct Passage {
    /// The text as a person reads it: entities and escapes are resolved.
    pub text: String,
    /// The markup inside of the text, in the order of the document: by start, and an outer pair before what it
    /// encloses. Pairs do not cross.
    pub marks: Vec<Mark>,
    /// How translated text is written in the format of the document.
    pub notation: Arc<dyn Notation>,
}

/// Something inside of a passage that is not translated, and that the translation contains exactly once.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The bytes of the text that a pair encloses; for others the single space in whose place it is written, or an
    /// empty range where the text needs no space.
    pub range: Range<usize>,
    /// Index of the innermost pair that encloses it.
    pub parent: Option<usize>,
    /// What it is.
    pub kind: MarkKind,
}

/// What a mark is, with its text in the notation of the document.
#[derive(Clone, Debug)]
pub enum MarkKind {
    /// Markup around words, such as `<b>…</b>`; it encloses the words that translate them.
    Pair {
        /// What is written before the words.
        open: Raw,
        /// What is written behind the words.
        close: Raw,
    },
    /// Something between words that moves with its neighbors, such as `<img>` or a placeholder.
    ///
    /// It is written in place of the whitespace between two words, so `raw` begins and ends with the whitespace around
    /// it, if any. The text of the passage has a single space there if words would touch without.
    Point {
        /// What is written.
        raw: Raw,
    },
    /// Like a point, but breaks keep their order: line ends, and times of subtitles.
    Break {
        /// What is written.
        raw: Raw,
    },
}

/// Text of a mark: copied text, which may contain passages of its own, such as the text of an attribute.
#[derive(Clone, Debug, Default)]
pub struct Raw(pub Vec<Part>);

/// How text is written in the format of a document.
pub trait Notation: fmt::Debug + Send + Sync {
    /// Writes translated text between two marks; escapes what has another meaning in the format.
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(text)
    }

    /// Whether line ends and other whitespace in the text are the same as a space, as in HTML.
    ///
    /// Otherwise a line end ends a sentence, and the translation has it at the same place.
    fn has_soft_line_ends(&self) -> bool {
        false
    }

    /// Completes a whole passage, marks included; adds quotation marks if its content requires them.
    fn complete(&self, written: String) -> String {
        written
    }
}

/// The notation of formats in which all text is written as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Notation for Plain {}

impl Passage {
    /// Makes a passage without markup, in a format that writes text as it is.
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            marks: Vec::new(),
            notation: Arc::new(Plain),
        }
    }

    /// Writes the passage as it is in the document.
    ///
    /// # Panics
    ///
    /// Panics if the marks are not those of this text: not in order, or beyond its end.
    pub fn source(&self) -> String {
        let parts = self.source_parts();
        let written = parts.iter().map(Part::source).collect();
        self.notation.complete(written)
    }

    /// Returns what [`source`](Self::source) writes, before the notation completes it, as parts: passages inside of
    /// marks are still to be translated.
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

/// The passage written so far.
struct SourceWriter<'a> {
    passage: &'a Passage,
    written: Vec<Part>,
    /// Number of bytes of the text that are written.
    at: usize,
    /// The pairs whose ends are not written, the outermost first.
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

    /// Ends all pairs inside of `parent`.
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
    /// Returns whether whitespace comes first.
    pub(super) fn starts_with_space(&self) -> bool {
        matches!(self.0.first(), Some(Part::Verbatim(text)) if text.starts_with(char::is_whitespace))
    }

    /// Returns whether whitespace comes last.
    pub(super) fn ends_with_space(&self) -> bool {
        matches!(self.0.last(), Some(Part::Verbatim(text)) if text.ends_with(char::is_whitespace))
    }

    /// Writes the text as it is in the document.
    pub fn source(&self) -> String {
        self.0.iter().map(Part::source).collect()
    }
}

impl Part {
    /// Writes the part as it is in the document.
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
