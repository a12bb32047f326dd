//! HTML: pages, fragments and mail, as browsers read them.

mod assembler;
mod attributes;
mod elements;
mod entity;
mod formatting;
mod raw_text;
mod reader;
mod scan_tag;
mod segment;
mod tokenizer;
mod tree;

pub(super) use attributes::declared;
pub(super) use elements::{is_block, is_copied, is_void};
pub(super) use entity::entity;
pub(super) use reader::{Html, xhtml_parts};
pub use reader::{HtmlOptions, html_parts};
pub(super) use segment::HtmlNotation;

#[cfg(test)]
mod tests;
