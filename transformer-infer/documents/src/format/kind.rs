//! [`Format`]: the formats with their names and readers.

use std::borrow::Cow;
use std::fmt;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use encoding_rs::{Encoding, UTF_8};

use super::html::encoded;
use super::{
    HtmlOptions, HtmlReader, JsonOptions, JsonReader, MarkdownReader, Paragraphs, PoOptions,
    PoReader, ReadError, SubtitleKind, SubtitleOptions, SubtitleReader, TableKind, TableOptions,
    TableReader, TextReader,
};
use crate::{Mark, MarkKind, Part, Raw};

/// Number of bytes of text to translate together. Memory grows with it; smaller values make threads wait for each other
/// more often.
const WINDOW_BYTES: usize = 1 << 18;

/// Number of bytes of text and markup after which a window ends, even if it is not full.
const VERBATIM_BYTES: usize = 1 << 22;

/// Number of bytes of a part or a mark, in addition to its text.
const PART_BYTES: usize = 128;

/// The format of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Plain text.
    Text,
    /// CommonMark, with tables and front matter.
    Markdown,
    /// HTML: pages, fragments and mail.
    Html,
    /// SubRip or WebVTT.
    Subtitles(SubtitleKind),
    /// Cells separated by tabs.
    Tsv,
    /// Cells separated by commas, or by [another character](FormatOptions::csv_separator).
    Csv,
    /// Catalogs of gettext.
    Po,
    /// JSON; its strings are translated.
    Json,
}

/// A name or an extension that does not belong to a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is of no known format; choose {}", Format::names())]
pub struct FormatError {
    /// The name given.
    pub name: String,
}

/// Options for reading the formats; each field is for one format.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FormatOptions {
    /// The end of a paragraph of plain text.
    pub paragraphs: Paragraphs,
    /// The options for HTML.
    pub html: HtmlOptions,
    /// The rules for ending passages of subtitles.
    pub subtitles: SubtitleOptions,
    /// The cells to translate in a table.
    pub table: TableOptions,
    /// The separator of the cells of CSV. Default: a comma.
    pub csv_separator: char,
    /// The messages to translate in a catalog.
    pub po: PoOptions,
    /// The strings to translate in JSON.
    pub json: JsonOptions,
}

impl Default for FormatOptions {
    fn default() -> Self {
        Self {
            paragraphs: Paragraphs::default(),
            html: HtmlOptions::default(),
            subtitles: SubtitleOptions::default(),
            table: TableOptions::default(),
            csv_separator: ',',
            po: PoOptions::default(),
            json: JsonOptions::default(),
        }
    }
}

/// The parts of a document, in order.
pub struct PartReader {
    parts: Box<dyn Iterator<Item = Result<Part, ReadError>> + Send>,
    encoding: &'static Encoding,
}

impl PartReader {
    /// Takes the parts of a document in UTF-8, for example those of an [`HtmlReader`](super::HtmlReader).
    pub fn new(
        parts: impl IntoIterator<Item = Result<Part, ReadError>, IntoIter: Send + 'static>,
    ) -> Self {
        Self {
            parts: Box::new(parts.into_iter()),
            encoding: UTF_8,
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

    /// Returns text in the encoding of the document.
    pub fn encoded<'a>(&self, text: &'a str) -> Cow<'a, [u8]> {
        encoded(text, self.encoding)
    }
}

impl Iterator for PartReader {
    type Item = Result<Part, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.parts.next()
    }
}

impl fmt::Debug for PartReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoding = self.encoding.name();
        f.debug_struct("PartReader")
            .field("encoding", &encoding)
            .finish_non_exhaustive()
    }
}

/// The formats with their names: the first name is printed, and all names are file extensions.
const NAMES: &[(Format, &[&str])] = &[
    (Format::Text, &["txt", "text"]),
    (Format::Markdown, &["md", "markdown"]),
    (Format::Html, &["html", "htm", "xhtml"]),
    (Format::Subtitles(SubtitleKind::SubRip), &["srt"]),
    (Format::Subtitles(SubtitleKind::WebVtt), &["vtt"]),
    (Format::Tsv, &["tsv"]),
    (Format::Csv, &["csv"]),
    (Format::Po, &["po", "pot"]),
    (Format::Json, &["json", "arb"]),
];

impl Format {
    /// Returns the format of a file by its extension.
    ///
    /// # Errors
    ///
    /// Returns a [`FormatError`] that lists the formats if the extension is unknown.
    pub fn of_path(path: &Path) -> Result<Self, FormatError> {
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        extension.parse().map_err(|_| FormatError {
            name: path.display().to_string(),
        })
    }

    /// Returns the extensions of the files of all formats, without a dot.
    pub fn extensions() -> impl Iterator<Item = &'static str> {
        NAMES.iter().flat_map(|(_, names)| names.iter().copied())
    }

    /// Reads a document of this format. `name` is the document in error messages.
    ///
    /// # Errors
    ///
    /// Returns a [`ReadError`] if the first part of the document cannot be read; later errors are among the parts.
    pub fn read(
        self,
        name: String,
        input: impl Read + Send + 'static,
        options: &FormatOptions,
    ) -> Result<PartReader, ReadError> {
        let mut encoding = UTF_8;
        let parts: Box<dyn Iterator<Item = Result<Part, ReadError>> + Send> = match self {
            Self::Text => Box::new(TextReader::new(name, input, options.paragraphs)),
            Self::Markdown => Box::new(MarkdownReader::new(name, input)?),
            Self::Html => {
                let reader;
                (reader, encoding) = HtmlReader::of_file(name, input, options.html)?;
                Box::new(reader)
            }
            Self::Subtitles(kind) => {
                let options = options.subtitles.clone();
                Box::new(SubtitleReader::new(name, input, kind, options)?)
            }
            Self::Tsv => {
                let options = options.table.clone();
                Box::new(TableReader::new(name, input, TableKind::Tsv, options)?)
            }
            Self::Csv => {
                let separator = options.csv_separator;
                let (kind, options) = (TableKind::Csv { separator }, options.table.clone());
                Box::new(TableReader::new(name, input, kind, options)?)
            }
            Self::Po => Box::new(PoReader::new(name, input, options.po)?),
            Self::Json => Box::new(JsonReader::new(name, input, options.json.clone())?),
        };
        Ok(PartReader { parts, encoding })
    }

    fn names() -> String {
        let names: Vec<&str> = NAMES.iter().map(|(_, names)| names[0]).collect();
        let (last, others) = names.split_last().expect("there are formats");
        format!("{} or {last}", others.join(", "))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = NAMES.iter().find(|(format, _)| format == self);
        f.write_str(names.map_or("", |(_, names)| names[0]))
    }
}

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(name: &str) -> Result<Self, FormatError> {
        let lower = name.to_ascii_lowercase();
        let found = NAMES
            .iter()
            .find(|(_, names)| names.contains(&lower.as_str()));
        found.map(|(format, _)| *format).ok_or_else(|| FormatError {
            name: name.to_owned(),
        })
    }
}

/// Returns the approximate size of a part, in bytes.
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
