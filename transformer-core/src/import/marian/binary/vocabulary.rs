//! [`tokens`]: the vocabularies that Marian writes in YAML, one token a line.

use std::collections::BTreeMap;
use std::str::Chars;

use super::BinaryError;

/// Returns the tokens of `vocab.yml` in the order of their ids.
///
/// A line is `token: id`, or the two lines `? token` and `: id`. The token may be quoted, and have any character, also
/// a colon.
pub(super) fn tokens(text: &str) -> Result<Vec<String>, BinaryError> {
    // By id, so that the memory does not depend on the largest id.
    let mut tokens: BTreeMap<usize, String> = BTreeMap::new();
    let mut key = None;
    for (line, content) in (1..).zip(text.lines()) {
        let wrong = || BinaryError::Token { line };
        if content.is_empty() || content == "---" {
            continue;
        }
        let pair = match (key.take(), content.strip_prefix("? ")) {
            (None, Some(token)) => {
                key = Some((token, line));
                continue;
            }
            (None, None) => content.rsplit_once(':'),
            (Some((token, _)), _) => content.strip_prefix(':').map(|id| (token, id)),
        };
        let (token, id) = pair.ok_or_else(wrong)?;
        let token = unquoted(token).ok_or_else(wrong)?;
        let id = id.trim().parse().map_err(|_| wrong())?;
        if tokens.insert(id, token).is_some() {
            return Err(wrong());
        }
    }
    if let Some((_, line)) = key {
        return Err(BinaryError::Token { line });
    }
    match (0..).zip(tokens.keys()).find(|(id, found)| id != *found) {
        Some((id, _)) => Err(BinaryError::NoId { id }),
        None => Ok(tokens.into_values().collect()),
    }
}

/// Removes the quotes of YAML, single or double, and the escapes in them.
fn unquoted(token: &str) -> Option<String> {
    let within = |quote: char| token.strip_prefix(quote)?.strip_suffix(quote);
    if let Some(token) = within('\'') {
        return Some(token.replace("''", "'"));
    }
    let Some(token) = within('"') else {
        return Some(token.to_owned());
    };
    let mut text = String::new();
    let mut characters = token.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        text.push(match characters.next()? {
            'x' => char::from_u32(hexadecimal(&mut characters, 2)?)?,
            'u' => utf16(&mut characters)?,
            'U' => char::from_u32(hexadecimal(&mut characters, 8)?)?,
            '0' => '\0',
            'a' => '\u{7}',
            'b' => '\u{8}',
            't' => '\t',
            'n' => '\n',
            'v' => '\u{b}',
            'f' => '\u{c}',
            'r' => '\r',
            'e' => '\u{1b}',
            'N' => '\u{85}',
            '_' => '\u{a0}',
            'L' => '\u{2028}',
            'P' => '\u{2029}',
            same @ ('"' | '\\' | '/' | ' ') => same,
            _ => return None,
        });
    }
    Some(text)
}

/// Reads the digits after `\u`, and those of the second half of a surrogate pair, as JSON has them.
fn utf16(characters: &mut Chars<'_>) -> Option<char> {
    let unit = |characters: &mut Chars<'_>| u16::try_from(hexadecimal(characters, 4)?).ok();
    let first = unit(characters)?;
    let mut units = vec![first];
    if (0xD800..0xDC00).contains(&first) {
        let is_pair = characters.next() == Some('\\') && characters.next() == Some('u');
        units.push(unit(characters).filter(|_| is_pair)?);
    }
    String::from_utf16(&units).ok()?.chars().next()
}

fn hexadecimal(characters: &mut Chars<'_>, n_digits: usize) -> Option<u32> {
    let digits: String = characters.by_ref().take(n_digits).collect();
    let is_number = digits.len() == n_digits && digits.bytes().all(|it| it.is_ascii_hexdigit());
    is_number.then(|| u32::from_str_radix(&digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_plain_quoted_escaped_or_on_a_line_of_their_own() {
        let text = "</s>: 0\n<unk>: 1\n\"\\\"\": 2\n'it''s': 4\n\"\\x85\\\\\": 3\n? long\n: 5\n▁a:b: 6\n\":\": 7\n'\"': 8\n\"\\ud83d\\ude00\\U0001f600\\_\": 9\n";
        let expected = [
            "</s>",
            "<unk>",
            "\"",
            "\u{85}\\",
            "it's",
            "long",
            "▁a:b",
            ":",
            "\"",
            "😀😀\u{a0}",
        ];
        assert_eq!(tokens(text).expect("every line is a token"), expected);
    }

    #[test]
    fn lines_of_another_form_and_ids_that_are_missing_or_repeated_are_refused() {
        let error = |text: &str| tokens(text).expect_err("a line is wrong").to_string();
        for text in [
            "a: 0\nb\n",
            "a: 0\nb: 0\n",
            "a: 0\nb: x\n",
            "a: 0\n\"\\xyz\": 1\n",
            "a: 0\n\"\\q\": 1\n",
            "a: 0\n\"\\ud83d\": 1\n",
            "a: 0\n\"\\ude00\": 1\n",
            "a: 0\n\"\\u+12a\": 1\n",
            "? a\nb: 0\n",
            "? a\n? b\n: 0\n",
            "a: 0\n? b\n",
        ] {
            assert!(
                error(text).starts_with("line 2 of the vocabulary"),
                "{text}"
            );
        }
        for id in ["2", "18446744073709551615"] {
            assert!(error(&format!("a: 0\nb: {id}\n")).contains("no token with the id 1"));
        }
    }
}
