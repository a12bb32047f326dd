//! The command line: arguments, subcommands, interrupts, and the summary of a run.

mod arguments;
mod command;
mod signal;
mod summary;

pub(crate) use arguments::Arguments;
pub(crate) use command::Failure;
pub(crate) use signal::{INTERRUPTED, print_error, status, stop_on_interrupt};
pub(crate) use summary::{Output, print_summary, was_stopped};
