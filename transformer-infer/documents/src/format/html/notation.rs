//! [`HtmlNotation`]: the rules for writing translated text in HTML.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::token::Quote;
use crate::Notation;

/// A notation that writes characters as their passage does.
#[derive(Clone, Debug, Default)]
pub(in crate::format) struct HtmlNotation {
    /// The spellings of characters that the passage writes as entities.
    spellings: BTreeMap<char, String>,
    /// Those of `&`, `<`, `>` that the passage writes unescaped.
    bare: Vec<char>,
    position: Position,
}

/// The position of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Position {
    #[default]
    Content,
    /// In an element that keeps line ends, such as `pre`.
    Preformatted,
    Attribute(Quote),
}

impl HtmlNotation {
    pub(super) fn new(position: Position) -> Self {
        Self {
            position,
            ..Self::default()
        }
    }

    /// Remembers that the passage writes this text as an entity.
    pub(in crate::format) fn learn_entity(&mut self, source: &str, text: &str) {
        let mut characters = text.chars();
        let (Some(character), None) = (characters.next(), characters.next()) else {
            return;
        };
        // If one `a` is written as a number, other letters `a` need not be. A bare carriage return would be a line
        // feed.
        let is_plain = character.is_ascii_alphanumeric()
            || character.is_ascii_whitespace()
            || character.is_ascii_control();
        if !is_plain || character == '\r' {
            self.spellings.entry(character).or_insert_with(|| {
                // Without a semicolon, the next character could change the entity.
                format!("{};", source.trim_end_matches(';'))
            });
        }
    }

    /// Remembers that the passage writes these characters unescaped.
    pub(in crate::format) fn learn_text(&mut self, text: &str) {
        for character in ['&', '<', '>'] {
            if text.contains(character) && !self.bare.contains(&character) {
                self.bare.push(character);
            }
        }
    }

    /// Returns the spelling of a character before the rest of the text, unless it is written unescaped.
    fn spelling(&self, character: char, rest: &str) -> Option<&str> {
        let next = rest.chars().next();
        if (character, next) == ('\r', Some('\n')) {
            return None;
        }
        if let Some(spelling) = self.spellings.get(&character) {
            return Some(spelling);
        }
        let is_bare = self.bare.contains(&character);
        match (character, self.position) {
            ('&', _) => {
                let is_safe = next.is_some_and(|next| next.is_whitespace());
                (!is_bare || !is_safe).then_some("&amp;")
            }
            ('<', Position::Content | Position::Preformatted) => {
                let is_safe = next.is_some_and(|next| next.is_whitespace() || next.is_numeric());
                (!is_bare || !is_safe).then_some("&lt;")
            }
            ('<', _) => (!is_bare).then_some("&lt;"),
            ('>', _) => (!is_bare).then_some("&gt;"),
            ('"', Position::Attribute(Quote::Double | Quote::None)) => Some("&quot;"),
            ('\'', Position::Attribute(Quote::Single)) => Some("&#39;"),
            _ => None,
        }
    }
}

impl Notation for HtmlNotation {
    fn has_soft_line_ends(&self) -> bool {
        self.position != Position::Preformatted
    }

    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut escaped = String::new();
        let mut copied = 0;
        for (at, character) in text.char_indices() {
            let behind = at + character.len_utf8();
            if let Some(spelling) = self.spelling(character, &text[behind..]) {
                escaped.push_str(&text[copied..at]);
                escaped.push_str(spelling);
                copied = behind;
            }
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        escaped.push_str(&text[copied..]);
        Cow::Owned(escaped)
    }

    fn complete(&self, written: String) -> String {
        let needs_quotes = |character: char| {
            character.is_ascii_whitespace()
                || matches!(character, '"' | '\'' | '=' | '<' | '>' | '`')
        };
        let is_unquoted = self.position == Position::Attribute(Quote::None);
        match is_unquoted && (written.is_empty() || written.contains(needs_quotes)) {
            true => format!("\"{written}\""),
            false => written,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_translated_text_is_escaped() {
        let notation = HtmlNotation::new(Position::Content);
        assert_eq!(notation.escape("a<b>&c \"d\""), "a&lt;b&gt;&amp;c \"d\"");
    }

    #[test]
    fn a_character_is_written_as_the_passage_writes_it() {
        let mut notation = HtmlNotation::new(Position::Content);
        notation.learn_entity("&eacute;", "é");
        assert_eq!(notation.escape("été ê"), "&eacute;t&eacute; ê");
    }

    #[test]
    fn an_ampersand_that_the_passage_writes_bare_stays_so_where_it_is_no_entity() {
        let mut notation = HtmlNotation::new(Position::Content);
        notation.learn_text("a & b");
        assert_eq!(notation.escape("x & y&amp;"), "x & y&amp;amp;");
    }

    #[test]
    fn quotation_marks_that_would_end_the_attribute_are_escaped() {
        let notation = HtmlNotation::new(Position::Attribute(Quote::Single));
        assert_eq!(notation.escape("l'eau \"x\""), "l&#39;eau \"x\"");
    }

    #[test]
    fn an_attribute_without_quotation_marks_gets_them_if_it_needs_them() {
        let notation = HtmlNotation::new(Position::Attribute(Quote::None));
        assert_eq!(
            notation.complete("zwei Wörter".to_owned()),
            "\"zwei Wörter\""
        );
    }
}
