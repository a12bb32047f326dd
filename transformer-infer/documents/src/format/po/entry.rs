//! [`Entry`]: a message of a catalog, including its comments.

use std::sync::Arc;

use super::line::{Keyword, Line, LineKind};
use super::line::{PoText, has_lines, spell};
use super::reader::Header;
use super::reader::{Filled, PoOptions};
use crate::Notation;
use crate::format::parts::PartQueue;
use crate::format::source::split_line_end;

#[derive(Debug, Default)]
pub(super) struct Entry {
    pub(super) lines: Vec<Line>,
    fields: Vec<Field>,
}

/// A keyword and its string of one or more lines.
#[derive(Debug)]
struct Field {
    keyword: Keyword,
    text: String,
    /// The indices of its first and last line; comments may be between them.
    first: usize,
    last: usize,
}

impl Entry {
    /// Adds a line; the error says why it is not allowed here.
    pub(super) fn push(&mut self, line: Line) -> Result<(), String> {
        let index = self.lines.len();
        match &line.kind {
            LineKind::Field(keyword, quoted) => {
                if matches!(keyword, Keyword::Singular | Keyword::Other) && !self.has(Keyword::Id) {
                    return Err("expected `msgid` before `msgstr`".to_owned());
                }
                if *keyword != Keyword::Other && self.has(*keyword) {
                    return Err("expected `msgstr` before the next message".to_owned());
                }
                self.fields.push(Field {
                    keyword: *keyword,
                    text: quoted.text.clone(),
                    first: index,
                    last: index,
                });
            }
            LineKind::More(quoted) => {
                let field = self.fields.last_mut();
                let field = field.ok_or("expected a keyword before the string")?;
                field.text.push_str(&quoted.text);
                field.last = index;
            }
            LineKind::Blank | LineKind::Comment => {}
        }
        self.lines.push(line);
        Ok(())
    }

    pub(super) fn ends_before(&self, line: &Line) -> bool {
        let goes_on = matches!(
            line.kind,
            LineKind::More(_) | LineKind::Field(Keyword::Singular | Keyword::Other, _)
        );
        self.has_translation() && !goes_on
    }

    pub(super) fn has_fields(&self) -> bool {
        !self.fields.is_empty()
    }

    pub(super) fn has_translation(&self) -> bool {
        self.has(Keyword::Singular) || self.has(Keyword::Other)
    }

    fn has(&self, keyword: Keyword) -> bool {
        self.fields.iter().any(|field| field.keyword == keyword)
    }

    /// Returns whether this is the header, the message without text.
    pub(super) fn is_header(&self) -> bool {
        self.text_of(Keyword::Id) == Some("") && !self.has(Keyword::Context)
    }

    pub(super) fn text_of(&self, keyword: Keyword) -> Option<&str> {
        let field = self.fields.iter().find(|field| field.keyword == keyword);
        field.map(|field| field.text.as_str())
    }

    pub(super) fn push_parts(&self, header: Header, options: PoOptions, parts: &mut PartQueue) {
        let source = |field| self.source_of(field, header, options);
        let sources: Vec<Option<&str>> = self.fields.iter().map(source).collect();
        let mut fuzzy_at =
            (options.fuzzy && sources.iter().any(Option::is_some)).then(|| self.fuzzy_line());
        let mut fields = self.fields.iter().zip(&sources).peekable();
        let mut index = 0;
        while index < self.lines.len() {
            if fuzzy_at == Some(index) {
                fuzzy_at = None;
                if self.push_fuzzy(index, parts) {
                    index += 1;
                    continue;
                }
            }
            while fields.next_if(|(field, _)| field.first < index).is_some() {}
            match fields.peek() {
                Some((field, Some(source))) if field.first == index => {
                    self.push_translation(field, source, parts);
                    index = field.last + 1;
                }
                _ => {
                    parts.push_verbatim(&self.lines[index].source);
                    index += 1;
                }
            }
        }
    }

    /// Returns the text to translate for a `msgstr`; `None` if the field is copied.
    fn source_of(&self, field: &Field, header: Header, options: PoOptions) -> Option<&str> {
        let is_form = |keyword| matches!(keyword, Keyword::Singular | Keyword::Other);
        if !is_form(field.keyword) {
            return None;
        }
        let n_forms = self.fields.iter().filter(|it| is_form(it.keyword)).count();
        let plural = self.text_of(header.source_of(field.keyword, n_forms));
        let source = plural.or_else(|| self.text_of(Keyword::Id))?;
        let is_kept = options.filled == Filled::Keep && !field.text.is_empty();
        let has_letters = source.chars().any(char::is_alphabetic);
        (!self.is_header() && !is_kept && has_letters).then_some(source)
    }

    fn push_translation(&self, field: &Field, source: &str, parts: &mut PartQueue) {
        let (first, last) = (&self.lines[field.first], &self.lines[field.last]);
        let (LineKind::Field(_, opening), LineKind::Field(_, closing) | LineKind::More(closing)) =
            (&first.kind, &last.kind)
        else {
            return;
        };
        let line_end = match split_line_end(&first.source).1 {
            "" => "\n",
            line_end => line_end,
        };
        parts.push_verbatim(&first.source[..opening.start]);
        if has_lines(source) {
            parts.push_verbatim("\"\"");
            parts.push_verbatim(line_end);
        }
        let notation: Arc<dyn Notation> = Arc::new(PoText);
        parts.push_verbatim("\"");
        spell(source, line_end).push_parts(&notation, parts);
        parts.push_verbatim("\"");
        parts.push_verbatim(&last.source[closing.end..]);
    }

    /// Returns the index of the line with the flags, or of the line before which to insert them.
    fn fuzzy_line(&self) -> usize {
        let first_field = self.fields.first().map_or(0, |field| field.first);
        let comments = &self.lines[..first_field];
        let flags = comments.iter().position(Line::is_flags);
        let is_previous = |line: &Line| line.source.trim_start().starts_with("#|");
        let previous = || comments.iter().position(is_previous);
        flags.or_else(previous).unwrap_or(first_field)
    }

    /// Writes the flag `fuzzy`; returns whether this included the line at the index.
    fn push_fuzzy(&self, index: usize, parts: &mut PartQueue) -> bool {
        let line = &self.lines[index];
        let (content, line_end) = split_line_end(&line.source);
        if !line.is_flags() {
            parts.push_verbatim("#, fuzzy");
            parts.push_verbatim(if line_end.is_empty() { "\n" } else { line_end });
            return false;
        }
        let Some((before, flags)) = content.split_once("#,") else {
            return false;
        };
        let is_fuzzy = flags.split(',').any(|flag| flag.trim() == "fuzzy");
        let added = if is_fuzzy { "" } else { " fuzzy," };
        parts.push_verbatim(&format!("{before}#,{added}{flags}{line_end}"));
        true
    }
}
