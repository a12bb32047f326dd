//! [`Po`]: reads catalogs and their headers.

use super::entry::Entry;
use super::line::{Keyword, Line, LineKind};
use crate::ReadError;
use crate::format::parts::{PartQueue, ReadParts};
use crate::format::source::{MAX_RECORD_BYTES, Source};

/// The selection of messages to translate in a catalog, and the marking of translations.
#[derive(Clone, Copy, Debug, Default)]
pub struct PoOptions {
    /// The treatment of messages that have a translation.
    pub filled: Filled,
    /// True if translations get the flag `fuzzy`, with which gettext's tools mark those that nobody has reviewed.
    /// Programs do not use them until a person removes the flag. Default: false.
    pub fuzzy: bool,
}

/// The treatment of a `msgstr` that is not empty.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Filled {
    /// It stays.
    #[default]
    Keep,
    /// It is translated again.
    Overwrite,
}

const RECODE: &str = "convert it with `msgconv --to-code=UTF-8`";

const REMEDY: &str = "check the catalog with `msgfmt --check`, or rewrite it with `msgcat`";

/// A reader of gettext's message catalogs.
///
/// The text of a passage is a `msgid`, and the passage is in the place of the `msgstr`. So the untranslated parts
/// differ from the file: each `msgstr` to translate contains its `msgid`, as if the translation were a copy.
/// `msgstr[0]` is translated from `msgid`, unless the header says that it covers numbers other than 0 and 1; the other
/// forms are translated from `msgid_plural`. So languages with more than two forms need manual correction. Labels, list
/// items and paragraphs are separate passages. Everything else is verbatim.
#[derive(Debug)]
pub(in crate::format) struct Po {
    options: PoOptions,
    header: Header,
    entry: Entry,
    /// The first line and the size in bytes of the entry.
    first_line: u64,
    n_bytes: usize,
}

impl Po {
    pub(in crate::format) fn new(options: PoOptions) -> Self {
        Self {
            options,
            header: Header::default(),
            entry: Entry::default(),
            first_line: 1,
            n_bytes: 0,
        }
    }
}

impl ReadParts for Po {
    fn read(&mut self, source: &mut Source, parts: &mut PartQueue) -> Result<bool, ReadError> {
        let Some(text) = source.next_line()? else {
            self.end_entry(source, parts)?;
            return Ok(false);
        };
        let number = source.n_read();
        let line = Line::parse(text).map_err(|problem| source.syntax(number, problem, REMEDY))?;
        let is_between = matches!(line.kind, LineKind::Blank) && !self.entry.has_fields();
        if self.entry.ends_before(&line) || is_between {
            self.end_entry(source, parts)?;
        }
        if self.n_bytes == 0 {
            self.first_line = number;
        }
        self.n_bytes += line.source.len();
        if self.n_bytes > MAX_RECORD_BYTES {
            return Err(source.too_large(self.first_line, "the message"));
        }
        let pushed = self.entry.push(line);
        pushed.map_err(|problem| source.syntax(number, problem, REMEDY))?;
        Ok(true)
    }
}

impl Po {
    fn end_entry(&mut self, source: &Source, parts: &mut PartQueue) -> Result<(), ReadError> {
        let mut entry = std::mem::take(&mut self.entry);
        if entry.has_fields() && !entry.has_translation() {
            let problem = "the message that begins here has no `msgstr`";
            return Err(source.syntax(self.first_line, problem, REMEDY));
        }
        if entry.is_header() {
            let text = entry.text_of(Keyword::Singular);
            let text = text.unwrap_or_default().to_owned();
            self.header = Header::read(&text, &mut entry.lines).map_err(|(charset, line)| {
                let problem =
                    format!("the catalog declares its charset as `{charset}`, expected UTF-8");
                source.syntax(self.first_line + line as u64, problem, RECODE)
            })?;
        }
        entry.push_parts(self.header, self.options, parts);
        self.n_bytes = 0;
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Header {
    /// True if `msgstr[0]` also covers numbers other than 0 and 1.
    has_many_in_first_form: bool,
}

impl Header {
    /// Reads a header, given its text and lines. A template's charset, and ASCII, become UTF-8.
    pub(super) fn read(text: &str, lines: &mut [Line]) -> Result<Self, (String, usize)> {
        let plural = field(text, "plural-forms").and_then(|forms| forms.split_once("plural="));
        let has_many_in_first_form = plural.is_some_and(|(_, formula)| {
            let formula = formula.replace([' ', '(', ')', ';'], "");
            let is_singular = ["n!=1", "n>1", "n==1?0:1"].contains(&formula.as_str());
            !is_singular && !formula.starts_with("n==1?0:")
        });
        let charset = field(text, "content-type").and_then(|it| it.split_once("charset="));
        if let Some((_, name)) = charset {
            let name = name.split([';', ' ']).next().unwrap_or_default().to_owned();
            let declares = |line: &Line| line.source.contains(&format!("charset={name}"));
            let line = lines.iter().position(declares).unwrap_or(0);
            match name.to_ascii_uppercase().as_str() {
                "UTF-8" | "UTF8" | "" => {}
                "CHARSET" | "ASCII" | "US-ASCII" | "ANSI_X3.4-1968" => {
                    if let Some(line) = lines.get_mut(line) {
                        line.recode(&name);
                    }
                }
                _ => return Err((name, line)),
            }
        }
        Ok(Self {
            has_many_in_first_form,
        })
    }

    /// Returns the keyword of the source text for a form of the plural, if the message has two texts.
    pub(super) fn source_of(self, form: Keyword, n_forms: usize) -> Keyword {
        let is_singular = form == Keyword::Singular && n_forms > 1 && !self.has_many_in_first_form;
        match is_singular {
            true => Keyword::Id,
            false => Keyword::Plural,
        }
    }
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    let mut found = fields.filter(|(it, _)| it.trim().eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value.trim())
}
