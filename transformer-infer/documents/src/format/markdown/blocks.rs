//! [`Markdown`]: reads Markdown, and finds the text of paragraphs, headings and cells.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::inline::Inline;
use super::mask::Masked;
use crate::ReadError;
use crate::format::parts::{PartQueue, ReadParts};
use crate::format::source::{MAX_RECORD_BYTES, Source};

/// Maximum size in bytes. A document is read as a whole, for its references, and takes up to about 150 times its size.
const MAX_BYTES: usize = 1 << 22;

/// A reader of Markdown. Paragraphs, headings and cells of tables are passages. Code blocks, HTML blocks, definitions
/// of references and front matter are verbatim. Emphasis, links, and balanced HTML tags are pairs; inline code, images,
/// other HTML and footnotes are points; line ends are breaks, including the indentation of the next line.
#[derive(Debug)]
pub(in crate::format) struct Markdown;

impl ReadParts for Markdown {
    fn read(&mut self, source: &mut Source, parts: &mut PartQueue) -> Result<bool, ReadError> {
        let mut text = String::new();
        while let Some(line) = source.next_line()? {
            source.check_line_ends(&line)?;
            text.push_str(&line);
            if text.len() > MAX_BYTES {
                let problem = format!("a document in Markdown has at most {MAX_BYTES} bytes");
                return Err(source.syntax(source.n_read(), problem, "divide the file"));
            }
        }
        push_blocks(&text, parts).map_err(|at| {
            let line = 1 + text[..at].matches('\n').count() as u64;
            source.too_large(line, "the paragraph")
        })?;
        Ok(false)
    }
}

/// Adds a document to the queue; the error is the start, in bytes, of a paragraph that is too long.
fn push_blocks(text: &str, parts: &mut PartQueue) -> Result<(), usize> {
    let masked = Masked::new(text);
    let mut blocks = Blocks {
        text,
        points: &masked.points,
        at: 0,
        inline: None,
        is_verbatim: false,
        is_cell: false,
    };
    for (event, range) in Parser::new_ext(&masked.text, options()).into_offset_iter() {
        if is_inline(&event) {
            if !blocks.is_verbatim {
                blocks.push_inline(event, range)?;
            }
            continue;
        }
        blocks.end_inline(parts);
        match event {
            Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::MetadataBlock(_)) => {
                blocks.is_verbatim = true;
            }
            Event::End(TagEnd::CodeBlock | TagEnd::HtmlBlock | TagEnd::MetadataBlock(_)) => {
                blocks.is_verbatim = false;
            }
            Event::Start(Tag::TableCell) => blocks.is_cell = true,
            Event::End(TagEnd::TableCell) => blocks.is_cell = false,
            _ => {}
        }
    }
    blocks.end_inline(parts);
    parts.push_verbatim(&text[blocks.at..]);
    Ok(())
}

fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS
        | Options::ENABLE_GFM
        | Options::ENABLE_MATH
        | Options::ENABLE_DEFINITION_LIST
}

struct Blocks<'a> {
    text: &'a str,
    /// The copied ranges inside text, see [`Masked::points`].
    points: &'a [Range<usize>],
    /// Number of bytes that are in the queue.
    at: usize,
    inline: Option<Inline<'a>>,
    /// True inside a block without text.
    is_verbatim: bool,
    is_cell: bool,
}

impl<'a> Blocks<'a> {
    fn push_inline(&mut self, event: Event<'_>, range: Range<usize>) -> Result<(), usize> {
        let (text, points, at) = (self.text, self.points, self.at);
        let inline = self
            .inline
            .get_or_insert_with(|| Inline::new(text, points, at, &event, &range));
        inline.push(event, range);
        let at = inline.start();
        if inline.end() - at > MAX_RECORD_BYTES {
            return Err(at);
        }
        Ok(())
    }

    fn end_inline(&mut self, parts: &mut PartQueue) {
        if let Some(inline) = self.inline.take() {
            parts.push_verbatim(&self.text[self.at..inline.start()]);
            self.at = inline.end();
            inline.push_parts(self.is_cell, parts);
        }
    }
}

fn is_inline(event: &Event<'_>) -> bool {
    match event {
        Event::Text(_)
        | Event::Code(_)
        | Event::InlineHtml(_)
        | Event::InlineMath(_)
        | Event::DisplayMath(_)
        | Event::FootnoteReference(_)
        | Event::SoftBreak
        | Event::HardBreak => true,
        Event::Start(tag) => is_inline_tag(tag.to_end()),
        Event::End(tag) => is_inline_tag(*tag),
        Event::Html(_) | Event::Rule | Event::TaskListMarker(_) => false,
    }
}

fn is_inline_tag(tag: TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::Link
            | TagEnd::Image
    )
}
