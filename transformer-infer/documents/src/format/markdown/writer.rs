//! [`MarkdownText`]: writes translated text and its marks so that a parser reads them back as such.

use std::borrow::Cow;

use crate::Notation;
use crate::format::items::{Item, ItemKind};

/// The rules for writing text in Markdown: with a backslash before characters that would be markup. Until a passage is
/// complete, its text is as a person reads it, and special characters separate marks from the text.
#[derive(Debug)]
pub(super) struct MarkdownText {
    /// True if the text is in a cell of a table, where `|` is markup.
    pub(super) is_cell: bool,
    pub(super) links: Vec<Link>,
}

#[derive(Debug)]
pub(super) struct Link {
    /// The source after its text.
    pub(super) end: String,
    pub(super) source: String,
}

impl MarkdownText {
    /// Writes a character between others, with a backslash if it would be markup.
    pub(super) fn push_escaped(
        &self,
        (before, char, rest): (Option<char>, char, &str),
        is_markup: bool,
        out: &mut String,
    ) {
        // The delimiters of cells are found first, and escaping the backslash would not hide it from that search.
        if char == '\\' && self.is_cell && (rest.is_empty() || rest.starts_with('|')) {
            return out.push_str("&#92;");
        }
        if is_markup || self.is_markup(before, char, rest) {
            out.push('\\');
        }
        out.push(char);
    }

    /// Returns whether a character between others would be markup.
    fn is_markup(&self, before: Option<char>, char: char, rest: &str) -> bool {
        let after = rest.chars().next();
        match char {
            '\\' | '*' | '`' | '[' | ']' | '~' => true,
            '|' => self.is_cell,
            '_' => {
                let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
                !(is_word(before) && is_word(after))
            }
            '<' => after.is_none_or(|c| c.is_ascii_alphabetic() || "/!?".contains(c)),
            '&' => is_reference(rest),
            _ => false,
        }
    }

    /// Returns the index of the character that would be markup at the start of a line.
    pub(super) fn markup_at_start(&self, line: &str) -> Option<usize> {
        let ends_word = |rest: &str| rest.is_empty() || rest.starts_with(char::is_whitespace);
        let n_digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let is_fence = ["!!!", ":::", "???", "==="]
            .iter()
            .any(|it| line.starts_with(it));
        let is_markup = is_fence
            || line.starts_with('>')
            || line.starts_with('#') && ends_word(line.trim_start_matches('#'))
            || line.starts_with(['-', '+', '=', ':', '|'])
                && (ends_word(&line[1..]) || line.chars().all(|c| "-+=:| \t".contains(c)));
        let is_number = (1..=9).contains(&n_digits)
            && line[n_digits..].starts_with(['.', ')'])
            && ends_word(&line[n_digits + 1..]);
        is_markup.then_some(0).or(is_number.then_some(n_digits))
    }

    /// Returns the index of the character that would be markup at the end of a heading.
    pub(super) fn markup_at_end(&self, text: &str) -> Option<usize> {
        let content = text.trim_end();
        let before = content.trim_end_matches('#');
        let is_closing = before.len() < content.len()
            && (before.is_empty() || before.ends_with(char::is_whitespace));
        match content.ends_with('}') {
            true => Some(content.len() - 1),
            false => is_closing.then_some(before.len()),
        }
    }
}

/// Returns whether the text after `&` makes it a character reference, such as `amp;` or `#160;`.
fn is_reference(rest: &str) -> bool {
    let name = rest.trim_start_matches('#');
    let len = name.bytes().take_while(u8::is_ascii_alphanumeric).count();
    len > 0 && name[len..].starts_with(';')
}

// Until a passage is complete, these characters enclose its marks, to separate them from text.
const OPEN: char = '\u{1}';
const CLOSE: char = '\u{2}';
const POINT: char = '\u{3}';
/// The start of a line inside a block quote.
const PREFIX: char = '\u{4}';
const END: char = '\u{5}';

const LINE_ENDS: [char; 2] = ['\n', '\r'];

const EDGES: [char; 5] = [OPEN, CLOSE, POINT, PREFIX, END];

/// Returns the markup of an item in the form that it has until the passage is complete.
pub(super) fn enclosed(item: &Item) -> String {
    let raw = item.raw.source();
    let edge = match item.kind {
        ItemKind::Open(_) => OPEN,
        ItemKind::Close(_) => CLOSE,
        ItemKind::Point => POINT,
        ItemKind::Break => {
            let (line_end, prefix) = raw.split_at(raw.rfind(LINE_ENDS).map_or(0, |at| at + 1));
            return match prefix.trim().is_empty() {
                true => raw,
                false => format!("{line_end}{PREFIX}{prefix}{END}"),
            };
        }
        ItemKind::Text(_) | ItemKind::Wall => return raw,
    };
    format!("{edge}{raw}{END}")
}

impl Notation for MarkdownText {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let is_mark = |c: char| EDGES.contains(&c) || matches!(c, '\n' | '\r');
        Cow::Owned(text.replace(is_mark, " "))
    }

    fn complete(&self, written: String) -> String {
        let mut writer = Writer {
            text: self,
            out: String::with_capacity(written.len() + 8),
            space: String::new(),
            open: Vec::new(),
            last: Last::LineStart,
        };
        let mut rest = written.as_str();
        while let Some(at) = rest.find(EDGES) {
            let (text, mark) = rest.split_at(at);
            let (raw, after) = mark[1..].split_once(END).unwrap_or((&mark[1..], ""));
            writer.text(text, false);
            match mark.chars().next() {
                Some(OPEN) => writer.open.push(raw),
                Some(CLOSE) => writer.close(raw),
                Some(PREFIX) => writer.prefix(raw),
                _ => writer.point(raw),
            }
            rest = after;
        }
        writer.text(rest, true);
        writer.out
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Last {
    LineStart,
    Text,
    Point,
    /// A point that ends where a word does.
    Address,
    /// Ends of emphasis. If `is_fragile`, a letter after them would break them.
    Emphasis {
        is_fragile: bool,
    },
    Tag,
}

struct Writer<'a> {
    text: &'a MarkdownText,
    out: String,
    /// Whitespace to write before the next output. It is dropped at the edges of a line or of emphasis.
    space: String,
    /// Starts of pairs to write before the next output.
    open: Vec<&'a str>,
    last: Last,
}

fn is_emphasis(tag: &str) -> bool {
    tag.starts_with(['*', '_', '~'])
}

fn is_word(c: Option<char>) -> bool {
    c.is_some_and(char::is_alphanumeric)
}

impl<'a> Writer<'a> {
    fn text(&mut self, text: &'a str, is_last: bool) {
        let markup_at_end = is_last.then(|| self.text.markup_at_end(text)).flatten();
        let mut markup_at_start = None;
        let mut before = None;
        for (at, c) in text.char_indices() {
            if matches!(c, ' ' | '\t' | '\n' | '\r') {
                self.whitespace(c);
                before = Some(c);
                continue;
            }
            self.before_mark(Some(c));
            if self.last == Last::LineStart {
                let line = text[at..].lines().next().unwrap_or_default();
                markup_at_start = self.text.markup_at_start(line).map(|offset| at + offset);
            }
            if self.last == Last::Address && !".,;!?)'\"".contains(c) {
                self.out.push(' ');
            }
            if self.last == (Last::Emphasis { is_fragile: true }) && c.is_alphanumeric() {
                self.reference(c);
            } else {
                let is_markup = [markup_at_start, markup_at_end].contains(&Some(at));
                let rest = &text[at + c.len_utf8()..];
                self.text
                    .push_escaped((before, c, rest), is_markup, &mut self.out);
            }
            self.last = Last::Text;
            before = Some(c);
        }
    }

    fn whitespace(&mut self, c: char) {
        let is_line_end = LINE_ENDS.contains(&c);
        if !is_line_end || c == '\n' && self.space.ends_with('\r') {
            self.space.push(c);
        } else if !self.space.contains(LINE_ENDS) {
            // Spaces before a line end would be a break, and a blank line would end the paragraph.
            self.space = c.to_string();
        }
    }

    fn prefix(&mut self, prefix: &str) {
        if self.space.ends_with(LINE_ENDS) {
            self.space.push_str(prefix);
        }
    }

    /// Writes the pending output before something that begins with a character.
    fn before_mark(&mut self, next: Option<char>) {
        let space = std::mem::take(&mut self.space);
        if self.last != Last::LineStart && !space.is_empty() {
            self.out.push_str(&space);
            self.last = match space.contains(LINE_ENDS) {
                true => Last::LineStart,
                false => Last::Text,
            };
        }
        let open = std::mem::take(&mut self.open);
        let n_emphasis = open.iter().take_while(|tag| is_emphasis(tag)).count();
        let (emphasis, others) = open.split_at(n_emphasis);
        if let Some(first) = emphasis.first() {
            let next = others.first().map_or(next, |tag| tag.chars().next());
            let is_mixed = emphasis.iter().any(|tag| tag[..1] != first[..1]);
            let is_fragile = first.starts_with('_') || is_mixed || !is_word(next);
            if matches!(self.last, Last::Emphasis { .. }) {
                self.out.push(' ');
            } else if is_fragile && self.follows_word() {
                self.separate();
            }
        }
        for tag in open {
            if tag.starts_with('[') {
                self.before_bracket();
            }
            self.out.push_str(tag);
            self.last = Last::Tag;
        }
    }

    fn follows_word(&self) -> bool {
        is_word(self.out.chars().next_back())
    }

    /// Replaces the last character by one that looks the same, but may precede emphasis.
    fn separate(&mut self) {
        match self.last {
            Last::Text => {
                if let Some(c) = self.out.pop() {
                    self.reference(c);
                }
            }
            _ => self.out.push(' '),
        }
    }

    /// Writes a character as a reference, which counts as punctuation in the rules of emphasis.
    fn reference(&mut self, c: char) {
        self.out.extend(["&#", &u32::from(c).to_string(), ";"]);
    }

    /// Separates an exclamation mark from a following bracket, so that they are not an image.
    fn before_bracket(&mut self) {
        if self.last == Last::Text && self.out.ends_with('!') {
            self.out.pop();
            self.out.push_str("\\!");
        }
    }

    fn close(&mut self, tag: &'a str) {
        if !self.open.is_empty() {
            // The pair is empty.
            if is_emphasis(tag) {
                self.open.pop();
                return;
            }
            let text = self.text;
            match text.links.iter().find(|link| link.end == tag) {
                Some(link) => self.point(&link.source),
                None => self.before_mark(None),
            }
        }
        let before = self.out.chars().next_back();
        self.out.push_str(tag);
        self.last = match self.last {
            Last::Emphasis { is_fragile } if is_emphasis(tag) => {
                let is_same = before == tag.chars().next();
                Last::Emphasis {
                    is_fragile: is_fragile || !is_same,
                }
            }
            _ if is_emphasis(tag) => {
                let is_fragile = tag.starts_with('_') || !is_word(before);
                Last::Emphasis { is_fragile }
            }
            _ => Last::Tag,
        };
    }

    fn point(&mut self, raw: &str) {
        let first = raw.chars().next();
        let is_address = raw.contains("://") || raw.starts_with("www.");
        self.before_mark(first);
        let is_apart = match self.last {
            Last::LineStart | Last::Tag => true,
            Last::Point | Last::Address => false,
            Last::Emphasis { is_fragile } => !(is_emphasis(raw) || is_fragile && is_word(first)),
            Last::Text => !is_address || self.out.ends_with([' ', '\t', '(', '"']),
        };
        if !is_apart {
            self.out.push(' ');
        } else if is_emphasis(raw) && self.follows_word() {
            self.separate();
        }
        if raw.starts_with('[') {
            self.before_bracket();
        }
        self.out.push_str(raw);
        self.last = match raw.chars().next_back() {
            Some('*' | '_' | '~') if is_emphasis(raw) => Last::Emphasis { is_fragile: true },
            _ if is_address && !raw.ends_with(['>', '`', ')', ']']) => Last::Address,
            _ => Last::Point,
        };
    }
}
