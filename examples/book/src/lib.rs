//! What the programs of the book share: they print tensors and draw pictures with it.
//!
//! The programs are in `src/bin`, one for each chapter of `docs/book`; `cargo run -p book --bin 03_dot_products`
//! runs one. It writes its pictures to `runs/book`, or to the folder given as its argument.

mod drawing;
mod print;

pub use drawing::{BarChart, Chart, Diagram, HeatMap, Picture, Scale, Tree, figures};
pub use print::{show, table, values};
