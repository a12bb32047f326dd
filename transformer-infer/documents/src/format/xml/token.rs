//! [`tokens`]: text and tags of XML. Any input is valid: everything except tags is text.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind<'a>,
    pub(super) source: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind<'a> {
    Text,
    /// The text of a CDATA section, which has no entities.
    CharacterData(&'a str),
    /// A start tag with this name.
    Start(&'a str),
    End(&'a str),
    /// An element in one tag, such as `<x/>`, with this name.
    Empty(&'a str),
    Comment,
    /// A processing instruction, a document type, or incomplete markup at the end of the input.
    Declaration,
}

/// Divides the input into tokens; their sources together are the input.
pub(super) fn tokens(input: &str) -> Vec<Token<'_>> {
    each_token(input).collect()
}

pub(super) fn each_token(input: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = input;
    // The markup after the last text.
    let mut next = None;
    std::iter::from_fn(move || {
        if let Some(markup) = next.take() {
            return Some(markup);
        }
        let found = rest.match_indices('<').find_map(|(at, _)| {
            let (kind, len) = markup(&rest[at..])?;
            let source = &rest[at..at + len];
            Some((at, Token { kind, source }))
        });
        let (source, after) = rest.split_at(found.map_or(rest.len(), |it| it.0));
        let markup = found.map(|it| it.1);
        rest = &after[markup.map_or(0, |it| it.source.len())..];
        if source.is_empty() {
            return markup;
        }
        next = markup;
        let kind = TokenKind::Text;
        Some(Token { kind, source })
    })
}

fn markup(text: &str) -> Option<(TokenKind<'_>, usize)> {
    // Markup without an end takes the rest of the input, so that no end is searched for twice.
    let until =
        |end: &str, from: usize| text.get(from..)?.find(end).map(|at| from + at + end.len());
    let or_rest = |len: Option<usize>, kind| match len {
        Some(len) => (kind, len),
        None => (TokenKind::Declaration, text.len()),
    };
    if text.starts_with("<!--") {
        return Some(or_rest(until("-->", 4), TokenKind::Comment));
    }
    if let Some(rest) = text.strip_prefix("<![CDATA[") {
        let len = until("]]>", 9);
        let data = len.map_or(rest, |len| &text[9..len - 3]);
        return Some(or_rest(len, TokenKind::CharacterData(data)));
    }
    if text.starts_with("<?") {
        return Some(or_rest(until("?>", 2), TokenKind::Declaration));
    }
    if text.starts_with("<!DOCTYPE") {
        return Some(or_rest(doctype_len(text), TokenKind::Declaration));
    }
    tag(text)
}

/// Returns the length of a document type. Its internal subset may contain declarations, comments and instructions.
fn doctype_len(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(found) = text[at..].find(['<', '>', '"', '\'']) {
        let start = at + found;
        let rest = &text[start..];
        let end = match rest.as_bytes()[0] {
            b'"' => Some("\""),
            b'\'' => Some("'"),
            b'<' if rest.starts_with("<!--") => Some("-->"),
            b'<' if rest.starts_with("<?") => Some("?>"),
            _ => None,
        };
        at = start + 1;
        if let Some(end) = end {
            at += rest[1..].find(end)? + end.len();
        } else if rest.starts_with('<') {
            depth += 1;
        } else if depth <= 1 {
            return Some(at);
        } else {
            depth -= 1;
        }
    }
    None
}

/// Reads a start or end tag. A `<` outside of quotation marks ends the search, so that no byte is searched more than
/// three times: outside of quotation marks, and inside of those of either kind.
fn tag(text: &str) -> Option<(TokenKind<'_>, usize)> {
    let is_end = text[1..].starts_with('/');
    let name_start = 1 + usize::from(is_end);
    let behind = &text[name_start..];
    if !behind.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
        return None;
    }
    let name_len = behind.find(|c: char| c.is_whitespace() || matches!(c, '/' | '>' | '<'))?;
    let name = &behind[..name_len];
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate().skip(name_start + name_len) {
        match (byte, quote) {
            (b'"' | b'\'', None) => quote = Some(byte),
            (_, Some(open)) if byte == open => quote = None,
            (b'<', None) => return None,
            (b'>', None) => {
                let kind = match (is_end, text[..at].ends_with('/')) {
                    (true, _) => TokenKind::End(name),
                    (false, true) => TokenKind::Empty(name),
                    (false, false) => TokenKind::Start(name),
                };
                return Some((kind, at + 1));
            }
            _ => {}
        }
    }
    None
}

/// Returns the index of the end tag of each start tag that has one, and vice versa.
pub(super) fn partners(tokens: &[Token<'_>]) -> Vec<Option<usize>> {
    let mut partners = vec![None; tokens.len()];
    let mut open: Vec<(usize, &str)> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Start(name) => open.push((index, name)),
            TokenKind::End(name) => {
                if let Some(&(start, opened)) = open.last()
                    && opened == name
                {
                    partners[start] = Some(index);
                    partners[index] = Some(start);
                    open.pop();
                }
            }
            _ => {}
        }
    }
    partners
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(input: &str) -> Vec<TokenKind<'_>> {
        tokens(input).iter().map(|token| token.kind).collect()
    }

    #[test]
    fn tags_end_behind_the_values_of_their_attributes() {
        let expected = [TokenKind::Start("a"), TokenKind::Text, TokenKind::End("a")];
        assert_eq!(kinds("<a b='>' c=\"/>\">x</a >"), expected);
    }

    #[test]
    fn an_element_in_one_tag_is_told_from_a_start() {
        assert_eq!(kinds("<br/>"), [TokenKind::Empty("br")]);
        assert_eq!(kinds("<ns:x id=\"1\" />"), [TokenKind::Empty("ns:x")]);
    }

    #[test]
    fn what_is_no_tag_is_text() {
        for text in [
            "a < b",
            "1<2>3 <",
            "<>",
            "</>",
            "< a>",
            "<a",
            "<a <b",
            "&lt;a&gt;",
        ] {
            assert!(!kinds(text).contains(&TokenKind::Start("a")), "{text}");
        }
    }

    #[test]
    fn what_has_no_end_is_copied() {
        for text in ["<!-- a", "<![CDATA[a", "<?a", "<!DOCTYPE a"] {
            assert_eq!(kinds(text), [TokenKind::Declaration], "{text}");
        }
    }

    #[test]
    fn a_document_type_ends_behind_its_internal_subset() {
        let doctype = "<!DOCTYPE d SYSTEM \">\" [ <!ENTITY a \"b>\"> <!-- > ' --> <?x >?> %p; ]>";
        let input = format!("{doctype}<d>x</d>");
        assert_eq!(tokens_of(&input), [doctype, "<d>", "x", "</d>"]);
    }

    fn tokens_of(input: &str) -> Vec<&str> {
        tokens(input).iter().map(|token| token.source).collect()
    }

    #[test]
    fn character_data_is_text_without_entities() {
        let expected = [TokenKind::CharacterData("a<b>&amp;")];
        assert_eq!(kinds("<![CDATA[a<b>&amp;]]>"), expected);
    }
}
