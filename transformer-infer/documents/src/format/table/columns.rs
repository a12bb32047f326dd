//! [`TableOptions`]: the selection of cells to translate in a table, and [`find_columns`], their columns.

use super::row::Row;
use crate::ReadError;
use crate::format::source::Source;

/// The selection of cells to translate in a table.
#[derive(Clone, Debug, Default)]
pub struct TableOptions {
    /// The columns to translate; a table without any is refused.
    pub columns: Vec<Column>,
    /// The meaning of the first row.
    pub first_row: FirstRow,
}

/// A column of a table.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Column {
    /// The columns with this cell in the first row, apart from spaces around it.
    Name(String),
    /// The column with this number, counted from 1.
    Number(usize),
}

/// The meaning of the first row of a table.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum FirstRow {
    /// The names of the columns, which are not translated.
    #[default]
    Header,
    /// Cells like those of the other rows.
    Data,
}

impl From<&str> for Column {
    fn from(text: &str) -> Self {
        match text.parse() {
            Ok(number) => Self::Number(number),
            Err(_) => Self::Name(text.to_owned()),
        }
    }
}

const MAX_LISTED: usize = 40;

/// Returns for each column of the first row whether to translate it.
pub(super) fn find_columns(
    source: &Source,
    first: &Row,
    options: &TableOptions,
) -> Result<Vec<bool>, ReadError> {
    let text = |cell| first.cell_text(cell).trim().to_owned();
    let names: Vec<String> = first.cells.iter().map(text).collect();
    let refuse = |problem: String, remedy| {
        let problem = format!("{problem}; the columns are {}", list(&names));
        Err(source.syntax(first.number, problem, remedy))
    };
    let mut is_translated = vec![false; names.len()];
    for column in &options.columns {
        match column {
            Column::Number(number) => {
                let index = number.checked_sub(1);
                let Some(column) = index.and_then(|index| is_translated.get_mut(index)) else {
                    let problem = format!("there is no column {number}");
                    return refuse(problem, "count columns from 1, or name another separator");
                };
                *column = true;
            }
            Column::Name(name) if options.first_row == FirstRow::Data => {
                let problem =
                    format!("the column `{name}` has no name, since the first row is data");
                return refuse(problem, "give the number of the column");
            }
            Column::Name(name) => {
                let mut is_found = false;
                for (found, column) in names.iter().zip(&mut is_translated) {
                    is_found |= found == name;
                    *column |= found == name;
                }
                if !is_found {
                    let problem = format!("no column is called `{name}`");
                    return refuse(problem, "name one of them, or another separator");
                }
            }
        }
    }
    if options.columns.is_empty() {
        let problem = "no column to translate is given".to_owned();
        return refuse(problem, "give the names or numbers of those to translate");
    }
    Ok(is_translated)
}

fn list(names: &[String]) -> String {
    let shown = names.iter().enumerate().take(MAX_LISTED);
    let mut listed: Vec<String> = shown
        .map(|(index, name)| {
            let name: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
            format!("{} `{name}`", index + 1)
        })
        .collect();
    if names.len() > MAX_LISTED {
        listed.push(format!("… {}", names.len()));
    }
    listed.join(", ")
}
