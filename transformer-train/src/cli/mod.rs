//! The command line: its arguments and its commands beside training.

mod arguments;
mod command;

pub(crate) use arguments::Arguments;
pub(crate) use command::Failure;
