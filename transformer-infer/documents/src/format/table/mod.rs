//! Tables: tab-separated (`.tsv`) and comma-separated (`.csv`) values.

mod cell;
mod columns;
mod options;
mod reader;
mod row;

pub use options::{Column, FirstRow, TableOptions};
pub(super) use reader::Table;
