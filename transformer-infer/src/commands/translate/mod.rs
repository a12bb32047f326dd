//! `transformer-infer translate`: translates text line by line.

mod checked_lines;
mod command;
mod document;
mod document_flags;
mod line_stream;
mod output;
mod search_flags;

pub(crate) use command::Translate;
