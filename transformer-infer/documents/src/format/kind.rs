//! [`Format`]: the formats with their names and readers.

use std::fmt;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use super::encoding::{Charset, decoded};
use super::html::{self, Html};
use super::json::Json;
use super::markdown::Markdown;
use super::package::Package;
use super::pairs::{self, PairKind, Pairs};
use super::parts::{PartReader, ReadParts};
use super::po::Po;
use super::source::Source;
use super::subtitles::Subtitles;
use super::table::Table;
use super::xml::{self, XmlFile};
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
    /// HTML as XML, in which any element may end in its start tag.
    Xhtml,
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
#[error("`{name}` is of no known format; {}", remedy(name))]
pub struct FormatError {
    /// The name given.
    pub name: String,
}

fn remedy(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let extension = name.rsplit('.').next().unwrap_or_default();
    if extension == "pdf" {
        "extract its text with `pdftotext`, or translate the document that it was made from".into()
    } else if ["doc", "rtf", "xls", "ppt"].contains(&extension) {
        "save it in a newer format, for example with LibreOffice".into()
    } else {
        format!("choose {}", Format::names())
    }
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
    /// The language of the translation, such as `de`, for translation memories. Default: the first in the file other
    /// than the source's.
    pub tgt_lang: Option<String>,
    /// True if the translation is translated again. Formats that have it beside the source are refused.
    pub is_step: bool,
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
            tgt_lang: None,
            is_step: false,
        }
    }
}

/// False if only plain text and HTML are compiled.
const HAS_FORMATS: bool = cfg!(feature = "formats");

/// The formats with their names: the first name is printed, and all names are file extensions.
const NAMES: &[(Format, &str)] = &[
    (Format::Text, "txt text"),
    (Format::Markdown, "md markdown"),
    (Format::Html, "html htm"),
    (Format::Xhtml, "xhtml"),
    (Format::Subtitles(SubtitleKind::SubRip), "srt"),
    (Format::Subtitles(SubtitleKind::WebVtt), "vtt"),
    (Format::Tsv, "tsv"),
    (Format::Csv, "csv"),
    (Format::Po, "po pot"),
    (Format::Json, "json arb"),
    (Format::Pairs(PairKind::Properties), "properties"),
    (Format::Pairs(PairKind::Strings), "strings"),
    (Format::Pairs(PairKind::Yaml), "yaml yml"),
    (Format::Package(PackageKind::Docx), "docx docm dotx dotm"),
    (Format::Package(PackageKind::Pptx), "pptx pptm ppsx potx"),
    (Format::Package(PackageKind::Xlsx), "xlsx xlsm xltx"),
    (
        Format::Package(PackageKind::OpenDocument),
        "odt ods odp ott ots otp",
    ),
    (Format::Package(PackageKind::Epub), "epub"),
    (Format::Xml, "xml xliff xlf resx resw ts tmx"),
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
        let names = NAMES.iter().filter(|(format, _)| format.is_compiled());
        names.flat_map(|(_, names)| names.split(' '))
    }

    fn is_compiled(self) -> bool {
        HAS_FORMATS || matches!(self, Self::Text | Self::Html | Self::Xhtml)
    }

    /// Reads a document of this format. `name` is the document in error messages.
    ///
    /// # Errors
    ///
    /// Returns a [`ReadError`] if this build lacks the format, if the file is in an encoding that cannot be read, if a
    /// package is not a zip file, or if a catalog is only a [step](FormatOptions::is_step). All other errors come with the parts: the document is read while they are taken.
    pub fn read(
        self,
        name: String,
        input: impl Read + Send + 'static,
        options: &FormatOptions,
    ) -> Result<PartReader, ReadError> {
        // The compiler leaves out the readers that these conditions exclude.
        let (input, charset) = decoded(&name, input, |head| match self {
            Self::Html | Self::Xhtml => html::declared(head),
            _ if !HAS_FORMATS => None,
            Self::Xml => xml::declared(head),
            Self::Pairs(PairKind::Properties) => pairs::encoding_of_properties(head),
            _ => None,
        })?;
        let is_decoded = charset.is_some();
        let charset = charset.unwrap_or(Charset::UTF_8);
        let table = |separator| Table::new(separator, options.table.clone());
        let format: Box<dyn ReadParts> = match self {
            Self::Text => Box::new(options.paragraphs),
            Self::Html => Box::new(Html::new(options.html, is_decoded)),
            Self::Xhtml => Box::new(Html::xhtml(options.html, is_decoded)),
            _ if !HAS_FORMATS => {
                let name = self.to_string();
                return Err(FormatError { name }.into());
            }
            Self::Markdown => Box::new(Markdown),
            Self::Subtitles(kind) => Box::new(Subtitles::new(kind, options.subtitles.clone())),
            Self::Tsv => Box::new(table(None)),
            Self::Csv => Box::new(table(Some(options.csv_separator))),
            Self::Po if options.is_step => {
                return Err(ReadError::Bilingual { name });
            }
            Self::Po => Box::new(Po::new(options.po)),
            Self::Json => Box::new(Json::new(options.json.clone())),
            Self::Pairs(kind) => Box::new(Pairs::new(kind, charset)),
            Self::Package(kind) => {
                return Ok(PartReader::of_package(Package::new(name, input, kind)?));
            }
            Self::Xml => Box::new(XmlFile {
                rules: options.xml.clone(),
                tgt_lang: options.tgt_lang.clone(),
                is_step: options.is_step,
            }),
        };
        Ok(PartReader::new(Source::new(name, input), format, charset))
    }

    fn names() -> String {
        let names = NAMES.iter().filter(|(format, _)| format.is_compiled());
        let names = names.filter_map(|(_, names)| names.split(' ').next());
        let names: Vec<&str> = names.collect();
        let (last, others) = names.split_last().expect("there are formats");
        format!("{} or {last}", others.join(", "))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = NAMES.iter().find(|(format, _)| format == self);
        let name = names.and_then(|(_, names)| names.split(' ').next());
        f.write_str(name.unwrap_or_default())
    }
}

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(name: &str) -> Result<Self, FormatError> {
        let lower = name.to_ascii_lowercase();
        let mut known = NAMES.iter().filter(|(format, _)| format.is_compiled());
        let found = known.find(|(_, names)| names.split(' ').any(|it| it == lower));
        found.map(|(format, _)| *format).ok_or_else(|| FormatError {
            name: name.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_cannot_be_read_are_refused_with_a_remedy() {
        let error = |name| {
            let refused = Format::of_path(Path::new(name)).expect_err("it is refused");
            refused.to_string()
        };
        assert_eq!(
            error("a.PDF"),
            "`a.PDF` is of no known format; extract its text with `pdftotext`, or translate the document that it was made \
             from"
        );
        assert_eq!(
            error("a.doc"),
            "`a.doc` is of no known format; save it in a newer format, for example with LibreOffice"
        );
        assert!(error("a.adoc").contains("; choose txt"));
    }

    fn read(format: Format, bytes: &'static [u8]) -> Result<PartReader, ReadError> {
        format.read("a".to_owned(), bytes, &FormatOptions::default())
    }

    #[test]
    fn only_compiled_formats_are_read() {
        for (format, _) in NAMES {
            let problem = read(*format, b"{}").err().map(|it| it.to_string());
            let is_refused = problem.is_some_and(|it| it.contains("of no known format"));
            assert_eq!(is_refused, !format.is_compiled(), "{format}");
        }
    }

    #[test]
    fn a_page_in_an_encoding_that_is_not_compiled_is_refused() {
        let read =
            |page| read(Format::Html, page).and_then(|mut it| it.try_for_each(|it| it.map(drop)));
        assert!(read(b"<meta charset=iso-8859-1><p>caf\xe9").is_ok());
        assert!(read(b"<meta charset=utf8><p>caf\xc3\xa9").is_ok());
        let russian = read(b"<meta charset=koi8-r><p>\xc4\xc1");
        assert_eq!(russian.is_ok(), cfg!(feature = "encodings"));
    }
}
