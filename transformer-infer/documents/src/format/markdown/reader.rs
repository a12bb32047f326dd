//! [`MarkdownReader`]: reads Markdown.

use std::io::Read;

use super::blocks::{TooLong, push_blocks};
use crate::format::lines::{SourceLines, split_byte_order_mark};
use crate::format::parts::{PartQueue, Parts, ReadParts};
use crate::{Part, ReadError};

/// Maximum size of a document, in bytes: 4 MiB. A reference may be defined anywhere, so the whole document is in
/// memory, and takes up to about 150 times its size.
const MAX_BYTES: usize = 1 << 22;

/// A reader of Markdown.
///
/// Paragraphs, headings and cells of tables are passages. Code blocks, HTML blocks, definitions of references and front
/// matter are verbatim. Emphasis, links, and balanced HTML tags are pairs; inline code, images, other HTML and
/// footnotes are points; line ends are breaks, including the indentation of the next line.
#[derive(Debug)]
pub struct MarkdownReader(Parts<Markdown>);

#[derive(Debug)]
struct Markdown {
    lines: SourceLines,
}

impl MarkdownReader {
    /// Reads from a stream. `name` is the document in error messages.
    ///
    /// # Errors
    ///
    /// Never fails: all errors come from the iterator.
    pub fn new(name: String, input: impl Read + Send + 'static) -> Result<Self, ReadError> {
        let lines = SourceLines::new(name, input);
        Ok(Self(Parts::new(Markdown { lines })))
    }
}

impl Iterator for MarkdownReader {
    type Item = Result<Part, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

impl ReadParts for Markdown {
    fn read_parts(&mut self, parts: &mut PartQueue) -> Result<bool, ReadError> {
        let mut text = String::new();
        while let Some(line) = self.lines.next_line()? {
            text.push_str(&line);
            if text.len() > MAX_BYTES {
                let problem = format!("a document in Markdown has at most {MAX_BYTES} bytes");
                return Err(self
                    .lines
                    .syntax(self.lines.n_read(), problem, "divide the file"));
            }
        }
        let (mark, text) = split_byte_order_mark(&text);
        parts.push_verbatim(mark);
        match push_blocks(text, parts) {
            Ok(()) => Ok(false),
            Err(TooLong { at }) => {
                let line = 1 + text[..at].matches('\n').count() as u64;
                Err(self.lines.too_large(line, "the paragraph"))
            }
        }
    }
}
