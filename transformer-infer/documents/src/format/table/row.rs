//! [`Row`]: a row of a table, and the positions of its cells.

use std::ops::Range;

use crate::ReadError;
use crate::format::source::{MAX_RECORD_BYTES, Source, split_line_end};

#[derive(Debug)]
pub(super) struct Row {
    pub(super) text: String,
    pub(super) cells: Vec<Cell>,
    pub(super) number: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// Its bytes in the row, without the quotation marks around it.
    pub(super) range: Range<usize>,
    pub(super) is_quoted: bool,
}

impl Row {
    pub(super) fn is_empty(&self) -> bool {
        matches!(&self.cells[..], [cell] if cell.range.is_empty() && !cell.is_quoted)
    }

    pub(super) fn cell_text(&self, cell: &Cell) -> String {
        let text = &self.text[cell.range.clone()];
        match cell.is_quoted {
            true => text.replace("\"\"", "\""),
            false => text.to_owned(),
        }
    }
}

/// Reads the next row; `None` at the end. Without a separator, its cells are separated by tabs.
pub(super) fn next_row(
    source: &mut Source,
    separator: Option<char>,
) -> Result<Option<Row>, ReadError> {
    let Some(text) = source.next_line()? else {
        return Ok(None);
    };
    let mut row = Row {
        text,
        cells: Vec::new(),
        number: source.n_read(),
    };
    match separator {
        None => split_at_tabs(&mut row),
        Some(separator) => read_csv(source, &mut row, separator)?,
    }
    Ok(Some(row))
}

/// Finds the cells of a row of CSV, and reads further lines if a cell in quotation marks has several.
fn read_csv(source: &mut Source, row: &mut Row, separator: char) -> Result<(), ReadError> {
    let mut at = 0;
    loop {
        let is_quoted = row.text[at..].starts_with('"');
        let range = if is_quoted {
            at + 1..find_closing_quote(source, row, at + 1)?
        } else {
            let line = split_line_end(&row.text[at..]).0;
            at..at + line.find(separator).unwrap_or(line.len())
        };
        if !is_quoted && row.text[range.clone()].contains('\r') {
            let problem = "there is a carriage return without a line feed";
            let remedy = "end lines with a line feed, or put the cell in quotation marks";
            return Err(source.syntax(source.n_read(), problem, remedy));
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
            let remedy = "double the quotation marks inside cells, or give another separator";
            return Err(source.syntax(source.n_read(), problem, remedy));
        }
    }
}

fn find_closing_quote(
    source: &mut Source,
    row: &mut Row,
    start: usize,
) -> Result<usize, ReadError> {
    let first_line = source.n_read();
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
        let Some(line) = source.next_line()? else {
            return Err(source.syntax(
                first_line,
                "a quotation mark that opens a cell is not closed",
                "close it, or put the cell in quotation marks and write those inside of it twice",
            ));
        };
        row.text.push_str(&line);
        if row.text.len() > MAX_RECORD_BYTES {
            return Err(source.too_large(row.number, "the row"));
        }
    }
}

fn split_at_tabs(row: &mut Row) {
    let mut at = 0;
    for text in split_line_end(&row.text).0.split('\t') {
        row.cells.push(Cell {
            range: at..at + text.len(),
            is_quoted: false,
        });
        at += text.len() + 1;
    }
}
