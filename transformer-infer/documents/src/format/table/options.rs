//! [`TableOptions`]: the selection of cells to translate in a table.

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
    /// Converts digits to a number, and other text to a name.
    fn from(text: &str) -> Self {
        match text.parse() {
            Ok(number) => Self::Number(number),
            Err(_) => Self::Name(text.to_owned()),
        }
    }
}
