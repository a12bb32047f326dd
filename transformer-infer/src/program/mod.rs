//! What the programs of this repository have in common.
//!
//! - `parse_arguments`: the arguments, or help (feature `arguments`).
//! - [`check_output`]: whether everything printed has arrived.
//! - [`start_global_pool`]: the threads that the system gives.
//! - [`allocator::keep_freed_memory`]: speeds up programs that compute on the CPU.
//! - [`one_line`]: an error with its causes.

pub mod allocator;

mod one_line;
mod output;
mod threads;

pub use one_line::{one_line, printable};
#[cfg(feature = "arguments")]
pub use output::parse_arguments;
pub use output::{OutputError, check_output};
pub use threads::{ThreadsError, start_global_pool};
