//! Markdown: CommonMark with tables, strikethrough, task lists, footnotes, formulas, templates and front matter.

mod blocks;
mod html_pairs;
mod inline;
mod mask;
mod reader;
mod text;
mod writer;

pub(super) use reader::Markdown;

#[cfg(test)]
mod tests;
