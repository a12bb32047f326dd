//! [`Markdown`]: reads Markdown.

use super::blocks::{TooLong, push_blocks};
use crate::ReadError;
use crate::format::parts::{PartQueue, ReadParts};
use crate::format::source::Source;

/// Maximum size of a document, in bytes: 4 MiB. A reference may be defined anywhere, so the whole document is in
/// memory, and takes up to about 150 times its size.
const MAX_BYTES: usize = 1 << 22;

/// A reader of Markdown.
///
/// Paragraphs, headings and cells of tables are passages. Code blocks, HTML blocks, definitions of references and front
/// matter are verbatim. Emphasis, links, and balanced HTML tags are pairs; inline code, images, other HTML and
/// footnotes are points; line ends are breaks, including the indentation of the next line.
#[derive(Debug)]
pub(in crate::format) struct Markdown;

impl ReadParts for Markdown {
    fn read_parts(
        &mut self,
        source: &mut Source,
        parts: &mut PartQueue,
    ) -> Result<bool, ReadError> {
        let mut text = String::new();
        while let Some(line) = source.next_line()? {
            text.push_str(&line);
            if text.len() > MAX_BYTES {
                let problem = format!("a document in Markdown has at most {MAX_BYTES} bytes");
                return Err(source.syntax(source.n_read(), problem, "divide the file"));
            }
        }
        match push_blocks(&text, parts) {
            Ok(()) => Ok(false),
            Err(TooLong { at }) => {
                let line = 1 + text[..at].matches('\n').count() as u64;
                Err(source.too_large(line, "the paragraph"))
            }
        }
    }
}
