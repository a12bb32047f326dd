//! [`Table`]: reads tables; and the notations of cells.

use std::borrow::Cow;
use std::sync::Arc;

use super::columns::{FirstRow, TableOptions, find_columns};
use super::row::{Cell, Row, next_row};
use crate::format::parts::{PartQueue, ReadParts};
use crate::format::quoted::{QuotedText, Quotes};
use crate::format::source::Source;
use crate::format::spelling::with_source;
use crate::format::value::Value;
use crate::{Mark, MarkKind, Notation, Part, Passage, Plain, Raw, ReadError};

/// A reader of tables. A cell of a translated column is a passage; line ends inside it are breaks, and blank lines end
/// a passage. Everything else is verbatim. All rows need as many cells as the first, except for empty lines.
#[derive(Debug)]
pub(in crate::format) struct Table {
    /// The separator of the cells of CSV (RFC 4180); `None` for TSV, in which quotation marks are text.
    separator: Option<char>,
    options: TableOptions,
    /// For each column, true if it is translated; `None` before the first row.
    columns: Option<Vec<bool>>,
}

impl Table {
    pub(in crate::format) fn new(separator: Option<char>, options: TableOptions) -> Self {
        Self {
            separator,
            options,
            columns: None,
        }
    }
}

impl ReadParts for Table {
    fn read(&mut self, source: &mut Source, parts: &mut PartQueue) -> Result<bool, ReadError> {
        if let Some(separator @ ('"' | '\n' | '\r')) = self.separator {
            let problem = format!("{separator:?} does not separate cells");
            return Err(source.syntax(1, problem, "name another separator, such as `,` or `;`"));
        }
        let Some(row) = next_row(source, self.separator)? else {
            return Ok(false);
        };
        if row.is_empty() {
            parts.push_verbatim(&row.text);
            return Ok(true);
        }
        let is_first = self.columns.is_none();
        let columns = match self.columns.take() {
            Some(columns) => columns,
            None => find_columns(source, &row, &self.options)?,
        };
        if row.cells.len() != columns.len() {
            let (n_cells, n_columns) = (row.cells.len(), columns.len());
            let problem = format!("the row has {n_cells} cells, and the first row has {n_columns}");
            let remedy = "correct the row, or name another separator";
            return Err(source.syntax(row.number, problem, remedy));
        }
        if is_first && self.options.first_row == FirstRow::Header {
            parts.push_verbatim(&row.text);
        } else {
            self.push_row(&row, &columns, parts);
        }
        self.columns = Some(columns);
        Ok(true)
    }
}

impl Table {
    fn push_row(&self, row: &Row, columns: &[bool], parts: &mut PartQueue) {
        let mut at = 0;
        for (cell, is_translated) in row.cells.iter().zip(columns) {
            if *is_translated {
                parts.push_verbatim(&row.text[at..cell.range.start]);
                self.push_cell(&row.text[cell.range.clone()], cell, parts);
                at = cell.range.end;
            }
        }
        parts.push_verbatim(&row.text[at..]);
    }

    fn push_cell(&self, source: &str, cell: &Cell, parts: &mut PartQueue) {
        match self.separator {
            None => {
                let notation: Arc<dyn Notation> = Arc::new(TsvText);
                Value::plain(source).push_parts(&notation, parts);
            }
            Some(_) if cell.is_quoted => push_quoted(source, parts),
            Some(separator) => push_unquoted(source, separator, parts),
        }
    }
}

fn push_quoted(source: &str, parts: &mut PartQueue) {
    let quotes = Quotes::Twice('"');
    let value = quotes
        .decode(source)
        .unwrap_or_else(|| Value::plain(source));
    let notation: Arc<dyn Notation> = Arc::new(QuotedText {
        quotes,
        is_ascii: false,
    });
    value.push_parts(&notation, parts);
}

fn push_unquoted(source: &str, separator: char, parts: &mut PartQueue) {
    if !source.chars().any(char::is_alphabetic) {
        parts.push_verbatim(source);
        return;
    }
    let text = source.trim_matches([' ', '\t']);
    let (before, after) = source.split_once(text).unwrap_or_default();
    let notation: Arc<dyn Notation> = Arc::new(Plain);
    let mut inside = PartQueue::default();
    Value::plain(text).push_parts(&notation, &mut inside);
    // The cell is completed as a whole, since all of it gets quotation marks if any part needs them.
    let mut passage = match &inside.into_parts()[..] {
        [Part::Passage(passage)] => passage.clone(),
        inside => Passage {
            marks: vec![Mark {
                range: 0..0,
                parent: None,
                kind: MarkKind::Point {
                    raw: Raw(inside.to_vec()),
                },
            }],
            ..Passage::plain("")
        },
    };
    passage.notation = Arc::new(UnquotedCell {
        notation: Arc::clone(&passage.notation),
        before: before.to_owned(),
        after: after.to_owned(),
        separator,
    });
    parts.push_passage(with_source(passage, source.to_owned()));
}

/// A cell of CSV without quotation marks; its translation gets them if needed.
#[derive(Debug)]
pub(super) struct UnquotedCell {
    /// The notation of the text between the spaces.
    pub(super) notation: Arc<dyn Notation>,
    pub(super) before: String,
    pub(super) after: String,
    pub(super) separator: char,
}

#[derive(Debug)]
pub(super) struct TsvText;

impl Notation for UnquotedCell {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.notation.escape(text)
    }

    fn complete(&self, written: String) -> String {
        let written = self.notation.complete(written);
        let cell = format!("{}{written}{}", self.before, self.after);
        if cell.contains(['"', '\n', '\r', self.separator]) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell
        }
    }
}

impl Notation for TsvText {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        Cow::Owned(text.replace(['\t', '\n', '\r'], " "))
    }
}
