//! [`PartReader`]: the parts of a document, and [`PartQueue`], the queue of the parts that its format has read.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;

use transformer_text::lines::LineError;

use super::FormatError;
use super::encoding::Charset;
use super::source::Source;
use crate::{Mark, MarkKind, Part, Passage, Raw};

const MAX_VERBATIM_BYTES: usize = 1 << 16;

/// Number of bytes of text to translate together: memory grows with it, and smaller values make threads wait.
const WINDOW_BYTES: usize = 1 << 18;

/// Number of bytes of text and markup after which a window ends, even if it is not full.
const VERBATIM_BYTES: usize = 1 << 22;

/// Number of bytes of a part or a mark, in addition to its text.
const PART_BYTES: usize = 128;

/// A format: reads a document piece by piece.
pub(super) trait ReadParts: fmt::Debug + Send {
    /// Reads some more and adds parts to the queue; returns whether there may be more to read.
    fn read(&mut self, source: &mut Source, parts: &mut PartQueue) -> Result<bool, ReadError>;
}

/// A document in a package: its file is written again around the translated parts.
pub(super) trait ReadPackage: fmt::Debug + Send {
    fn read(&mut self, parts: &mut PartQueue) -> Result<bool, ReadError>;

    /// Takes the text of the next part.
    fn write(&mut self, text: &str) -> Result<(), ReadError>;

    /// Returns the file, after the text of the last part.
    fn end(&mut self) -> Result<Vec<u8>, ReadError>;
}

/// The parts of a document, in order; ends after the first error.
#[derive(Debug)]
pub struct PartReader {
    input: Input,
    encoding: Charset,
    queue: PartQueue,
    has_begun: bool,
    has_ended: bool,
    /// The error to return after the parts read before it.
    error: Option<ReadError>,
}

#[derive(Debug)]
enum Input {
    Text(Box<Source>, Box<dyn ReadParts>),
    Package(Box<dyn ReadPackage>),
}

/// Parts that have been read but not returned.
#[derive(Debug, Default)]
pub(super) struct PartQueue(VecDeque<Part>);

impl PartReader {
    /// Reads a document with a format. `encoding` is that of the file that the source was decoded from.
    pub(super) fn new(source: Source, format: Box<dyn ReadParts>, encoding: Charset) -> Self {
        Self::of(Input::Text(Box::new(source), format), encoding)
    }

    pub(super) fn of_package(package: impl ReadPackage + 'static) -> Self {
        Self::of(Input::Package(Box::new(package)), Charset::UTF_8)
    }

    fn of(input: Input, encoding: Charset) -> Self {
        Self {
            input,
            encoding,
            queue: PartQueue::default(),
            has_begun: false,
            has_ended: false,
            error: None,
        }
    }

    /// Returns the parts of the next window, about a quarter of a megabyte of text, or the largest part; none at the end.
    ///
    /// # Errors
    ///
    /// Returns a [`ReadError`] if the document cannot be read further.
    pub fn window(&mut self) -> Result<Vec<Part>, ReadError> {
        let mut window = Vec::new();
        let (mut n_text, mut n_bytes) = (0, 0);
        while n_text < WINDOW_BYTES && n_bytes < VERBATIM_BYTES {
            let Some(part) = self.next().transpose()? else {
                break;
            };
            n_bytes += size(&part);
            if let Part::Passage(passage) = &part {
                n_text += passage.text.len();
            }
            window.push(part);
        }
        Ok(window)
    }

    /// Takes the text of the next part, and returns the next bytes of the document: the text in its encoding, or none
    /// yet if the document is a package.
    ///
    /// # Errors
    ///
    /// Returns a [`ReadError`] if a package cannot be made.
    pub fn written<'a>(&mut self, text: &'a str) -> Result<Cow<'a, [u8]>, ReadError> {
        match &mut self.input {
            Input::Text(..) => Ok(self.encoding.encode(text)),
            Input::Package(package) => package.write(text).map(|()| Cow::default()),
        }
    }

    /// Returns the last bytes of the document, after the text of its last part: all of a package.
    ///
    /// # Errors
    ///
    /// Returns a [`ReadError`] if a package cannot be made.
    pub fn end(&mut self) -> Result<Vec<u8>, ReadError> {
        match &mut self.input {
            Input::Text(..) => Ok(Vec::new()),
            Input::Package(package) => package.end(),
        }
    }

    /// Reads some more. A byte order mark is copied.
    fn read(&mut self) -> Result<bool, ReadError> {
        match &mut self.input {
            Input::Text(source, format) => {
                if !self.has_begun {
                    self.has_begun = true;
                    let mark = source.take_byte_order_mark()?;
                    self.queue.push_verbatim(&mark);
                }
                format.read(source, &mut self.queue)
            }
            Input::Package(package) => package.read(&mut self.queue),
        }
    }
}

impl Iterator for PartReader {
    type Item = Result<Part, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.has_ended {
            if let Some(part) = self.queue.pop_complete() {
                return Some(Ok(part));
            }
            match self.read() {
                Ok(has_more) => self.has_ended = !has_more,
                Err(error) => {
                    self.has_ended = true;
                    self.error = Some(error);
                }
            }
        }
        match self.queue.0.pop_front() {
            Some(part) => Some(Ok(part)),
            None => self.error.take().map(Err),
        }
    }
}

impl PartQueue {
    /// Adds copied text, to the verbatim part before it if that is small.
    pub(super) fn push_verbatim(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(Part::Verbatim(last)) = self.0.back_mut() {
                let room = MAX_VERBATIM_BYTES.saturating_sub(last.len());
                let (fits, left) = rest.split_at(rest.floor_char_boundary(room));
                last.push_str(fits);
                rest = left;
            }
            if !rest.is_empty() {
                self.0.push_back(Part::Verbatim(String::new()));
            }
        }
    }

    pub(super) fn push_passage(&mut self, passage: Passage) {
        self.0.push_back(Part::Passage(passage));
    }

    pub(super) fn extend(&mut self, parts: impl IntoIterator<Item = Part>) {
        for part in parts {
            match part {
                Part::Verbatim(text) => self.push_verbatim(&text),
                Part::Passage(passage) => self.push_passage(passage),
            }
        }
    }

    pub(super) fn into_parts(self) -> Vec<Part> {
        self.0.into()
    }

    /// Returns the first part, unless it is a verbatim part that may still grow.
    fn pop_complete(&mut self) -> Option<Part> {
        match self.0.front() {
            Some(Part::Verbatim(_)) if self.0.len() == 1 => None,
            _ => self.0.pop_front(),
        }
    }
}

fn size(part: &Part) -> usize {
    let of_raw = |raw: &Raw| raw.0.iter().map(size).sum::<usize>();
    let of_mark = |mark: &Mark| match &mark.kind {
        MarkKind::Pair { open, close } => PART_BYTES + of_raw(open) + of_raw(close),
        MarkKind::Point { raw } | MarkKind::Break { raw } => PART_BYTES + of_raw(raw),
    };
    PART_BYTES
        + match part {
            Part::Verbatim(text) => text.len(),
            Part::Passage(passage) => {
                passage.text.len() + passage.marks.iter().map(of_mark).sum::<usize>()
            }
        }
}

/// The reason why a document cannot be read, and the remedy.
///
/// A document is named by its file in backticks, or `standard input`. Lines are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The input, or one of its lines, cannot be read.
    #[error(transparent)]
    Line(#[from] LineError),
    /// This build lacks the format.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The input does not follow its format.
    #[error("{name}, line {line}: {problem}; {remedy}")]
    Syntax {
        /// The document.
        name: String,
        /// Number of the line.
        line: u64,
        /// The problem: what was found and what was expected.
        problem: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// The input has translations beside their sources, and is to be translated twice.
    #[error(
        "{name} has translations beside their sources, and cannot be translated through a third language; choose a \
         model for its languages"
    )]
    Bilingual {
        /// The document.
        name: String,
    },
}
