//! [`XmlText`]: how translated text is written in XML, and how it is read.

use std::borrow::Cow;

use htmlize::unescape;

use crate::document::Notation;

/// Writes text so that it has no markup.
#[derive(Debug)]
pub(super) struct XmlText;

impl Notation for XmlText {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if !text.contains(['&', '<', '>']) {
            return Cow::Borrowed(text);
        }
        let escaped = text.replace('&', "&amp;");
        Cow::Owned(escaped.replace('<', "&lt;").replace('>', "&gt;"))
    }
}

/// Resolves the entities of XML, and the names that HTML has besides.
pub(super) fn resolved(source: &str) -> Cow<'_, str> {
    unescape(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_as_it_was_read() {
        for text in ["a & b", "1 < 2 > 0", "&amp;lt;", "\"it's\"", ""] {
            assert_eq!(resolved(&XmlText.escape(text)), text);
        }
    }
}
