//! [`Format`]: the formats with their names and readers.

use std::fmt;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use encoding_rs::UTF_8;

use super::html::html_file;
use super::json::Json;
use super::markdown::Markdown;
use super::package::Package;
use super::pairs::{PairKind, Pairs};
use super::parts::{PartReader, ReadParts};
use super::po::Po;
use super::source::Source;
use super::subtitles::Subtitles;
use super::table::Table;
use super::xml::XmlFile;
use super::{
    HtmlOptions, JsonOptions, PackageKind, Paragraphs, PoOptions, ReadError, SubtitleKind,
    SubtitleOptions, TableOptions, XmlRules,
};

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
    /// Files of keys and values.
    Pairs(PairKind),
    /// Zip files of XML: office documents and books.
    Package(PackageKind),
    /// XML with a table of rules: resources of programs, and files of translators.
    Xml,
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
    /// The rules for XML. Default: those of the format that the outermost element belongs to.
    pub xml: Option<XmlRules>,
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
            xml: None,
        }
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
    (Format::Pairs(PairKind::Properties), &["properties"]),
    (Format::Pairs(PairKind::Strings), &["strings"]),
    (Format::Pairs(PairKind::Yaml), &["yaml", "yml"]),
    (
        Format::Package(PackageKind::Docx),
        &["docx", "docm", "dotx"],
    ),
    (
        Format::Package(PackageKind::Pptx),
        &["pptx", "pptm", "potx"],
    ),
    (
        Format::Package(PackageKind::Xlsx),
        &["xlsx", "xlsm", "xltx"],
    ),
    (
        Format::Package(PackageKind::OpenDocument),
        &["odt", "ods", "odp", "ott"],
    ),
    (Format::Package(PackageKind::Epub), &["epub"]),
    (Format::Xml, &["xml", "xliff", "xlf", "resx", "resw", "ts"]),
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
    /// Returns a [`ReadError`] if HTML is in an encoding that cannot be read, or if a package is not a zip file. All
    /// other errors come with the parts: the document is read while they are taken.
    pub fn read(
        self,
        name: String,
        input: impl Read + Send + 'static,
        options: &FormatOptions,
    ) -> Result<PartReader, ReadError> {
        let table = |separator| Table::new(separator, options.table.clone());
        let format: Box<dyn ReadParts> = match self {
            Self::Text => Box::new(options.paragraphs),
            Self::Markdown => Box::new(Markdown),
            Self::Html => return html_file(name, input, options.html),
            Self::Subtitles(kind) => Box::new(Subtitles::new(kind, options.subtitles.clone())),
            Self::Tsv => Box::new(table(None)),
            Self::Csv => Box::new(table(Some(options.csv_separator))),
            Self::Po => Box::new(Po::new(options.po)),
            Self::Json => Box::new(Json::new(options.json.clone())),
            Self::Pairs(kind) => Box::new(Pairs::new(kind)),
            Self::Package(kind) => {
                return Ok(PartReader::of_package(Package::new(name, input, kind)?));
            }
            Self::Xml => Box::new(XmlFile(options.xml.clone())),
        };
        Ok(PartReader::new(Source::new(name, input), format, UTF_8))
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
