//! [`Value`]: text of several lines in a cell or string, with its spelling in the document.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use regex::Regex;

use super::html::{HtmlNotation, is_block, is_copied, is_void};
use super::items::{Item, ItemKind, join_atoms};
use super::message::{InBranch, Message, NUMBER, doubles_apostrophes, quotation_len};
use super::parts::PartQueue;
use super::segments::push_items;
use super::spelling::{WithEntities, character};
use crate::Notation;
use crate::split::list_mark;
use transformer_protection::kinds::{MESSAGE_START, closed_braces, len_of_braces, pattern};

/// Text and the spelling of each of its characters in the document.
#[derive(Debug, Default)]
pub(super) struct Value {
    text: String,
    source: String,
    /// The start in the source of each byte of the text.
    offsets: Vec<usize>,
    /// For a branch of a message, true if `#` stands for the number.
    in_branch: Option<bool>,
}

impl Value {
    /// Makes a value with the text itself as its spelling.
    pub(super) fn plain(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            source: text.to_owned(),
            offsets: (0..text.len()).collect(),
            in_branch: None,
        }
    }

    pub(super) fn push(&mut self, char: char, spelling: &str) {
        for _ in 0..char.len_utf8() {
            self.offsets.push(self.source.len());
        }
        self.text.push(char);
        self.source.push_str(spelling);
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Adds the value to the queue: a passage for each line, paragraph and block. Line ends inside sentences are
    /// breaks. Tags, as used by translators of programs, are pairs and points, and entities are resolved.
    pub(super) fn push_parts(&self, notation: &Arc<dyn Notation>, parts: &mut PartQueue) {
        self.push_parts_in(notation, notation, parts);
    }

    /// Adds the value or a branch to the queue. `outer` is the notation of the document.
    fn push_parts_in(
        &self,
        outer: &Arc<dyn Notation>,
        notation: &Arc<dyn Notation>,
        parts: &mut PartQueue,
    ) {
        let has_blocks = self.text.match_indices('<').any(|(at, _)| {
            let found = tag(&self.text[at..]);
            found.is_some_and(|(kind, _)| kind == ItemKind::Wall)
        });
        let mut html = None;
        let mut items = Vec::new();
        let mut at = list_mark(&self.text);
        if at > 0 {
            items.push(Item::new(ItemKind::Wall, self.source_of(0, at)));
        }
        let mut search = at;
        let is_markup = |c: char| "\n\r<{&".contains(c) || c == '\'' && self.in_branch.is_some();
        while let Some(found) = self.text[search..].find(is_markup) {
            let start = search + found;
            let rest = &self.text[start..];
            if let Some((item, len)) = self.message(start, outer) {
                self.push_words(at, start, &mut items);
                items.push(item);
                (at, search) = (start + len, start + len);
                continue;
            }
            let markup = match rest.as_bytes()[0] {
                b'<' if is_in_placeholder(&self.text, start) => None,
                b'<' => tag(rest),
                b'{' => message_len(rest).map(|len| (ItemKind::Point, len)),
                b'&' => character(rest),
                b'\'' => quotation_len(rest, self.in_branch == Some(true))
                    .map(|len| (ItemKind::Point, len)),
                _ => Some(self.line_end(start, has_blocks)),
            };
            let Some((kind, len)) = markup else {
                search = start + 1;
                continue;
            };
            self.push_words(at, start, &mut items);
            at = start + len;
            search = at;
            if let ItemKind::Text(text) = &kind {
                html.get_or_insert_with(HtmlNotation::default)
                    .learn_entity(&rest[..len], text);
            }
            items.push(Item::new(kind, self.source_of(start, at)));
        }
        self.push_words(at, self.text.len(), &mut items);
        let notation = match html {
            Some(html) => Arc::new(WithEntities::new(html, &self.text, notation)),
            None => Arc::clone(notation),
        };
        push_items(join_atoms(items), &notation, parts);
    }

    /// Returns the message with choices that begins at a position, with its branches as passages, and its length.
    fn message(&self, start: usize, outer: &Arc<dyn Notation>) -> Option<(Item, usize)> {
        let text = &self.text[start..];
        if !text.starts_with('{') {
            return None;
        }
        let within = &text[..text.floor_char_boundary(MAX_MESSAGE_BYTES)];
        let message = Message::parse(within)?;
        let (has_number, mut parts, mut at) = (message.has_number, PartQueue::default(), start);
        for branch in message.branches {
            let source = text[branch.clone()].to_owned();
            let doubles = doubles_apostrophes(&source)?;
            let branch = start + branch.start..start + branch.end;
            parts.push_verbatim(self.source_of(at, branch.start));
            let in_branch: Arc<dyn Notation> = Arc::new(InBranch {
                outer: Arc::clone(outer),
                has_number,
                doubles,
                source,
            });
            at = branch.end;
            let branch = self.branch(branch, has_number);
            branch.push_parts_in(outer, &in_branch, &mut parts);
        }
        let end = start + message.len;
        parts.push_verbatim(self.source_of(at, end));
        let item = Item::of_parts(ItemKind::Point, parts.into_parts());
        Some((item, message.len))
    }

    /// Returns the text of a branch: numbers as placeholders, and apostrophes that are written twice as one.
    fn branch(&self, range: Range<usize>, has_number: bool) -> Self {
        let mut branch = Self {
            in_branch: Some(has_number),
            ..Self::default()
        };
        let mut at = range.start;
        while at < range.end {
            let rest = &self.text[at..range.end];
            let copied_len = match rest.as_bytes()[0] {
                b'\'' => quotation_len(rest, has_number),
                b'{' => Message::parse(rest).map(|message| message.len),
                _ => None,
            };
            if let Some(len) = copied_len {
                for (index, c) in rest[..len].char_indices() {
                    let start = at + index;
                    branch.push(c, self.source_of(start, start + c.len_utf8()));
                }
                at += len;
                continue;
            }
            let Some(c) = rest.chars().next() else { break };
            let is_double = rest.starts_with("''");
            let next = at + c.len_utf8() + usize::from(is_double);
            let spelling = self.source_of(at, next);
            match c {
                '#' if has_number => {
                    for (c, spelling) in NUMBER.chars().zip([spelling, "", ""]) {
                        branch.push(c, spelling);
                    }
                }
                c => branch.push(c, spelling),
            }
            at = next;
        }
        branch
    }

    /// Returns the kind and length of a line end, including the whitespace around it and a list mark after it.
    fn line_end(&self, start: usize, has_blocks: bool) -> (ItemKind, usize) {
        let (before, rest) = self.text.split_at(start);
        let after = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let len = rest.len() - after.len();
        let before = before.rsplit(['\n', '\r']).next().unwrap_or_default();
        let after_line = after.split(['\n', '\r']).next().unwrap_or_default();
        let is_wrapped = rest[..len].matches('\n').count() <= 1 && is_wrapped(before, after_line);
        match has_blocks || is_wrapped {
            true => (ItemKind::Break, len),
            false => (ItemKind::Wall, len + list_mark(after)),
        }
    }

    fn push_words(&self, start: usize, end: usize, items: &mut Vec<Item>) {
        if start < end {
            let text = self.text[start..end].to_owned();
            items.push(Item::new(ItemKind::Text(text), self.source_of(start, end)));
        }
    }

    fn source_of(&self, start: usize, end: usize) -> &str {
        let offset = |at| self.offsets.get(at).copied().unwrap_or(self.source.len());
        &self.source[offset(start)..offset(end)]
    }
}

/// Maximum size of a tag, in bytes, so that searching for its end takes bounded time.
const MAX_TAG_BYTES: usize = 1024;

static MESSAGE: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("^{MESSAGE_START}")));

const MAX_MESSAGE_BYTES: usize = 1 << 14;

/// Number of characters from which a line is full even if the next one does not begin in lower case.
const FULL_LINE: usize = 60;

/// Number of words below which a line is a label.
const MIN_WORDS: usize = 4;

/// Returns whether two lines belong to the same text; otherwise they are labels, or items of a list.
fn is_wrapped(line: &str, next: &str) -> bool {
    let line = line.trim();
    let ends_sentence = line.ends_with(['.', '!', '?', '…', '。', '！', '？']);
    let goes_on = next.starts_with(char::is_lowercase)
        && line.split_whitespace().nth(MIN_WORDS - 1).is_some();
    let is_full = line.chars().count() >= FULL_LINE;
    let is_label = line.ends_with([':', '：']);
    list_mark(next) == 0 && !is_label && (ends_sentence || goes_on || is_full)
}

/// Returns the length of a message with choices, of ICU or of Java (`{0,choice,…}`), at the start of the text.
fn message_len(text: &str) -> Option<usize> {
    let within = &text[..text.floor_char_boundary(MAX_MESSAGE_BYTES)];
    let start = &within[..within.floor_char_boundary(MAX_TAG_BYTES)];
    MESSAGE.is_match(start).then(|| len_of_braces(within))?
}

/// Returns the kind and length of the tag at the start of a text; `None` if there is none. Names of HTML are written in
/// one case; `<Link>` is a component of a program.
pub(super) fn tag(text: &str) -> Option<(ItemKind, usize)> {
    let within = &text[..text.floor_char_boundary(MAX_TAG_BYTES)];
    if within.starts_with("<!--") {
        return within.find("-->").map(|at| (ItemKind::Point, at + 3));
    }
    let len = end_of_tag(within).or_else(|| within.find('>'))? + 1;
    let inside = &within[1..len - 1];
    let (is_end, inside) = match inside.strip_prefix('/') {
        Some(inside) => (true, inside),
        None => (false, inside),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    let name_len = inside.find(|c| !is_name(c)).unwrap_or(inside.len());
    let (written, rest) = inside.split_at(name_len);
    let begins = written.starts_with(|c: char| c.is_ascii_alphanumeric());
    let is_tag = begins
        && !rest.contains('<')
        && (rest.is_empty() || rest.starts_with([' ', '\t', '\n', '/']));
    let name = written.to_ascii_lowercase();
    let is_html = written == name || written == written.to_ascii_uppercase();
    let is_void = rest.ends_with('/') || is_html && is_void(&name);
    let kind = match (is_end, is_void) {
        _ if is_html && is_block(&name) && !is_copied(&name) => ItemKind::Wall,
        (true, _) => ItemKind::Close(name),
        (false, true) => ItemKind::Point,
        (false, false) => ItemKind::Open(name),
    };
    is_tag.then_some((kind, len))
}

/// Returns the position of the `>` after the quoted values of attributes.
fn end_of_tag(tag: &str) -> Option<usize> {
    let mut quote = None;
    let is_end = |&(at, c): &(usize, char)| {
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, '"' | '\'') && tag[..at].trim_end().ends_with('=') => {
                quote = Some(c);
            }
            _ => return quote.is_none() && c == '>',
        }
        false
    };
    tag.char_indices().find(is_end).map(|(at, _)| at)
}

/// Returns whether a message with choices begins in the text and does not end there.
pub(super) fn has_open_message(text: &str) -> bool {
    let braces = text.match_indices('{').map(|(at, _)| at);
    let starts: Vec<usize> = braces.filter(|at| MESSAGE.is_match(&text[*at..])).collect();
    closed_braces(text, starts.iter().copied()).count() < starts.len()
}

/// Returns whether a `<` belongs to a placeholder, such as `%<name>s` of Ruby and `%<PRIu64>` of C, and not to a tag.
fn is_in_placeholder(text: &str, at: usize) -> bool {
    let (before, rest) = (&text[..at], &text[at + 1..]);
    let Some((name, after)) = rest.split_once('>') else {
        return false;
    };
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let has_conversion = name.starts_with("PRI")
        || after.starts_with(|c: char| c.is_ascii_alphanumeric() || "-+.#".contains(c));
    let format = before.strip_suffix('%');
    format.is_some_and(|it| !it.ends_with(|c: char| c.is_ascii_digit()))
        && is_name
        && has_conversion
        && name != "br"
        && !after.contains(&format!("</{name}>"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Part;

    #[test]
    fn tags_of_strings_are_pairs_and_points() {
        let open = |name: &str| ItemKind::Open(name.to_owned());
        assert_eq!(tag("<b>x"), Some((open("b"), 3)));
        assert_eq!(tag("<a href=\"x\">"), Some((open("a"), 12)));
        assert_eq!(tag("</0>"), Some((ItemKind::Close("0".to_owned()), 4)));
        assert_eq!(tag("<img/>"), Some((ItemKind::Point, 6)));
        assert_eq!(tag("<br/>"), Some((ItemKind::Wall, 5)));
        assert_eq!(tag("<P class=\"x\">"), Some((ItemKind::Wall, 13)));
        assert_eq!(tag("<Link to=\"x\">"), Some((open("link"), 13)));
        assert_eq!(tag("<Icon />"), Some((ItemKind::Point, 8)));
        for text in ["< b>", "<>", "<3", "<b", "a > b", "<a<b>"] {
            assert_eq!(tag(text), None, "{text}");
        }
    }

    /// Returns the texts of a value.
    fn texts(text: &str) -> Vec<String> {
        let mut parts = PartQueue::default();
        let notation: Arc<dyn Notation> = Arc::new(crate::Plain);
        Value::plain(text).push_parts(&notation, &mut parts);
        let parts = parts.into_parts();
        assert_eq!(parts.iter().map(Part::source).collect::<String>(), text);
        let text = |part| match part {
            Part::Passage(passage) => Some(passage.text),
            Part::Verbatim(_) => None,
        };
        parts.into_iter().filter_map(text).collect()
    }

    #[test]
    fn labels_and_items_of_lists_are_apart() {
        assert_eq!(
            texts("Name\nStreet\ntwo dogs"),
            ["Name", "Street", "two dogs"]
        );
        let found = texts("A dog runs:\n- a cat\n - {x}\n2) two men");
        assert_eq!(found, ["A dog runs:", "a cat", "{x}", "two men"]);
    }

    #[test]
    fn a_sentence_goes_on_in_the_next_line() {
        let found = texts(
            "Do you really want\nto go?\nThe dog that is very old sleeps all day beside the cat and\nMax.",
        );
        let expected = [
            "Do you really want to go? The dog that is very old sleeps all day beside the cat and",
            "Max.",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn blocks_are_apart_and_line_ends_in_them_are_spaces() {
        let found = texts("<p>One <b>dog</b></p><p>Two\ndogs<br/>Three</p><pre>no</pre>");
        assert_eq!(found, ["One dog", "Two dogs", "Three"]);
    }

    #[test]
    fn elements_that_are_not_translated_are_points() {
        assert_eq!(texts("Press <kbd>Enter <b>x</b></kbd> now"), ["Press now"]);
    }

    /// Returns the texts inside the marks of the passages of a value.
    fn inner_texts(text: &str) -> Vec<String> {
        let mut parts = PartQueue::default();
        let notation: Arc<dyn Notation> = Arc::new(crate::Plain);
        Value::plain(text).push_parts(&notation, &mut parts);
        let (mut parts, mut found) = (parts.into_parts(), Vec::new());
        while let Some(part) = parts.pop() {
            if let Part::Passage(passage) = part {
                found.insert(0, passage.text);
                for mark in passage.marks {
                    if let crate::MarkKind::Point { raw } = mark.kind {
                        parts.extend(raw.0);
                    }
                }
            }
        }
        found
    }

    #[test]
    fn branches_of_messages_are_passages() {
        let text = "See {n, plural,\n one {<b>#</b> dog}\n other {# dogs}} here";
        assert_eq!(texts(text), ["See here"]);
        assert_eq!(inner_texts(text), ["{#} dog", "{#} dogs", "See here"]);
        let text =
            "{g, select, a {{n, plural, =0 {No dog} other {{name}'s dogs}}} other {A '{'man'}'}}";
        assert_eq!(texts(text), ["No dog", "{name}'s dogs", "A man"]);
        assert_eq!(texts("{n, select, other {It''s {x}}}"), ["It's {x}"]);
    }

    #[test]
    fn text_in_nested_messages_is_escaped_once() {
        let mut parts = PartQueue::default();
        let notation: Arc<dyn Notation> = Arc::new(crate::Plain);
        let text = "{g, select, other {{n, plural, other {A {x} dog}}}}";
        Value::plain(text).push_parts(&notation, &mut parts);
        let parts = parts.into_parts().into_iter();
        let escaped = parts.filter_map(|part| match part {
            Part::Passage(passage) => Some(passage.notation.escape("a#b l'{x}").into_owned()),
            Part::Verbatim(_) => None,
        });
        assert_eq!(escaped.collect::<Vec<_>>(), ["a'#'b l''{x}"]);
    }

    #[test]
    fn messages_that_are_not_closed_are_points() {
        assert_eq!(
            texts("See {n, plural,\n one {<b>#</b> dog}} here"),
            ["See here"]
        );
        assert_eq!(
            texts("See {0,choice,0#no dogs|1<{0} dogs} here"),
            ["See here"]
        );
    }

    #[test]
    fn entities_are_what_they_stand_for() {
        assert_eq!(
            texts("A man&#39;s dog &amp; caf&eacute;&hellip; &copy; me, R&D &copyx"),
            ["A man's dog & café me, R&D &copyx"]
        );
        assert_eq!(
            texts("Only \"&amp;\" &quote; &&lt;host&&gt; or R&D; &x"),
            ["Only \"&\" host or R&D; &x"]
        );
    }
}
