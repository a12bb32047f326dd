//! [`XmlText`]: the rules for writing translated text in XML, and for reading it.

use std::borrow::Cow;

use htmlize::unescape;

use crate::Notation;

/// A notation that writes text without markup.
#[derive(Debug, Default)]
pub(super) struct XmlText {
    /// True if line ends are not equal to spaces.
    pub(super) has_hard_line_ends: bool,
}

impl Notation for XmlText {
    fn has_soft_line_ends(&self) -> bool {
        !self.has_hard_line_ends
    }

    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        // XML has no other control characters.
        let is_control = |c: char| c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r');
        if !text.contains(['&', '<', '>']) && !text.contains(is_control) {
            return Cow::Borrowed(text);
        }
        let text = text.replace(is_control, "");
        let escaped = text.replace('&', "&amp;");
        Cow::Owned(escaped.replace('<', "&lt;").replace('>', "&gt;"))
    }
}

/// Resolves the entities of XML, and the additional names of HTML.
pub(super) fn resolved(source: &str) -> Cow<'_, str> {
    unescape(source)
}

/// Divides text at the entities that the document declares, which are copied. Returns the text between them and the
/// entities, in turn.
pub(super) fn split_at_entities(source: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut search) = (0, 0);
    while let Some(found) = source[search..].find('&') {
        let at = search + found;
        let name = source[at + 1..].split(|c: char| !c.is_alphanumeric() && !"_.:-".contains(c));
        let end = at + 1 + name.map(str::len).next().unwrap_or(0);
        search = at + 1;
        let is_named = end > search && source[end..].starts_with(';');
        if is_named && resolved(&source[at..=end]) == source[at..=end] {
            pieces.extend([&source[start..at], &source[at..=end]]);
            (start, search) = (end + 1, end + 1);
        }
    }
    pieces.push(&source[start..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_as_it_was_read() {
        for text in ["a & b", "1 < 2 > 0", "&amp;lt;", "\"it's\"", ""] {
            assert_eq!(resolved(&XmlText::default().escape(text)), text);
        }
    }
}
