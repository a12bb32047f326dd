//! Markdown: CommonMark with tables, strikethrough, task lists, footnotes and front matter.

mod blocks;
mod inline;
mod reader;
mod text;

pub use reader::MarkdownReader;
