//! [`Format`]: the formats by their names, and the reader of each.

use std::fmt;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use super::{Paragraphs, TextReader};
use crate::document::{DocumentError, Part};

/// The format of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Plain text.
    Text,
}

/// A name or an extension that is of no format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is of no known format; choose {}", Format::names())]
pub struct FormatError {
    /// The name given.
    pub name: String,
}

/// How the formats are read; each field is for one format.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FormatOptions {
    /// What ends a paragraph of plain text.
    pub paragraphs: Paragraphs,
}

/// The parts of a document, in order.
pub type Parts = Box<dyn Iterator<Item = Result<Part, DocumentError>>>;

/// The formats with their names; the first is the one that is printed, and all are extensions of files.
const NAMES: &[(Format, &[&str])] = &[(Format::Text, &["txt", "text"])];

impl Format {
    /// Returns the format of a file by its extension.
    ///
    /// # Errors
    ///
    /// Returns a [`FormatError`] that lists the formats if the extension is not known.
    pub fn of_path(path: &Path) -> Result<Self, FormatError> {
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        extension.parse().map_err(|_| FormatError {
            name: path.display().to_string(),
        })
    }

    /// Reads a document of this format, which error messages call by `name`.
    ///
    /// # Errors
    ///
    /// Returns a [`DocumentError`] if the first part of the document cannot be read; later ones are errors among the
    /// parts.
    pub fn read(
        self,
        name: String,
        input: impl Read + Send + 'static,
        options: &FormatOptions,
    ) -> Result<Parts, DocumentError> {
        Ok(match self {
            Self::Text => Box::new(TextReader::new(name, input, options.paragraphs)),
        })
    }

    fn names() -> String {
        let names: Vec<&str> = NAMES.iter().map(|(_, names)| names[0]).collect();
        let (last, others) = names.split_last().expect("there are formats");
        match others.is_empty() {
            true => (*last).to_owned(),
            false => format!("{} or {last}", others.join(", ")),
        }
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
