//! Tables: tab-separated (`.tsv`) and comma-separated (`.csv`) values.

mod columns;
mod reader;
mod row;

pub use columns::{Column, FirstRow, TableOptions};
pub(super) use reader::Table;
