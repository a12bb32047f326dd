//! Resolves entities such as `&eacute;`, and remembers the spelling of each character.

use std::borrow::Cow;

use htmlize::{Context, ENTITIES, unescape_in};

/// Maximum length of an entity's name, including `&` and `;`.
const MAX_NAME_BYTES: usize = 33;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    pub(super) source: &'a str,
    /// The text as a person reads it: the same, unless the source is an entity.
    pub(super) text: Cow<'a, str>,
    pub(super) is_entity: bool,
}

pub(super) fn pieces(source: &str, context: Context) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = source;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (len, text) = match rest.strip_prefix('&').and_then(|_| entity(rest, context)) {
            Some((len, text)) => (len, Some(text)),
            None => (next_entity(rest, context), None),
        };
        let (source, behind) = rest.split_at(len);
        rest = behind;
        Some(Piece {
            source,
            is_entity: text.is_some(),
            text: text.unwrap_or(Cow::Borrowed(source)),
        })
    })
}

/// Returns the index of the first entity after the first character, or the end.
fn next_entity(text: &str, context: Context) -> usize {
    let mut starts = text.match_indices('&').map(|(at, _)| at);
    let entity = starts.find(|&at| at > 0 && entity(&text[at..], context).is_some());
    entity.unwrap_or(text.len())
}

/// Resolves the entity at the start of the text, if there is one, and returns its length.
pub(in crate::format) fn entity(
    text: &str,
    context: Context,
) -> Option<(usize, Cow<'static, str>)> {
    let bytes = text.as_bytes();
    if bytes.get(1) == Some(&b'#') {
        return numeric_entity(text);
    }
    let name = bytes[1..].iter().take(MAX_NAME_BYTES);
    let name_len = name.take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let has_semicolon = bytes.get(1 + name_len) == Some(&b';');
    let longest = 1 + name_len + usize::from(has_semicolon);
    for len in (3..=longest).rev() {
        let Some(characters) = ENTITIES.get(&bytes[..len]) else {
            continue;
        };
        let is_ended = bytes[len - 1] == b';';
        let next = bytes.get(len);
        let is_text = next.is_some_and(|&byte| byte == b'=' || byte.is_ascii_alphanumeric());
        if context == Context::Attribute && !is_ended && is_text {
            return None;
        }
        let characters = std::str::from_utf8(characters).ok()?;
        return Some((len, Cow::Owned(characters.to_owned())));
    }
    None
}

fn numeric_entity(text: &str) -> Option<(usize, Cow<'static, str>)> {
    let bytes = text.as_bytes();
    let is_hex = matches!(bytes.get(2), Some(b'x' | b'X'));
    let start = 2 + usize::from(is_hex);
    let radix = if is_hex { 16 } else { 10 };
    let digits = bytes[start..].iter().map(|byte| char::from(*byte));
    let n_digits = digits.take_while(|c| c.is_digit(radix)).count();
    if n_digits == 0 {
        return None;
    }
    let has_semicolon = bytes.get(start + n_digits) == Some(&b';');
    let len = start + n_digits + usize::from(has_semicolon);
    let resolved = unescape_in(&text[..len], Context::General).into_owned();
    Some((len, Cow::Owned(resolved)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(source: &str, context: Context) -> String {
        pieces(source, context).map(|piece| piece.text).collect()
    }

    #[test]
    fn names_without_semicolon_end_at_the_longest_known() {
        assert_eq!(resolve("&notit; &amp&", Context::General), "¬it; &&");
    }

    #[test]
    fn in_attributes_names_without_semicolon_are_no_entities_before_letters() {
        assert_eq!(resolve("?a&copy=1&copy", Context::Attribute), "?a&copy=1©");
    }

    #[test]
    fn numbers_of_windows_1252_are_its_characters() {
        assert_eq!(resolve("&#x80;&#0;&#233", Context::General), "€\u{FFFD}é");
    }

    #[test]
    fn what_is_no_entity_is_text() {
        let found: Vec<_> = pieces("a & b &; &#; &#xg", Context::General).collect();
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
