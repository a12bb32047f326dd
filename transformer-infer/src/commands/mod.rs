//! The commands of `transformer-infer`, one file each.

mod bleu;
mod error;
mod lines;
mod translate;

pub(crate) use bleu::BleuCommand;
pub(crate) use error::CommandError;
pub(crate) use lines::{Lines, STANDARD_INPUT, read_lines};
pub(crate) use translate::Translate;
