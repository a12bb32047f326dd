//! The commands of `transformer-infer`, one file each.

mod error;
mod lines;
mod translate;

pub(crate) use error::CommandError;
pub(crate) use lines::Lines;
pub(crate) use translate::Translate;
