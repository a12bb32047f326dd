//! [`MarkdownText`]: the rules for writing text in Markdown.

/// The rules for writing text in Markdown: with a backslash before characters that would be markup.
///
/// Until a passage is complete, its text is as a person reads it, and special characters separate marks from the text.
#[derive(Debug)]
pub(super) struct MarkdownText {
    /// True if the text is in a cell of a table, where `|` is markup.
    pub(super) is_cell: bool,
    /// The links of the passage.
    pub(super) links: Vec<Link>,
}

/// A link of a passage.
#[derive(Debug)]
pub(super) struct Link {
    /// The source after its text.
    pub(super) end: String,
    /// Its text in the document.
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
