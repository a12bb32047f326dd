//! The start of a long line: all that is needed of it where the number of tokens is limited.

use super::Tokenizer;

/// Bytes that are tried first for each token that is needed. Few texts have longer tokens on average.
const BYTES_PER_TOKEN: usize = 8;

/// Number of tokens at the end of a start that may differ from those of the line, because the last word is cut.
const MARGIN: usize = 32;

impl Tokenizer {
    /// Returns a start of the line that has more than `n_tokens` tokens, the first of which are those of the line; or
    /// the line, if it has fewer or is short.
    ///
    /// The time and the memory of encoding grow with the bytes of a line, so this limits them where further tokens
    /// are not used.
    ///
    /// # Panics
    ///
    /// See [`encode`](Self::encode).
    pub fn start_of_line<'a>(&self, line: &'a str, n_tokens: usize) -> &'a str {
        let enough = n_tokens.saturating_add(MARGIN);
        let mut n_bytes = enough.saturating_mul(BYTES_PER_TOKEN);
        while n_bytes < line.len() {
            let start = cut(line, n_bytes);
            if self.encode(start).len() >= enough {
                return start;
            }
            n_bytes = n_bytes.saturating_mul(2);
        }
        line
    }
}

/// Returns the first bytes of a line: at most `n_bytes`, and up to whitespace unless a word is longer than half of
/// them.
fn cut(line: &str, n_bytes: usize) -> &str {
    let start = &line[..line.floor_char_boundary(n_bytes)];
    let space = start.rfind(char::is_whitespace);
    let space = space.filter(|space| *space > n_bytes / 2);
    &start[..space.unwrap_or(start.len())]
}

#[cfg(test)]
mod tests {
    use super::super::word_cache::mixed_script_lines;
    use super::*;
    use crate::text::{Case, TokenizerConfig, TokenizerError, TokenizerKind};

    const KINDS: [TokenizerKind; 4] = [
        TokenizerKind::Word,
        TokenizerKind::Char,
        TokenizerKind::Bpe,
        TokenizerKind::Unigram,
    ];

    fn trained(kind: TokenizerKind) -> Result<Tokenizer, TokenizerError> {
        let config = TokenizerConfig {
            kind,
            case: Case::Lower,
            vocab_size: 700,
        };
        Tokenizer::train(&config, mixed_script_lines(300))
    }

    fn check(tokenizer: &Tokenizer, line: &str, n_tokens: usize) -> usize {
        let start = tokenizer.start_of_line(line, n_tokens);
        let (ids, expected) = (tokenizer.encode(start), tokenizer.encode(line));
        match start.len() == line.len() {
            true => assert_eq!(ids, expected),
            false => {
                assert!(ids.len() > n_tokens, "{} {n_tokens}", ids.len());
                assert_eq!(ids[..n_tokens], expected[..n_tokens]);
            }
        }
        start.len()
    }

    #[test]
    fn the_first_tokens_of_a_start_are_those_of_the_line() -> Result<(), TokenizerError> {
        let line = mixed_script_lines(1000).join(" ");
        for kind in KINDS {
            let tokenizer = trained(kind)?;
            for n_tokens in [0, 1, 7, 300, 1024] {
                let n_bytes = check(&tokenizer, &line, n_tokens);
                assert!(n_bytes < line.len() / 2, "{kind}: {n_bytes}");
            }
        }
        Ok(())
    }

    #[test]
    fn a_word_without_an_end_is_cut() -> Result<(), TokenizerError> {
        let word = mixed_script_lines(2000).concat();
        let word: String = word.chars().filter(|c| c.is_alphabetic()).collect();
        for kind in [
            TokenizerKind::Char,
            TokenizerKind::Bpe,
            TokenizerKind::Unigram,
        ] {
            let tokenizer = trained(kind)?;
            let n_bytes = check(&tokenizer, &word, 300);
            assert!(n_bytes < word.len() / 2, "{kind}: {n_bytes}");
        }
        Ok(())
    }

    #[test]
    fn a_line_with_few_tokens_is_returned_whole() -> Result<(), TokenizerError> {
        let tokenizer = trained(TokenizerKind::Word)?;
        let word = "long".repeat(5000);
        assert_eq!(tokenizer.start_of_line(&word, 9), word);
        let spaces = " ".repeat(9000) + "end";
        assert_eq!(tokenizer.start_of_line(&spaces, 9), spaces);
        assert_eq!(tokenizer.start_of_line("a b", usize::MAX), "a b");
        Ok(())
    }
}
