//! Markdown: CommonMark with tables, strikethrough, task lists, footnotes, formulas, templates and front matter.

mod blocks;
mod inline;
mod mask;
mod writer;

pub(super) use blocks::Markdown;

#[cfg(test)]
mod tests;
