//! Arguments, output and threads of the programs transformer-infer and transformer-train.

mod output;
mod threads;

pub use output::{OutputError, check_output, parse_arguments, parse_arguments_of};
pub use threads::{ThreadsError, start_global_pool};
