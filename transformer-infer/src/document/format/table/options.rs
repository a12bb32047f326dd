//! [`TableOptions`]: which cells of a table are translated.

/// The format of a table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TableKind {
    /// Cells are separated by tabs, and contain neither tabs nor line ends. Quotation marks are text.
    Tsv,
    /// Cells are separated by a character, and may be in quotation marks (RFC 4180).
    Csv {
        /// What separates cells, such as `,` or `;`.
        separator: char,
    },
}

/// Which cells of a table are translated.
#[derive(Clone, Debug, Default)]
pub struct TableOptions {
    /// The columns to translate; a table is refused if there are none.
    pub columns: Vec<Column>,
    /// What the first row is.
    pub first_row: FirstRow,
}

/// A column of a table.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Column {
    /// The columns whose cell in the first row is this, without spaces around it.
    Name(String),
    /// The column with this number, counted from 1.
    Number(usize),
}

/// What the first row of a table is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum FirstRow {
    /// The names of the columns, which are not translated.
    #[default]
    Header,
    /// Cells like those of the other rows.
    Data,
}

impl From<&str> for Column {
    /// Makes a number of digits, and a name of other text.
    fn from(text: &str) -> Self {
        match text.parse() {
            Ok(number) => Self::Number(number),
            Err(_) => Self::Name(text.to_owned()),
        }
    }
}
