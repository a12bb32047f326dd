//! [`UserSymbols`]: texts that are always one token, such as `<2de>`, like SentencePiece's user-defined symbols.

use std::collections::HashSet;

use serde_json::{Value, json};
use tokenizers::AddedToken;

use super::sentencepiece::Trie;
use super::special::{N_SPECIAL, SPECIAL_TOKENS, byte_of};
use super::{TokenizerConfig, TokenizerError};

const MAX_CHARS: usize = 64;

/// The symbols of a tokenizer's settings.
///
/// They are found in the original text, before normalization: from left to right, at each position the longest. Nothing
/// else is learned from them, and no other token crosses them.
#[derive(Debug)]
pub(super) struct UserSymbols(Trie);

impl TokenizerConfig {
    /// Checks that every one of the [`user_symbols`](Self::user_symbols) can be a token.
    ///
    /// # Errors
    ///
    /// Returns [`TokenizerError::UserSymbol`] with the first symbol that is empty, is given twice, has whitespace,
    /// `▁` or a control character, has more than 64 characters, or spells a special token or a byte.
    pub fn check_user_symbols(&self) -> Result<(), TokenizerError> {
        let mut seen = HashSet::new();
        for symbol in &self.user_symbols {
            let reason = match fault(symbol) {
                None if seen.insert(symbol) => continue,
                None => "it is given twice; remove one",
                Some(reason) => reason,
            };
            let symbol = symbol.chars().take(MAX_CHARS).collect();
            return Err(TokenizerError::UserSymbol { symbol, reason });
        }
        Ok(())
    }
}

impl UserSymbols {
    pub(super) fn of(config: &TokenizerConfig) -> Result<Self, TokenizerError> {
        config.check_user_symbols()?;
        let symbols = config.user_symbols.iter().map(String::as_str);
        Ok(Self(Trie::new(symbols.zip(0..))))
    }

    /// Returns the texts of a line between its symbols, none of them empty.
    pub(super) fn texts_between<'a>(&'a self, line: &'a str) -> impl Iterator<Item = &'a str> {
        let mut rest = Some(line);
        let next = move || {
            let text = rest?;
            let found = text.char_indices().find_map(|(start, _)| {
                let len = self.0.longest(&text.as_bytes()[start..])?;
                Some((start, start + len))
            });
            let (end, after) = found.map_or((text.len(), None), |(start, end)| (start, Some(end)));
            rest = after.map(|after| &text[after..]);
            Some(&text[..end])
        };
        std::iter::from_fn(next).filter(|text| !text.is_empty())
    }
}

/// Returns the symbols as a `tokenizer.json` lists them. Their ids follow those of the special tokens.
pub(super) fn added_tokens(config: &TokenizerConfig) -> Value {
    let symbols = config.user_symbols.iter().zip(N_SPECIAL..);
    let tokens = symbols.map(|(symbol, id)| added_token(symbol, id));
    tokens.collect()
}

/// Returns a token as a `tokenizer.json` lists it. It has a text unless it is made `special`.
pub fn added_token(content: &str, id: usize) -> Value {
    json!({
        "id": id,
        "content": content,
        "single_word": false,
        "lstrip": false,
        "rstrip": false,
        "normalized": false,
        "special": false,
    })
}

/// Returns the decoder that separates a symbol from the text before it by a space; `None` without symbols.
///
/// It is a lookahead: a single replacement of an empty match by a mark serves all symbols.
pub(super) fn decoder(config: &TokenizerConfig, word_start: &str) -> Option<Value> {
    let symbols = config.user_symbols.iter();
    let escaped: Vec<String> = symbols.map(|symbol| regex::escape(symbol)).collect();
    let any = escaped.join("|");
    let pattern = json!({"Regex": format!("^(?=(?:{any})$)")});
    (!any.is_empty()).then(|| json!({"type": "Replace", "pattern": pattern, "content": word_start}))
}

/// Returns whether a token of a file is matched in text like the symbols of this module.
pub(super) fn is_user_symbol(token: &AddedToken) -> bool {
    let AddedToken {
        content,
        single_word,
        lstrip,
        rstrip,
        normalized,
        special,
    } = token;
    let is_plain = !single_word && !lstrip && !rstrip && !normalized && !special;
    is_plain && fault(content).is_none()
}

fn fault(symbol: &str) -> Option<&'static str> {
    let separates = |c: char| c.is_whitespace() || c.is_control() || c == '▁';
    if symbol.is_empty() {
        Some("it is empty; remove it")
    } else if symbol.contains(separates) {
        Some("it has whitespace, `▁` or a control character; write it without, for example <2de>")
    } else if symbol.chars().count() > MAX_CHARS {
        Some("it has more than 64 characters; choose a shorter one")
    } else if SPECIAL_TOKENS.contains(&symbol) || byte_of(symbol).is_some() {
        Some("it spells a special token or a byte; choose another one, for example <2de>")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(symbols: &[&str]) -> TokenizerConfig {
        TokenizerConfig {
            user_symbols: symbols.iter().map(|&symbol| symbol.to_owned()).collect(),
            ..TokenizerConfig::default()
        }
    }

    #[test]
    fn the_longest_symbol_at_the_leftmost_position_is_cut_out() -> Result<(), TokenizerError> {
        let symbols = UserSymbols::of(&config(&["<a>", "<a>b", "b<", "ü"]))?;
        let texts = |line| symbols.texts_between(line).collect::<Vec<_>>();
        assert_eq!(texts("x<a>b<a>y"), ["x", "y"]);
        assert_eq!(texts("xb<a>y"), ["x", "a>y"]);
        assert_eq!(texts("äüö<a"), ["ä", "ö<a"]);
        assert_eq!(texts("<a><a>"), [""; 0]);
        Ok(())
    }

    #[test]
    fn symbols_that_cannot_be_tokens_are_refused_with_the_reason() {
        let long = "x".repeat(65);
        for (symbols, expected) in [
            (
                &["<2de>", ""][..],
                r#""" cannot be a user-defined symbol: it is empty"#,
            ),
            (
                &["<2 de>"],
                r#""<2 de>" cannot be a user-defined symbol: it has whitespace"#,
            ),
            (
                &["a\u{a0}"],
                r#""a\u{a0}" cannot be a user-defined symbol: it has whitespace"#,
            ),
            (
                &["▁de"],
                r#""▁de" cannot be a user-defined symbol: it has whitespace"#,
            ),
            (
                &["\u{1b}[0m"],
                r#""\u{1b}[0m" cannot be a user-defined symbol: it has"#,
            ),
            (
                &["a", "b", "a"],
                r#""a" cannot be a user-defined symbol: it is given twice"#,
            ),
            (
                &["</s>"],
                r#""</s>" cannot be a user-defined symbol: it spells a special"#,
            ),
            (
                &["<0x0A>"],
                r#""<0x0A>" cannot be a user-defined symbol: it spells a special"#,
            ),
            (
                &[&long],
                "cannot be a user-defined symbol: it has more than 64 characters",
            ),
        ] {
            let error = config(symbols).check_user_symbols();
            let message = error.expect_err("a symbol is refused").to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
