//! Text inside of XML and HTML.

/// Escapes text for XML and HTML, in content and in quoted attributes, so that none of it becomes markup.
///
/// Tabs and line breaks become spaces, and characters that XML does not allow become U+FFFD.
///
/// # Example
///
/// ```
/// assert_eq!(transformer_text::escape_xml("a < \"b\"\u{1}"), "a &lt; &quot;b&quot;\u{FFFD}");
/// ```
pub fn escape_xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\0'..'\u{20}' | '\u{FFFE}' | '\u{FFFF}' => escaped.push('\u{FFFD}'),
            other => escaped.push(other),
        }
    }
    escaped
}
