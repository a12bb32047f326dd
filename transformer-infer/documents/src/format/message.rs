//! [`Message`]: a message of ICU with choices, and the branches to translate in it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::escapes::len_until_single_quote;
use crate::Notation;

/// A message such as `{n, plural, one {# dog} other {# dogs}}`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) len: usize,
    /// The bytes of its branches, without their braces.
    pub(super) branches: Vec<Range<usize>>,
    /// True if `#` stands for the number in its branches.
    pub(super) has_number: bool,
}

/// The notation of text in a branch: `#` is shown as a placeholder, and apostrophes do not begin a quotation.
#[derive(Debug)]
pub(super) struct InBranch {
    pub(super) outer: Arc<dyn Notation>,
    pub(super) has_number: bool,
    /// True if the branch writes each apostrophe twice.
    pub(super) doubles: bool,
    /// The text of the branch: a translation has no other arguments.
    pub(super) source: String,
}

/// The number of a branch, as the model sees it.
pub(super) const NUMBER: &str = "{#}";

const MAX_DEPTH: usize = 8;

/// The types of arguments with choices, each with true if `#` stands for the number in their branches.
const TYPES: &[(&str, bool)] = &[("plural", true), ("selectordinal", true), ("select", false)];

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Message {
    /// Reads the message at the start of a text; `None` if there is none, if it does not end, or if it lacks `other`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        Parser { text, at: 0 }.choice(MAX_DEPTH)
    }
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn eat(&mut self, expected: char) -> Option<()> {
        self.rest().strip_prefix(expected)?;
        self.at += expected.len_utf8();
        Some(())
    }

    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let len = rest.find(|c| !is_skipped(c)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    fn space(&mut self) {
        self.skip(char::is_whitespace);
    }

    fn choice(&mut self, depth: usize) -> Option<Message> {
        let start = self.at;
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '.';
        self.eat('{')?;
        self.space();
        if self.skip(is_word).is_empty() {
            return None;
        }
        self.space();
        self.eat(',')?;
        self.space();
        let kind = self.skip(char::is_alphabetic);
        let (_, has_number) = TYPES.iter().find(|(name, _)| *name == kind)?;
        let has_number = *has_number;
        self.space();
        self.eat(',')?;
        self.space();
        if has_number && self.rest().starts_with("offset:") {
            self.at += "offset:".len();
            self.space();
            if self.skip(|c| c.is_ascii_digit()).is_empty() {
                return None;
            }
        }
        let (mut branches, mut has_other) = (Vec::new(), false);
        loop {
            self.space();
            if self.eat('}').is_some() {
                break;
            }
            let selector = self.skip(|c| is_word(c) || has_number && c == '=');
            has_other |= selector == "other";
            self.space();
            self.eat('{').filter(|()| !selector.is_empty())?;
            let branch = self.at;
            self.branch(has_number, depth.checked_sub(1)?)?;
            branches.push(branch..self.at);
            self.eat('}')?;
        }
        has_other.then_some(Message {
            len: self.at - start,
            branches,
            has_number,
        })
    }

    fn branch(&mut self, has_number: bool, depth: usize) -> Option<()> {
        loop {
            self.skip(|c| !"'{}".contains(c));
            match self.rest().chars().next()? {
                '\'' => self.at += apostrophe_len(self.rest(), has_number)?,
                '{' => self.argument(depth)?,
                _ => return Some(()),
            }
        }
    }

    fn argument(&mut self, depth: usize) -> Option<()> {
        let start = self.at;
        if self.choice(depth).is_some() {
            return Some(());
        }
        self.at = start + 1;
        self.skip(|c| !"'{}\n".contains(c));
        self.eat('}')
    }
}

/// Returns the length of the apostrophe at the start of a text: 2 if it is written twice, that of a whole quotation, or
/// 1. Returns `None` if a quotation does not end, or if it is not clear where it begins.
fn apostrophe_len(text: &str, has_number: bool) -> Option<usize> {
    let is_syntax = |c: char| c == '{' || c == '}' || has_number && c == '#';
    if let Some(rest) = text.strip_prefix("''") {
        return (!rest.starts_with(is_syntax)).then_some(2);
    }
    quotation_len(text, has_number).or_else(|| (!text[1..].starts_with(is_syntax)).then_some(1))
}

/// Returns the length of the quotation at the start of a text, such as `'{'`.
pub(super) fn quotation_len(text: &str, has_number: bool) -> Option<usize> {
    let rest = text.strip_prefix('\'')?;
    let is_syntax = |c: char| c == '{' || c == '}' || has_number && c == '#';
    if !rest.starts_with(is_syntax) {
        return None;
    }
    Some(2 + len_until_single_quote(rest)?)
}

/// Returns whether text of a branch writes apostrophes twice, or `None` if it does so only for some.
pub(super) fn doubles_apostrophes(text: &str) -> Option<bool> {
    let all = text.matches('\'').count();
    let doubled = 2 * text.matches("''").count();
    (all == doubled || doubled == 0).then_some(doubled > 0)
}

/// Returns whether an apostrophe between two texts, maybe with markup around them, could belong to a quotation.
fn is_apostrophe_syntax(before: &str, after: &str) -> bool {
    let is_at_edge = before.is_empty() || after.is_empty();
    is_at_edge || before.ends_with('\'') || after.starts_with(['{', '}', '#', '\''])
}

impl Notation for InBranch {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut escaped = String::with_capacity(text.len());
        let (mut rest, mut ends_quotation) = (text, false);
        while let Some(c) = rest.chars().next() {
            let after = &rest[c.len_utf8()..];
            let end = after.find(['{', '}']).filter(|_| c == '{');
            let placeholder = end.map(|end| after.split_at(end));
            if let Some((inside, after)) = placeholder
                && let Some(after) = after.strip_prefix('}')
                && (inside == "#" && self.has_number
                    || self.source.contains(&format!("{{{inside}}}")))
            {
                match self.has_number && inside == "#" {
                    true => escaped.push('#'),
                    false => escaped.extend(["{", inside, "}"]),
                }
                (rest, ends_quotation) = (after, false);
                continue;
            }
            let is_syntax = c == '{' || c == '}' || self.has_number && c == '#';
            match c {
                _ if is_syntax && ends_quotation => {
                    escaped.pop();
                    escaped.extend([c, '\'']);
                }
                _ if is_syntax => escaped.extend(['\'', c, '\'']),
                '\'' if self.doubles || is_apostrophe_syntax(&escaped, after) => {
                    escaped.push_str("''");
                }
                c => escaped.push(c),
            }
            // Two apostrophes after a quotation are one in it, and the end of it is later.
            ends_quotation = is_syntax || ends_quotation && c == '\'';
            rest = after;
        }
        Cow::Owned(self.outer.escape(&escaped).into_owned())
    }

    fn append(&self, written: &mut String, piece: &str) {
        // Two quotations that touch would be one, with an apostrophe in it.
        let n_before = written.len() - written.trim_end_matches('\'').len();
        let rest = piece.strip_prefix('\'').filter(|_| n_before % 2 == 1);
        match rest.filter(|rest| !rest.starts_with('\'')) {
            Some(rest) => {
                written.pop();
                written.push_str(rest);
            }
            None => written.push_str(piece),
        }
    }

    fn has_soft_line_ends(&self) -> bool {
        self.outer.has_soft_line_ends()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text that begins with a brace, and the branches that `@formatjs/icu-messageformat-parser` 3 finds in its first
    /// message, if that is one.
    #[derive(serde::Deserialize)]
    struct Parsed {
        text: String,
        branches: Option<Vec<String>>,
    }

    #[test]
    fn branches_are_those_of_another_parser() {
        let parsed: Vec<Parsed> =
            serde_json::from_str(include_str!("messages.json")).expect("it is JSON");
        for Parsed { text, branches } in parsed {
            let message = Message::parse(&text).map(|message| message.branches);
            let found =
                message.map(|ranges| ranges.into_iter().map(|range| text[range].to_owned()));
            assert_eq!(found.map(Iterator::collect), branches, "{text}");
        }
    }

    #[test]
    fn messages_in_too_many_others_are_not_read() {
        let nested = "{n, select, other {".repeat(20) + &"}}".repeat(20);
        assert_eq!(Message::parse(&nested), None);
    }

    #[test]
    fn text_is_written_so_that_it_is_read_as_text() {
        let notation = |has_number, doubles| InBranch {
            outer: Arc::new(crate::Plain),
            has_number,
            doubles,
            source: "l'eau {n, date}".to_owned(),
        };
        let numbered = notation(true, false);
        assert_eq!(numbered.escape("{#} l'eau {n, date}"), "# l'eau {n, date}");
        assert_eq!(numbered.escape("l'{#} a#b"), "l''# a'#'b");
        assert_eq!(numbered.escape("a } { b"), "a '}' '{' b");
        assert_eq!(notation(false, true).escape("# it's"), "# it''s");
        // Neighbors of quotations and of apostrophes.
        assert_eq!(numbered.escape("'t is {'a"), "''t is '{'''a");
        assert_eq!(numbered.escape("{}a{'}#"), "'{}'a'{''}#'");
        assert_eq!(numbered.escape("a''{n, date}"), "a''''{n, date}");
    }

    #[test]
    fn a_brace_after_a_kept_quotation_continues_it() {
        let notation = InBranch {
            outer: Arc::new(crate::Plain),
            has_number: true,
            doubles: false,
            source: String::new(),
        };
        let appended = |before: &str, text: &str| {
            let mut written = before.to_owned();
            notation.append(&mut written, &notation.escape(text));
            written
        };
        assert_eq!(appended("'{'", "{ a"), "'{{' a");
        assert_eq!(appended("'{'", "'t"), "'{'''t");
        assert_eq!(appended("l''", "{ a"), "l'''{' a");
    }
}
