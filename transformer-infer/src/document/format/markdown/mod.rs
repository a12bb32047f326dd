//! Markdown: CommonMark with tables, strikethrough, task lists, footnotes and front matter.

mod blocks;
mod html_pairs;
mod inline;
mod reader;
mod text;

pub use reader::MarkdownReader;
