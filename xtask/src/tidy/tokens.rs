//! Splits Rust source into the tokens that imports are made of.
//!
//! `syn` knows lines only with a feature of `proc-macro2` that nothing else in the workspace uses, and with
//! it Burn would be compiled again. Imports require only names and punctuation.

/// One name, string in plain quotes, `::`, or another punctuation character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// The text; raw identifiers are without their `r#`, and strings have their quotes.
    pub(super) text: &'a str,
    /// The line in the file, from 1.
    pub(super) line: usize,
}

impl Token<'_> {
    /// Returns whether the token is an identifier or a keyword.
    pub(super) fn is_name(&self) -> bool {
        self.text.starts_with(is_name_start)
    }
}

/// Returns the tokens of a source text without comments, lifetimes, and literals other than plain strings.
pub(super) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = source;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let (length, is_token) = if first.is_whitespace() {
            (first.len_utf8(), false)
        } else if let Some(length) = comment(rest).or_else(|| literal(rest)) {
            (length, first == '"')
        } else if let Some(raw) = rest
            .strip_prefix("r#")
            .filter(|it| it.starts_with(is_name_start))
        {
            rest = raw;
            (name(raw), true)
        } else if is_name_start(first) {
            (name(rest), true)
        } else if rest.starts_with("::") {
            (2, true)
        } else {
            (first.len_utf8(), true)
        };
        let (text, behind) = rest.split_at(length);
        if is_token {
            tokens.push(Token { text, line });
        }
        line += text.matches('\n').count();
        rest = behind;
    }
    tokens
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Returns the length of the name at the beginning of a text, in bytes.
fn name(text: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

/// Returns the length of the comment at the beginning of a text, if there is one.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    let mut depth = 0_usize;
    let mut at = 0;
    while text.starts_with("/*") {
        let rest = text.get(at..)?;
        match rest.as_bytes() {
            [] => return Some(text.len()),
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += rest.chars().next().map_or(1, char::len_utf8),
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Returns the length of the literal or lifetime at the beginning of a text, if there is one.
fn literal(text: &str) -> Option<usize> {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        return Some(text.find(|c| !is_part(c)).unwrap_or(text.len()));
    }
    if text.starts_with('\'') {
        return Some(character_or_lifetime(text));
    }
    let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|prefix| {
        text.strip_prefix(prefix)
            .is_some_and(|it| it.starts_with(['"', '#']))
    })?;
    let quoted = &text[prefix.len()..];
    let n_hashes = quoted.len() - quoted.trim_start_matches('#').len();
    if !quoted[n_hashes..].starts_with('"') || (n_hashes > 0 && !prefix.ends_with('r')) {
        return None;
    }
    let start = prefix.len() + n_hashes + 1;
    if prefix.ends_with('r') {
        let end = format!("\"{}", "#".repeat(n_hashes));
        let found = text[start..].find(&end).map(|at| start + at + end.len());
        return Some(found.unwrap_or(text.len()));
    }
    Some(start + escaped(&text[start..], '"'))
}

/// Returns the length of a text with escapes up to and with the quote that ends it.
fn escaped(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        if c == quote && !is_escaped {
            return at + 1;
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    text.len()
}

fn character_or_lifetime(text: &str) -> usize {
    let inside = &text[1..];
    let mut characters = inside.chars();
    let (first, second) = (characters.next(), characters.next());
    match (first, second) {
        (Some('\\'), _) | (_, Some('\'')) => 1 + escaped(inside, '\''),
        _ => 1 + name(inside),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<&str> {
        tokens(source).iter().map(|token| token.text).collect()
    }

    #[test]
    fn paths_are_names_and_double_colons() {
        assert_eq!(
            texts("crate::model::{Mask, r#type}"),
            ["crate", "::", "model", "::", "{", "Mask", ",", "type", "}"]
        );
    }

    #[test]
    fn comments_are_left_out() {
        assert_eq!(texts("a // b\n/* c /* d */ e */ /// f\n/**/ g"), ["a", "g"]);
    }

    #[test]
    fn only_plain_strings_of_all_literals_are_tokens() {
        let source = r##"a "b \" c" 'd' '\'' b"e" r#"f " g"# br"h" 1.5e3 0x_ff i"##;
        assert_eq!(texts(source), ["a", r#""b \" c""#, ".", "i"]);
    }

    #[test]
    fn lifetimes_are_left_out() {
        assert_eq!(texts("&'a T, 'static, '_>"), ["&", "T", ",", ",", ">"]);
    }

    #[test]
    fn lines_are_counted_in_text_over_several_lines() {
        let lines: Vec<usize> = tokens("a\n\"\n\n\" b\n/*\n*/ c")
            .iter()
            .map(|it| it.line)
            .collect();
        assert_eq!(lines, [1, 2, 4, 6]);
    }
}
