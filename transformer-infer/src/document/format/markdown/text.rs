//! [`MarkdownText`]: how text is written in Markdown.

use std::borrow::Cow;

use crate::document::Notation;

/// How text is written in Markdown: with a backslash before what would be markup.
#[derive(Debug)]
pub(super) struct MarkdownText {
    /// Whether the text is in a cell of a table, where `|` is markup.
    pub(super) is_cell: bool,
    /// The images of the passage, which begin with `![`.
    pub(super) images: Vec<String>,
}

impl Notation for MarkdownText {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let escaped_at = line_markup(text);
        let mut escaped = String::with_capacity(text.len() + 8);
        let mut before = None;
        for (at, char) in text.char_indices() {
            let rest = &text[at + char.len_utf8()..];
            if escaped_at.contains(&Some(at)) || self.is_markup(before, char, rest) {
                escaped.push('\\');
            }
            match char {
                '\n' | '\r' => escaped.push(' '),
                // The delimiters of cells are found first, and two backslashes do not hide one from them.
                '\\' if self.is_cell && (rest.is_empty() || rest.starts_with('|')) => {
                    escaped.pop();
                    escaped.push_str("&#92;");
                }
                _ => escaped.push(char),
            }
            before = Some(char);
        }
        Cow::Owned(escaped)
    }

    /// Separates an exclamation mark from a link behind it, so that they are not an image.
    fn complete(&self, written: String) -> String {
        if !written.contains("![") {
            return written;
        }
        let mut completed = String::with_capacity(written.len() + 1);
        let mut rest = written.as_str();
        while let Some(at) = rest.find("![") {
            let (before, after) = rest.split_at(at);
            completed.push_str(before);
            let image = self
                .images
                .iter()
                .find(|image| after.starts_with(image.as_str()));
            let len = image.map_or(1, String::len);
            if image.is_none() {
                completed.push('\\');
            }
            completed.push_str(&after[..len]);
            rest = &after[len..];
        }
        completed.push_str(rest);
        completed
    }
}

impl MarkdownText {
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
}

/// Returns whether the text behind `&` makes it a character reference, such as `amp;` or `#160;`.
fn is_reference(rest: &str) -> bool {
    let name = rest.trim_start_matches('#');
    let len = name.bytes().take_while(u8::is_ascii_alphanumeric).count();
    len > 0 && name[len..].starts_with(';')
}

/// Returns which characters would be markup at the start of a line, or at the end of a heading.
fn line_markup(text: &str) -> [Option<usize>; 2] {
    let content = text.trim();
    let start = text.len() - text.trim_start().len();
    let ends_word = |rest: &str| rest.is_empty() || rest.starts_with(char::is_whitespace);
    let n_digits = content.bytes().take_while(u8::is_ascii_digit).count();
    let at_start = if content.starts_with('>')
        || content.starts_with('#') && ends_word(content.trim_start_matches('#'))
        || content.starts_with(['-', '+', '=', ':', '|'])
            && (ends_word(&content[1..]) || content.chars().all(|c| "-+=:| \t".contains(c)))
    {
        Some(start)
    } else if (1..=9).contains(&n_digits)
        && content[n_digits..].starts_with(['.', ')'])
        && ends_word(&content[n_digits + 1..])
    {
        Some(start + n_digits)
    } else {
        None
    };
    let end = start + content.len();
    let at_end = if content.ends_with('}') {
        Some(end - 1)
    } else {
        let before = content.trim_end_matches('#');
        let is_closing = before.len() < content.len()
            && (before.is_empty() || before.ends_with(char::is_whitespace));
        is_closing.then_some(start + before.len())
    };
    [at_start, at_end]
}
