//! [`tokens`]: the vocabularies that Marian writes in YAML, one token a line.

use super::BinaryError;

/// Returns the tokens of `vocab.yml` in the order of their ids.
///
/// A line is `token: id`, or the two lines `? token` and `: id`. The token may be quoted, and have any character, also
/// a colon.
///
/// # Errors
///
/// Returns a [`BinaryError`] with the first line that has another form or repeats an id, or with an id without a token.
pub(super) fn tokens(text: &str) -> Result<Vec<String>, BinaryError> {
    let mut tokens: Vec<Option<String>> = Vec::new();
    let mut key = None;
    for (line, content) in (1..).zip(text.lines()) {
        let wrong = || BinaryError::Token { line };
        if content.is_empty() || content == "---" {
            continue;
        }
        if let Some(token) = content.strip_prefix("? ") {
            key = Some(token);
            continue;
        }
        let (token, id) = content.rsplit_once(':').ok_or_else(wrong)?;
        let token = key.take().unwrap_or(token);
        let id: usize = id
            .trim()
            .parse()
            .ok()
            .filter(|id| *id < text.len())
            .ok_or_else(wrong)?;
        if tokens.len() <= id {
            tokens.resize(id + 1, None);
        }
        if tokens[id]
            .replace(unquoted(token).ok_or_else(wrong)?)
            .is_some()
        {
            return Err(wrong());
        }
    }
    match tokens.iter().position(Option::is_none) {
        Some(id) => Err(BinaryError::NoId { id }),
        None => Ok(tokens.into_iter().flatten().collect()),
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
        let escape = characters.next()?;
        let mut hexadecimal = |n_digits: usize| {
            let digits: String = characters.by_ref().take(n_digits).collect();
            char::from_u32(u32::from_str_radix(&digits, 16).ok()?)
        };
        text.push(match escape {
            'x' => hexadecimal(2)?,
            'u' => hexadecimal(4)?,
            'U' => hexadecimal(8)?,
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            other => other,
        });
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_plain_quoted_escaped_or_on_a_line_of_their_own() {
        let text = "</s>: 0\n<unk>: 1\n\"\\\"\": 2\n'it''s': 4\n\"\\x85\\\\\": 3\n? long\n: 5\n▁a:b: 6\n\":\": 7\n'\"': 8\n";
        let expected = [
            "</s>", "<unk>", "\"", "\u{85}\\", "it's", "long", "▁a:b", ":", "\"",
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
            "a: 0\nb: 99999\n",
        ] {
            assert!(
                error(text).starts_with("line 2 of the vocabulary"),
                "{text}"
            );
        }
        assert!(error("a: 0\nb: 2\n").contains("no token with the id 1"));
    }
}
