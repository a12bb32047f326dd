//! The parts that the programs of the book share: they print tensors, draw pictures and record data.
//!
//! The programs are in `src/bin`, one for each chapter of `docs/book`; `cargo run -p book --bin 03_dot_products`
//! runs one. It writes its pictures and data to `runs/book`, or to the folder given as its argument.

mod drawing;
mod output;
mod print;
mod search_tree;

pub use drawing::{BarChart, Chart, HeatMap, Picture, Scale, figures};
pub use output::save_data;
pub use print::{show, table, values};
pub use search_tree::SearchTree;
