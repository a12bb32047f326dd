//! [`Package`]: documents that are zip files of XML: office documents and books.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::io::{Cursor, Read, Write};

use zip::result::ZipResult;
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use super::html::xhtml_parts;
use super::parts::{PartQueue, ReadPackage};
use super::xml::{MAX_XML_BYTES, XmlKind, XmlRules, column_names, table_parts};
use crate::{Part, ReadError};

/// Maximum size of a file, in bytes; it is held in memory, and so is its translation.
const MAX_FILE_BYTES: u64 = 1 << 28;

const MAX_TEXT_BYTES: u64 = 1 << 29;

const MAX_ENTRIES: usize = 1 << 16;

/// The end of an entry in the text of the package. No XML has this character.
const END: char = '\0';

const REMEDY: &str = "save the document again with the program that made it";

/// The kind of a package: it determines the entries with text, and their rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum PackageKind {
    /// Word documents.
    Docx,
    /// PowerPoint slides.
    Pptx,
    /// Excel sheets.
    Xlsx,
    /// OpenDocument texts, sheets and slides.
    OpenDocument,
    /// Books.
    Epub,
}

pub(super) struct Package {
    name: String,
    kind: PackageKind,
    archive: ZipArchive<Cursor<Vec<u8>>>,
    writer: ZipWriter<Cursor<Vec<u8>>>,
    n_read: usize,
    n_text_bytes: u64,
    /// The names of the columns of a spreadsheet's tables, which its cells must equal; `None` before they are read.
    columns: Option<HashSet<String>>,
    /// The entries with text that have been read but not written.
    waiting: VecDeque<usize>,
    n_written: usize,
    /// The start of the next entry to write.
    text: String,
}

enum EntryRules {
    Xml(Box<XmlRules>),
    Html,
}

impl ReadPackage for Package {
    fn read(&mut self, parts: &mut PartQueue) -> Result<bool, ReadError> {
        while self.n_read < self.archive.len() {
            let index = self.n_read;
            self.n_read += 1;
            let entry = self.archive.by_index_raw(index);
            let path = entry.and_then(|it| it.name().map(Cow::into_owned));
            let path = path.map_err(|error| self.refused("its list", error, REMEDY))?;
            let Some(rules) = self.kind.rules(&path) else {
                continue;
            };
            let text = self.read_text(index, &path)?;
            let mut entry = match rules {
                EntryRules::Xml(rules) => table_parts(&text, &rules)
                    .map_err(|it| self.refused(&path, it.problem, "divide the document"))?,
                EntryRules::Html => {
                    let name = format!("{}, `{path}`", self.name);
                    xhtml_parts(name, text)?
                }
            };
            if self.kind == PackageKind::Xlsx {
                let columns = self.read_columns()?;
                for part in &mut entry {
                    if matches!(part, Part::Passage(it) if columns.contains(it.text.trim())) {
                        *part = Part::Verbatim(part.source());
                    }
                }
            }
            if entry.iter().any(|part| matches!(part, Part::Passage(_))) {
                self.waiting.push_back(index);
                parts.extend(entry);
                parts.push_verbatim(&END.to_string());
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn write(&mut self, text: &str) -> Result<(), ReadError> {
        let mut rest = text;
        while let Some((end, after)) = rest.split_once(END) {
            self.text.push_str(end);
            let written = self.write_entry();
            written.map_err(|error| self.refused("its translation", error, REMEDY))?;
            rest = after;
        }
        self.text.push_str(rest);
        Ok(())
    }

    fn end(&mut self) -> Result<Vec<u8>, ReadError> {
        let len = self.archive.len();
        let written = self.copy_until(len).and_then(|()| {
            self.writer.set_raw_comment(self.archive.comment().into())?;
            let writer = std::mem::replace(&mut self.writer, ZipWriter::new(Cursor::default()));
            writer.finish()
        });
        match written {
            Ok(written) => Ok(written.into_inner()),
            Err(error) => Err(self.refused("its translation", error, REMEDY)),
        }
    }
}

impl Package {
    pub(super) fn new(
        name: String,
        input: impl Read,
        kind: PackageKind,
    ) -> Result<Self, ReadError> {
        let refused = |problem: String, remedy| ReadError::Syntax {
            name: name.clone(),
            line: 1,
            problem,
            remedy,
        };
        let mut bytes = Vec::new();
        let read = input.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| transformer_text::lines::LineError::of_read(&name, 0, error))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            let problem = format!("the file has more than {MAX_FILE_BYTES} bytes, the limit");
            return Err(refused(problem, "divide the document"));
        }
        let archive = ZipArchive::new(Cursor::new(bytes))
            .map_err(|error| refused(format!("expected a zip file: {error}"), REMEDY))?;
        if archive.len() > MAX_ENTRIES {
            let problem = format!("the file has more than {MAX_ENTRIES} entries, the limit");
            return Err(refused(problem, REMEDY));
        }
        Ok(Self {
            kind,
            archive,
            writer: ZipWriter::new(Cursor::default()),
            n_read: 0,
            n_text_bytes: 0,
            columns: None,
            waiting: VecDeque::new(),
            n_written: 0,
            text: String::new(),
            name,
        })
    }

    fn read_columns(&mut self) -> Result<&HashSet<String>, ReadError> {
        if self.columns.is_none() {
            let names = self.archive.file_names().flatten().map(Cow::into_owned);
            let is_table = |it: &String| it.starts_with("xl/tables/") && it.ends_with(".xml");
            let paths: Vec<String> = names.filter(is_table).collect();
            let mut columns = HashSet::new();
            for path in paths {
                if let Some(index) = self.archive.index_for_name(&path) {
                    columns.extend(column_names(&self.read_text(index, &path)?));
                }
            }
            self.columns = Some(columns);
        }
        Ok(self.columns.get_or_insert_default())
    }

    fn read_text(&mut self, index: usize, path: &str) -> Result<String, ReadError> {
        let limit = MAX_XML_BYTES as u64;
        let mut bytes = Vec::new();
        let entry = self.archive.by_index(index);
        let read = entry.and_then(|entry| Ok(entry.take(limit + 1).read_to_end(&mut bytes)?));
        let remedy = "remove its password, or save the document again";
        read.map_err(|error| self.refused(path, error, remedy))?;
        self.n_text_bytes += bytes.len() as u64;
        if bytes.len() as u64 > limit || self.n_text_bytes > MAX_TEXT_BYTES {
            let problem =
                format!("it has more than {limit} bytes, or all of them {MAX_TEXT_BYTES}");
            return Err(self.refused(path, problem, "divide the document"));
        }
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains(END) => Ok(text),
            _ => Err(self.refused(path, "expected text in UTF-8", REMEDY)),
        }
    }

    fn refused(&self, entry: &str, problem: impl fmt::Display, remedy: &'static str) -> ReadError {
        ReadError::Syntax {
            name: format!("{}, `{entry}`", self.name),
            line: 1,
            problem: problem.to_string(),
            remedy,
        }
    }

    fn write_entry(&mut self) -> ZipResult<()> {
        let Some(index) = self.waiting.pop_front() else {
            return Ok(());
        };
        self.copy_until(index)?;
        let entry = self.archive.by_index_raw(index)?;
        let mut options = SimpleFileOptions::default().compression_method(entry.compression());
        if let Some(time) = entry.last_modified() {
            options = options.last_modified_time(time);
        }
        if let Some(mode) = entry.unix_mode() {
            options = options.unix_permissions(mode);
        }
        let path = entry.name()?.into_owned();
        drop(entry);
        self.writer.start_file(path, options)?;
        self.writer.write_all(self.text.as_bytes())?;
        self.text.clear();
        self.n_written = index + 1;
        Ok(())
    }

    /// Copies the entries without text, as they are compressed.
    fn copy_until(&mut self, index: usize) -> ZipResult<()> {
        for index in self.n_written..index {
            let entry = self.archive.by_index_raw(index)?;
            self.writer.raw_copy_file(entry)?;
        }
        self.n_written = index;
        Ok(())
    }
}

impl fmt::Debug for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Package");
        shown.field("name", &self.name).field("kind", &self.kind);
        shown.finish_non_exhaustive()
    }
}

impl PackageKind {
    fn rules(self, path: &str) -> Option<EntryRules> {
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let (stem, extension) = file.rsplit_once('.')?;
        let stem = stem.trim_end_matches(|c: char| c.is_ascii_digit());
        let xml = match (self, folder, stem) {
            (Self::Epub, ..) => {
                let is_page = matches!(extension, "xhtml" | "html" | "htm");
                return is_page.then_some(EntryRules::Html);
            }
            _ if extension != "xml" => None,
            (
                Self::Docx,
                "word",
                "document" | "header" | "footer" | "footnotes" | "endnotes" | "comments",
            ) => Some(XmlKind::Word),
            (Self::Docx, "word/charts", "chart")
            | (Self::Docx, "word/diagrams", "data" | "drawing") => Some(XmlKind::Drawing),
            (Self::Pptx, "ppt/slides", "slide")
            | (Self::Pptx, "ppt/notesSlides", "notesSlide")
            | (Self::Pptx, "ppt/charts", "chart")
            | (Self::Pptx, "ppt/diagrams", "data" | "drawing")
            | (Self::Xlsx, "xl/drawings", "drawing")
            | (Self::Xlsx, "xl/charts", "chart") => Some(XmlKind::Drawing),
            (Self::Xlsx, "xl", "sharedStrings" | "comments")
            | (Self::Xlsx, "xl/comments", "comment" | "comments")
            | (Self::Xlsx, "xl/worksheets", "sheet") => Some(XmlKind::Sheet),
            (Self::OpenDocument, "", "content" | "styles") => Some(XmlKind::OpenDocument),
            _ => None,
        };
        xml.map(|kind| EntryRules::Xml(Box::new(kind.rules())))
    }
}
