//! [`Tree`]: tracks the open elements, and whether their text is translated.
//!
//! It follows the standard's tree construction where that affects which text is inside which element: omitted end tags,
//! misnested tags, SVG and MathML. It does not move content out of tables.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use super::attributes::keeps_line_ends;
use super::elements::{
    ends_foreign, ends_paragraph, is_copied, is_formatting, is_one_of, is_opaque, is_scope,
    is_special, is_void, reopens_formatting, text_mode,
};
use super::segment::Position;
use super::tokenizer::{Tag, TextMode};

/// Maximum number of open elements to compare a tag with, about as many as browsers allow to be open.
const SEARCH_LIMIT: usize = 512;

pub(super) const MAX_DEPTH: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) open: Vec<Open>,
    /// The formatting elements that browsers reopen, and the cells and objects that limit this, in the order of the file.
    pub(super) active: Vec<Active>,
    pub(super) n_opened: u64,
    /// True if any element may end in its start tag, as in XHTML.
    pub(super) is_xml: bool,
}

#[derive(Debug)]
pub(super) struct Open {
    pub(super) id: u64,
    pub(super) name: String,
    space: Space,
    /// True if its content is HTML although it is in SVG or MathML.
    has_html: bool,
    translates: bool,
    /// The choice whether to translate its content; `None` if its surroundings decide.
    pub(super) own: Option<bool>,
    /// True if `translate="yes"` inside it has no effect.
    is_opaque: bool,
    position: Position,
}

/// A formatting element that was opened but not ended by its end tag, or a limit for those inside it.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) own: Option<bool>,
    pub(super) tag_hash: u64,
    pub(super) is_limit: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    Html,
    Svg,
    Math,
}

impl Open {
    /// Returns whether it stops the search for an end tag's element of another name.
    pub(super) fn is_special(&self) -> bool {
        self.has_html || (self.space == Space::Html && is_special(&self.name))
    }

    /// Returns whether it stops the search for all end tags inside it, except those of tables.
    pub(super) fn is_scope(&self) -> bool {
        self.has_html || (self.space == Space::Html && is_scope(&self.name))
    }
}

impl Tree {
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(super) fn translates(&self) -> bool {
        self.open.last().is_none_or(|open| open.translates)
    }

    /// Returns whether text at this point is directly inside SVG or MathML.
    pub(super) fn is_foreign(&self) -> bool {
        let is_foreign = |open: &Open| open.space != Space::Html && !open.has_html;
        self.open.last().is_some_and(is_foreign)
    }

    /// Returns whether `translate="yes"` has no effect at this point.
    pub(super) fn is_opaque(&self) -> bool {
        self.open.last().is_some_and(|open| open.is_opaque)
    }

    pub(super) fn position(&self) -> Position {
        let position = self.open.last().map(|open| open.position);
        position.unwrap_or_default()
    }

    pub(super) fn is_in(&self, name: &str) -> bool {
        self.open.last().is_some_and(|open| open.name == name)
    }

    pub(super) fn close_before(&mut self, tag: &Tag) {
        let name = tag.name.as_str();
        if self.is_foreign() {
            if ends_foreign(name) || (name == "font" && has_font_attribute(tag)) {
                while self.is_foreign() {
                    self.open.pop();
                }
            } else {
                return;
            }
        }
        if self.is_in("head") && !is_in_head(name) {
            self.open.pop();
        }
        self.close_siblings(name);
        if ends_paragraph(name) {
            self.close("p", |open| is_scope(open) || open == "button");
        }
        if is_heading(name) {
            self.pop_if(is_heading);
        }
        if reopens_formatting(name) {
            self.reopen();
        }
    }

    /// Ends the elements that need no end tag before this start tag.
    fn close_siblings(&mut self, name: &str) {
        let is_wall = |open: &str| is_special(open) && !matches!(open, "address" | "div" | "p");
        match name {
            "li" => self.close("li", is_wall),
            "dd" | "dt" => {
                self.close("dd", is_wall);
                self.close("dt", is_wall);
            }
            "option" | "optgroup" => {
                self.pop_if(|open| open == "option");
                if name == "optgroup" {
                    self.pop_if(|open| open == "optgroup");
                }
            }
            "rb" | "rp" | "rt" | "rtc" => {
                let ends_all = matches!(name, "rb" | "rtc");
                if self.has_in_scope("ruby") {
                    while self.open.last().is_some_and(|open| {
                        may_lack_end_tag(&open.name) && (ends_all || open.name != "rtc")
                    }) {
                        self.open.pop();
                    }
                }
            }
            "td" | "th" => self.close_cell(),
            "tr" => {
                self.close_cell();
                self.close("tr", is_table);
            }
            "tbody" | "tfoot" | "thead" | "caption" | "colgroup" => {
                self.close_cell();
                for part in ["tr", "tbody", "tfoot", "thead", "caption", "colgroup"] {
                    self.close(part, is_table);
                }
            }
            "a" | "nobr" => self.end_formatting(name),
            "button" => self.close("button", is_scope),
            "input" => self.close("select", is_scope),
            _ => {}
        }
    }

    fn close_cell(&mut self) {
        for cell in ["td", "th", "caption", "colgroup"] {
            self.close(cell, is_table);
        }
    }

    /// Opens an element, given its attributes' choice about translation, and returns the way to read its text.
    pub(super) fn start(&mut self, tag: &Tag, source: &str, translate: Option<bool>) -> TextMode {
        let name = tag.name.as_str();
        if name == "select" && !self.is_foreign() && self.has_in_scope(name) {
            // The new element ends the open one.
            self.close(name, is_scope);
            return TextMode::Data;
        }
        let space = match name {
            _ if self.is_foreign() => self.open.last().map_or(Space::Html, |open| open.space),
            "svg" => Space::Svg,
            "math" => Space::Math,
            _ => Space::Html,
        };
        let is_html = space == Space::Html;
        let is_repeated = matches!(name, "html" | "body" | "head") && self.has(name);
        if is_repeated
            || (is_html && is_void(name))
            || ((!is_html || self.is_xml) && tag.is_self_closing)
        {
            return TextMode::Data;
        }
        let has_html = match space {
            Space::Html => false,
            Space::Svg => matches!(name, "foreignobject" | "desc" | "title"),
            Space::Math => {
                matches!(name, "mi" | "mo" | "mn" | "ms" | "mtext")
                    || (name == "annotation-xml" && tag.attribute("encoding").is_some())
            }
        };
        let is_copied = is_html && is_copied(name);
        let own = translate.or(is_copied.then_some(false));
        let is_limit = is_scope(name) && !matches!(name, "html" | "select" | "table");
        if is_html && (is_limit || is_formatting(name)) {
            self.activate(Active {
                id: self.n_opened + 1,
                name: name.to_owned(),
                own,
                tag_hash: BuildHasherDefault::<DefaultHasher>::default().hash_one(source),
                is_limit,
            });
        }
        self.push(name, space, own);
        if let Some(open) = self.open.last_mut() {
            open.has_html = has_html;
            open.position = match keeps_line_ends(tag, source) {
                Some(true) => Position::Preformatted,
                Some(false) => Position::Content,
                None => open.position,
            };
        }
        if is_html {
            text_mode(name)
        } else {
            TextMode::Data
        }
    }

    pub(super) fn end(&mut self, name: &str) {
        let is_in_foreign = |open: &Open| open.space != Space::Html;
        if self.open.last().is_some_and(is_in_foreign) {
            let found = self.search(
                |open| is_in_foreign(open) && open.name == name,
                |open| !is_in_foreign(open),
            );
            if let Some(index) = found {
                self.open.truncate(index);
                return;
            }
            if matches!(name, "p" | "br") {
                while self.is_foreign() {
                    self.open.pop();
                }
            }
        }
        match name {
            "html" | "body" => {}
            // It is read as a start tag.
            "br" => self.reopen(),
            "head" => self.pop_if(|open| open == "head"),
            _ if is_heading(name) => self.close_where(is_heading, is_scope),
            "table" | "tbody" | "td" | "tfoot" | "th" | "thead" | "tr" | "caption" => {
                self.close(name, is_table);
            }
            "li" => self.close(name, |open| is_scope(open) || matches!(open, "ol" | "ul")),
            "p" => self.close(name, |open| is_scope(open) || open == "button"),
            _ if is_formatting(name) => self.end_formatting(name),
            _ if is_special(name) => self.close(name, is_scope),
            _ => self.close(name, is_special),
        }
    }

    pub(super) fn push(&mut self, name: &str, space: Space, own: Option<bool>) {
        let is_opaque = self.is_opaque() || is_opaque(name);
        let position = match name {
            "listing" | "pre" => Position::Preformatted,
            _ => self.position(),
        };
        self.n_opened += 1;
        self.open.push(Open {
            id: self.n_opened,
            name: name.to_owned(),
            space,
            has_html: false,
            translates: !is_opaque && own.unwrap_or(self.translates()),
            own,
            is_opaque,
            position,
        });
    }

    /// Determines again whether text is translated, from this element inward.
    pub(super) fn inherit(&mut self, from: usize) {
        let mut translates = from == 0 || self.open[from - 1].translates;
        for open in &mut self.open[from..] {
            translates = !open.is_opaque && open.own.unwrap_or(translates);
            open.translates = translates;
        }
    }

    pub(super) fn close(&mut self, name: &str, is_wall: impl Fn(&str) -> bool) {
        self.close_where(|open| open == name, is_wall);
    }

    /// Ends the innermost matching element and everything inside it, unless there is a wall in between.
    fn close_where(&mut self, matches: impl Fn(&str) -> bool, is_wall: impl Fn(&str) -> bool) {
        let found = self.search(
            |open| open.space == Space::Html && matches(&open.name),
            |open| open.has_html || (open.space == Space::Html && is_wall(&open.name)),
        );
        if let Some(index) = found {
            self.open.truncate(index);
        }
    }

    pub(super) fn search(
        &self,
        matches: impl Fn(&Open) -> bool,
        is_wall: impl Fn(&Open) -> bool,
    ) -> Option<usize> {
        let mut open = self.open.iter().enumerate().rev().take(SEARCH_LIMIT);
        let (index, open) = open.find(|(_, open)| matches(open) || is_wall(open))?;
        matches(open).then_some(index)
    }

    fn has_in_scope(&self, name: &str) -> bool {
        let is_found = |open: &Open| open.space == Space::Html && open.name == name;
        self.search(is_found, Open::is_scope).is_some()
    }

    fn pop_if(&mut self, matches: impl Fn(&str) -> bool) {
        if self.open.last().is_some_and(|open| matches(&open.name)) {
            self.open.pop();
        }
    }

    fn has(&self, name: &str) -> bool {
        self.open.iter().take(4).any(|open| open.name == name)
    }
}

fn is_heading(name: &str) -> bool {
    matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
}

fn is_table(name: &str) -> bool {
    matches!(name, "table" | "template" | "html")
}

fn may_lack_end_tag(name: &str) -> bool {
    is_one_of(name, "dd dt li optgroup option p rb rp rt rtc")
}

fn has_font_attribute(tag: &Tag) -> bool {
    let names = ["color", "face", "size"];
    names.iter().any(|name| tag.attribute(name).is_some())
}

fn is_in_head(name: &str) -> bool {
    is_one_of(
        name,
        "base basefont bgsound head link meta noframes noscript script style template title",
    )
}
