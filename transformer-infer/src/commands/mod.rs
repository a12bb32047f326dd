//! The commands of `transformer-infer`, one file each.

mod attention;
mod bleu;
mod error;
mod lines;
mod picture;
mod translate;

pub(crate) use attention::AttentionCommand;
pub(crate) use bleu::BleuCommand;
pub(crate) use error::CommandError;
pub(crate) use lines::{Lines, STANDARD_INPUT, read_lines};
pub(crate) use picture::PictureError;
pub(crate) use translate::Translate;
