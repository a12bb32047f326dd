//! [`Html`]: the parts of an HTML file.

use std::io::Read;

use super::assembler::{Assembler, MAX_MARKUP_BYTES};
use super::attributes::{declared_encoding, tag_parts, translate};
use super::elements::{Role, role};
use super::tokenizer::next_token;
use super::tokenizer::{Tag, TextMode, Token, TokenKind};
use super::tree::{MAX_DEPTH, Tree};
use crate::format::encoding::{CONVERT, Charset};
use crate::format::items::{Item, ItemKind};
use crate::format::parts::{PartQueue, PartReader, ReadParts};
use crate::format::source::Source;
use crate::{Part, Raw, ReadError};

/// Maximum size of a tag, comment or CDATA section, in bytes.
const MAX_TOKEN_BYTES: usize = 1 << 24;

/// Options for translating HTML.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HtmlOptions {
    /// True if the values of `alt`, `aria-label`, `placeholder` and `title` are translated, as well as `label` of
    /// options and tracks, and the description in `meta`. Default: false.
    pub attributes: bool,
}

/// Returns the parts of a text in HTML, a page or a fragment of one. `name` is the text in error messages.
///
/// # Errors
///
/// Returns an error if the text declares an encoding other than UTF-8, or if its markup is beyond all limits.
///
/// # Example
///
/// ```
/// use transformer_documents::Part;
/// use transformer_documents::format::{HtmlOptions, html_parts};
///
/// let page = "<p>Tom &amp; <b>Jerry</b></p>";
/// let parts = html_parts("`a.html`".into(), page.as_bytes(), HtmlOptions::default())?;
/// let Part::Passage(passage) = &parts[1] else { panic!("expected a passage") };
/// assert_eq!(passage.text, "Tom & Jerry");
/// assert_eq!(passage.marks[0].range, 6..11);
/// assert_eq!(parts.iter().map(Part::source).collect::<String>(), page);
/// # Ok::<(), transformer_documents::ReadError>(())
/// ```
pub fn html_parts(
    name: String,
    input: impl Read + Send + 'static,
    options: HtmlOptions,
) -> Result<Vec<Part>, ReadError> {
    let html = Html::new(options, false);
    PartReader::new(Source::new(name, input), Box::new(html), Charset::UTF_8).collect()
}

/// Returns the parts of a page in XHTML.
pub(in crate::format) fn xhtml_parts(name: String, text: String) -> Result<Vec<Part>, ReadError> {
    let html = Html::xhtml(HtmlOptions::default(), false);
    let source = Source::new(name, std::io::Cursor::new(text));
    PartReader::new(source, Box::new(html), Charset::UTF_8).collect()
}

/// A reader of HTML that follows browsers: any input is HTML. A block such as a paragraph is a passage. Inline elements
/// with both tags inside it are its pairs; images, comments and elements that are not translated, such as `code`, are
/// its points. Everything else is copied. Memory is bounded: a passage has at most about 128 KiB of text, and a tag or
/// comment 16 MiB.
#[derive(Debug)]
pub(in crate::format) struct Html {
    options: HtmlOptions,
    /// True if the page was decoded, so that its declaration of an encoding no longer matters.
    is_decoded: bool,
    mode: TextMode,
    tree: Tree,
    assembler: Assembler,
    atom: Option<Atom>,
}

/// An inline element that is not translated, up to its end tag.
#[derive(Debug)]
struct Atom {
    name: String,
    /// Number of open elements around it.
    depth: usize,
    raw: Raw,
    n_bytes: usize,
    is_visible: bool,
}

impl ReadParts for Html {
    fn read(&mut self, source: &mut Source, parts: &mut PartQueue) -> Result<bool, ReadError> {
        let has_more = self.step(source)?;
        parts.extend(std::mem::take(&mut self.assembler.parts).into_parts());
        Ok(has_more)
    }
}

impl Html {
    pub(in crate::format) fn new(options: HtmlOptions, is_decoded: bool) -> Self {
        Self {
            options,
            is_decoded,
            mode: TextMode::Data,
            tree: Tree::default(),
            assembler: Assembler::default(),
            atom: None,
        }
    }

    /// Creates a reader of XHTML, in which any element may end in its start tag.
    pub(in crate::format) fn xhtml(options: HtmlOptions, is_decoded: bool) -> Self {
        let mut html = Self::new(options, is_decoded);
        html.tree.is_xml = true;
        html
    }

    /// Reads a token, or more of the file; returns false at its end.
    fn step(&mut self, file: &mut Source) -> Result<bool, ReadError> {
        let text = file.text();
        let is_at_end = file.is_at_end();
        if text.is_empty() {
            if !is_at_end {
                file.fill()?;
                return Ok(true);
            }
            self.give_up_atom();
            self.assembler.flush();
            return Ok(false);
        }
        let has_cdata = self.tree.is_xml || self.tree.is_foreign();
        let token = match next_token(text, is_at_end, has_cdata, &mut self.mode) {
            Some(token) => token,
            None if !is_at_end => {
                if text.len() > MAX_TOKEN_BYTES {
                    let problem = format!("a tag or comment has more than {MAX_TOKEN_BYTES} bytes");
                    return Err(file.error(problem, "end it with `>` or `-->`"));
                }
                file.fill()?;
                return Ok(true);
            }
            None => Token {
                len: text.len(),
                kind: TokenKind::Nothing,
            },
        };
        if let TokenKind::Start(tag) = &token.kind {
            self.check(tag, file)?;
        }
        let source = file.take(token.len);
        match token.kind {
            // Character data of XML; in SVG and MathML it is inside copied content.
            TokenKind::Text if has_cdata && source.starts_with("<![CDATA[") => self.comment(source),
            TokenKind::Text => self.text(source),
            TokenKind::Start(tag) => self.start(&tag, source),
            TokenKind::End(tag) => self.end(&tag.name, source),
            TokenKind::Comment => self.comment(source),
            TokenKind::Nothing => self.copy(source),
        }
        let atom = self.atom.as_ref();
        if atom.is_some_and(|atom| atom.n_bytes > MAX_MARKUP_BYTES) {
            self.give_up_atom();
        }
        Ok(true)
    }

    /// Returns an error if the tag makes the page impossible to translate.
    fn check(&self, tag: &Tag, file: &Source) -> Result<(), ReadError> {
        if self.tree.depth() >= MAX_DEPTH {
            let problem = format!("{MAX_DEPTH} elements are open");
            return Err(file.error(problem, "end them with their end tags"));
        }
        if let Some(declared) = declared_encoding(tag, file.text())
            && declared.encoding != Some(Charset::UTF_8)
            && !self.is_decoded
        {
            let label = declared.label;
            let problem = format!("the page declares its encoding as `{label}`, expected UTF-8");
            return Err(file.error(problem, CONVERT));
        }
        Ok(())
    }

    fn text(&mut self, source: String) {
        if self.tree.is_in("head") && !source.trim_ascii().is_empty() {
            self.tree.end("head");
        }
        // Browsers drop NUL.
        let is_dropped = source.bytes().all(|byte| byte == 0);
        if self.mode == TextMode::Data && !self.tree.is_foreign() && !is_dropped {
            self.tree.reopen();
        }
        if self.atom.is_some() || !self.tree.translates() {
            self.copy(source);
        } else {
            self.assembler.text(&source, self.tree.position());
        }
    }

    fn comment(&mut self, source: String) {
        // Conditional comments are pairs of markup, which must not move.
        let is_condition = ["<!--[if", "<!--<![", "<!["]
            .iter()
            .any(|start| source.starts_with(start));
        if is_condition || self.atom.is_some() || !self.tree.translates() {
            self.copy(source);
        } else {
            self.point(vec![Part::Verbatim(source)], false);
        }
    }

    fn start(&mut self, tag: &Tag, source: String) {
        let name = tag.name.as_str();
        let asked = translate(tag, &source);
        self.tree.close_before(tag);
        let is_block =
            !self.tree.is_foreign() && matches!(role(name), Role::Block | Role::CopiedBlock);
        let is_island = asked == Some(true) && !self.tree.is_opaque();
        if let Some(atom) = &self.atom
            && (self.tree.depth() <= atom.depth
                || is_island
                || (is_block && !is_in_picture(atom, name)))
        {
            self.give_up_atom();
        }
        let was_translated = self.tree.translates();
        let depth = self.tree.depth();
        let reads_attributes =
            self.options.attributes && !self.tree.is_opaque() && asked.unwrap_or(was_translated);
        self.mode = self.tree.start(tag, &source, asked);
        let is_open = self.tree.depth() > depth;
        let parts = if reads_attributes {
            tag_parts(tag, &source)
        } else {
            vec![Part::Verbatim(source)]
        };
        if let Some(atom) = &mut self.atom {
            atom.push(parts);
            return;
        }
        let is_translated = if is_open {
            self.tree.translates()
        } else {
            was_translated
        };
        match role(name) {
            _ if !was_translated => self.assembler.copy(parts),
            Role::Block | Role::CopiedBlock => self.assembler.copy(parts),
            Role::Void { is_visible } => self.point(parts, is_visible),
            role @ (Role::Pair | Role::Atom { .. }) if !is_open => {
                self.point(parts, role != Role::Pair);
            }
            Role::Pair if is_translated => self.assembler.open(name, parts),
            Role::Atom { .. } if is_translated && name != "picture" => {
                self.assembler.open(name, parts);
            }
            role => {
                let mut atom = Atom {
                    name: name.to_owned(),
                    depth,
                    raw: Raw::default(),
                    n_bytes: 0,
                    is_visible: role != Role::Atom { is_visible: false },
                };
                atom.push(parts);
                self.atom = Some(atom);
            }
        }
    }

    fn end(&mut self, name: &str, source: String) {
        self.mode = TextMode::Data;
        let was_translated = self.tree.translates();
        let was_foreign = self.tree.is_foreign();
        let depth = self.tree.depth();
        self.tree.end(name);
        let is_pair = matches!(role(name), Role::Pair | Role::Atom { .. });
        if let Some(atom) = &mut self.atom {
            if self.tree.depth() > atom.depth {
                if was_foreign || is_pair || is_in_picture(atom, name) {
                    atom.push(vec![Part::Verbatim(source)]);
                    return;
                }
            } else if self.tree.depth() == atom.depth
                && atom.name == name
                && (depth == atom.depth + 1 || was_foreign)
            {
                atom.push(vec![Part::Verbatim(source)]);
                self.end_atom();
                return;
            }
            self.give_up_atom();
            self.copy(source);
        } else if was_translated && is_pair {
            self.assembler.close(name, source);
        } else {
            self.copy(source);
        }
    }

    fn end_atom(&mut self) {
        if let Some(atom) = self.atom.take() {
            self.assembler.point(Item {
                is_word: atom.is_visible && atom.name != "picture",
                is_visible: atom.is_visible,
                ..Item::of_parts(ItemKind::Point, atom.raw.0)
            });
        }
    }

    /// Copies the element, which ends the passage, because its content does not fit into a passage.
    fn give_up_atom(&mut self) {
        if let Some(atom) = self.atom.take() {
            self.assembler.copy(atom.raw.0);
        }
    }

    fn copy(&mut self, source: String) {
        let parts = vec![Part::Verbatim(source)];
        match &mut self.atom {
            Some(atom) => atom.push(parts),
            None => self.assembler.copy(parts),
        }
    }

    fn point(&mut self, parts: Vec<Part>, is_visible: bool) {
        self.assembler.point(Item {
            is_visible,
            is_word: false,
            ..Item::of_parts(ItemKind::Point, parts)
        });
    }
}

fn is_in_picture(atom: &Atom, name: &str) -> bool {
    atom.name == "picture" && name == "source"
}

impl Atom {
    fn push(&mut self, parts: Vec<Part>) {
        let n_bytes = |part: &Part| match part {
            Part::Verbatim(text) => text.len(),
            Part::Passage(passage) => passage.text.len(),
        };
        self.n_bytes += parts.iter().map(n_bytes).sum::<usize>();
        self.raw.extend(parts);
    }
}
