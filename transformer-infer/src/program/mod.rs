//! What the programs of this repository have in common.
//!
//! - [`parse_arguments`]: the arguments, or help.
//! - [`check_output`]: whether everything printed has arrived.
//! - [`one_line`]: an error with its causes.

mod one_line;
mod output;

pub use one_line::{one_line, printable};
pub use output::{OutputError, check_output, parse_arguments};
