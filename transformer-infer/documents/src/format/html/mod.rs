//! HTML: pages, fragments and mail, as browsers read them.

mod assembler;
mod attributes;
mod elements;
mod encoding;
mod entity;
mod formatting;
mod notation;
mod raw_text;
mod reader;
mod scan_tag;
mod segment;
mod token;
mod tokenizer;
mod tree;

pub(super) use elements::{is_block, is_copied, is_void};
pub(super) use encoding::declared;
pub(super) use entity::entity;
pub(super) use notation::HtmlNotation;
pub(super) use reader::{Html, xhtml_parts};
pub use reader::{HtmlOptions, html_parts};

#[cfg(test)]
mod tests;
