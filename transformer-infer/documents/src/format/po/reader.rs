//! [`Po`]: reads catalogs.

use super::entry::Entry;
use super::header::Header;
use super::line::{Keyword, Line, LineKind};
use super::options::PoOptions;
use crate::ReadError;
use crate::format::parts::{PartQueue, ReadParts};
use crate::format::source::{MAX_RECORD_BYTES, Source};

const RECODE: &str = "convert it with `msgconv --to-code=UTF-8`";

const REMEDY: &str = "check the catalog with `msgfmt --check`";

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
    fn read_parts(
        &mut self,
        source: &mut Source,
        parts: &mut PartQueue,
    ) -> Result<bool, ReadError> {
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
            let text = entry
                .text_of(Keyword::Singular)
                .unwrap_or_default()
                .to_owned();
            self.header = Header::read(&text, &mut entry.lines).map_err(|charset| {
                let name = charset.name;
                let problem =
                    format!("the catalog declares its charset as `{name}`, expected UTF-8");
                let line = self.first_line + charset.line as u64;
                source.syntax(line, problem, RECODE)
            })?;
        }
        entry.push_parts(self.header, self.options, parts);
        self.n_bytes = 0;
        Ok(())
    }
}
