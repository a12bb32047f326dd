//! [`Rows`]: the rows of a table, and the positions of their cells.

use std::ops::Range;

use super::options::TableKind;
use crate::ReadError;
use crate::format::lines::{MAX_RECORD_BYTES, SourceLines, split_byte_order_mark, split_line_end};

/// A row as written in the file, including its line end.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) text: String,
    pub(super) cells: Vec<Cell>,
    /// Number of its first line.
    pub(super) number: u64,
}

/// A cell of a row.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// Its bytes in the row, without the quotation marks around it.
    pub(super) range: Range<usize>,
    pub(super) is_quoted: bool,
}

/// A reader of rows.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) lines: SourceLines,
    kind: TableKind,
}

impl Row {
    /// Returns whether the row is an empty line.
    pub(super) fn is_empty(&self) -> bool {
        matches!(&self.cells[..], [cell] if cell.range.is_empty() && !cell.is_quoted)
    }

    /// Returns the text of a cell.
    pub(super) fn cell_text(&self, cell: &Cell) -> String {
        let text = &self.text[cell.range.clone()];
        if cell.is_quoted {
            text.replace("\"\"", "\"")
        } else {
            text.to_owned()
        }
    }
}

impl Rows {
    pub(super) fn new(lines: SourceLines, kind: TableKind) -> Self {
        Self { lines, kind }
    }

    /// Returns the next row; `None` at the end.
    pub(super) fn next_row(&mut self) -> Result<Option<Row>, ReadError> {
        let Some(text) = self.lines.next_line()? else {
            return Ok(None);
        };
        let number = self.lines.n_read();
        let start = if number == 1 {
            split_byte_order_mark(&text).0.len()
        } else {
            0
        };
        let mut row = Row {
            text,
            cells: Vec::new(),
            number,
        };
        match self.kind {
            TableKind::Tsv => split_at_tabs(&mut row, start),
            TableKind::Csv { separator } => self.read_csv(&mut row, start, separator)?,
        }
        Ok(Some(row))
    }

    /// Finds the cells of a row of CSV, and reads further lines if a cell in quotation marks has several.
    fn read_csv(&mut self, row: &mut Row, mut at: usize, separator: char) -> Result<(), ReadError> {
        loop {
            let is_quoted = row.text[at..].starts_with('"');
            let range = if is_quoted {
                at + 1..self.find_closing_quote(row, at + 1)?
            } else {
                let line = split_line_end(&row.text[at..]).0;
                at..at + line.find(separator).unwrap_or(line.len())
            };
            if !is_quoted && row.text[range.clone()].contains('\r') {
                return Err(self.lines.syntax(
                    self.lines.n_read(),
                    "there is a carriage return without a line feed",
                    "end lines with a line feed, or put the cell in quotation marks",
                ));
            }
            at = range.end + usize::from(is_quoted);
            row.cells.push(Cell { range, is_quoted });
            let rest = split_line_end(&row.text[at..]).0;
            if rest.starts_with(separator) {
                at += separator.len_utf8();
            } else if rest.is_empty() {
                return Ok(());
            } else {
                let problem = format!(
                    "expected `{separator}` or the end of the row after the quotation mark that closes cell {}",
                    row.cells.len()
                );
                return Err(self.lines.syntax(
                    self.lines.n_read(),
                    problem,
                    "double the quotation marks inside cells, or give another separator",
                ));
            }
        }
    }

    /// Returns the position of the quotation mark that closes a cell.
    fn find_closing_quote(&mut self, row: &mut Row, start: usize) -> Result<usize, ReadError> {
        let first_line = self.lines.n_read();
        let mut at = start;
        loop {
            while let Some(found) = row.text[at..].find('"') {
                at += found;
                if !row.text[at + 1..].starts_with('"') {
                    return Ok(at);
                }
                at += 2;
            }
            at = row.text.len();
            let Some(line) = self.lines.next_line()? else {
                return Err(self.lines.syntax(
                    first_line,
                    "a quotation mark that opens a cell is not closed",
                    "close it, or put the cell in quotation marks and write those inside of it twice",
                ));
            };
            row.text.push_str(&line);
            if row.text.len() > MAX_RECORD_BYTES {
                return Err(self.lines.too_large(row.number, "the row"));
            }
        }
    }
}

fn split_at_tabs(row: &mut Row, start: usize) {
    let mut at = start;
    for text in split_line_end(&row.text[start..]).0.split('\t') {
        row.cells.push(Cell {
            range: at..at + text.len(),
            is_quoted: false,
        });
        at += text.len() + 1;
    }
}
