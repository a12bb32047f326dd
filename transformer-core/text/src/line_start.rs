//! The start of a long line, which suffices where the number of tokens is limited.
//!
//! The first tokens of a start are those of the line if they are those of every shorter start that ends within the
//! length of a token before it. Proof: some token of the line ends at one of these positions. For BPE and for the best
//! path of a unigram model, the tokens up to a position where a token ends are the tokens of the text up to there,
//! because no merge crosses it, and because the best path to it depends on nothing after it. This assumes that the text
//! before the position is normalized in the same way whatever follows. That holds except for a few characters:
//! combining marks that are composed with a letter, or the longest match of a character map.

use super::Tokenizer;

/// Number of bytes per needed token that are tried first. Few texts have longer tokens on average.
const BYTES_PER_TOKEN: usize = 8;

/// Number of tokens at the end of a start that are not used.
const MARGIN: usize = 32;

/// Number of characters by which normalization may shorten a text of the length of a token.
const MAX_COMPOSED: usize = 16;

impl Tokenizer {
    /// Returns a start of the line that has more than `n_tokens` tokens, the first of which are those of the line, or
    /// the whole line if it has fewer or is short.
    ///
    /// The time and the memory of encoding grow with the bytes of a line, so this limits them if further tokens are not
    /// used.
    ///
    /// # Panics
    ///
    /// See [`encode`](Self::encode).
    pub fn start_of_line<'a>(&self, line: &'a str, n_tokens: usize) -> &'a str {
        let enough = n_tokens.saturating_add(MARGIN);
        let mut n_bytes = enough.saturating_mul(BYTES_PER_TOKEN);
        while n_bytes < line.len() {
            let start = cut(line, n_bytes);
            let ids = self.encode(start);
            if ids.len() >= enough {
                let ends_word = line[start.len()..].starts_with(char::is_whitespace);
                if self.splits_at_whitespace() && ends_word {
                    return start;
                }
                let n_ends = self.longest_token() + MAX_COMPOSED;
                if n_bytes.saturating_mul(n_ends) >= line.len() {
                    return line; // This takes no longer than the comparison.
                }
                let ends = start.char_indices().rev().take(n_ends);
                let mut shorter = ends.map(|(end, _)| self.encode(&start[..end]));
                if shorter.all(|shorter| shorter.starts_with(&ids[..n_tokens])) {
                    return start;
                }
            }
            n_bytes = n_bytes.saturating_mul(2);
        }
        line
    }

    fn longest_token(&self) -> usize {
        let tokens = (0..self.vocab_size() as u32).filter_map(|id| self.token(id));
        tokens.map(|token| token.chars().count()).max().unwrap_or(1)
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
    use proptest::prelude::*;

    use super::super::lines_for_tests::{KINDS, mixed_script_lines};
    use super::*;
    use crate::{Case, TokenizerConfig, TokenizerError, TokenizerKind};

    fn trained(kind: TokenizerKind) -> Result<Tokenizer, TokenizerError> {
        let config = TokenizerConfig {
            kind,
            case: Case::Lower,
            vocab_size: 700,
            ..TokenizerConfig::default()
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
        for kind in KINDS.into_iter().filter(|it| *it != TokenizerKind::Word) {
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

    /// A unigram model with these pieces and their scores.
    fn unigram(pieces: &[(String, f64)]) -> Result<Tokenizer, TokenizerError> {
        let json = trained(TokenizerKind::Unigram)?.to_json();
        let mut file: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
        let vocab = file["model"]["vocab"].as_array_mut();
        let vocab = vocab.expect("it has a vocabulary");
        vocab.truncate(4); // special tokens
        vocab.extend(pieces.iter().map(|piece| serde_json::json!(piece)));
        Tokenizer::from_json(&file.to_string())
    }

    #[test]
    fn tokens_that_depend_on_the_end_of_a_word_are_those_of_the_line() -> Result<(), TokenizerError>
    {
        // Where the word has an odd number of characters, its first token has another length.
        let pieces = [("▁a", -1.0), ("▁aa", -1.0), ("aa", -2.0), ("a", -30.0)];
        let tokenizer = unigram(&pieces.map(|(piece, score)| (piece.to_owned(), score)))?;
        for n in [20_000, 20_001] {
            let word = "a".repeat(n);
            // A cut that is not compared with others may have other tokens.
            let is_same = |n_bytes| {
                tokenizer.encode(cut(&word, n_bytes))[..9] == tokenizer.encode(&word)[..9]
            };
            assert_ne!(is_same(328), is_same(329));
            assert_eq!(check(&tokenizer, &word, 9), n);
            // A word before it does not depend on it.
            let line = format!("{} {word}", "aa ".repeat(200));
            assert!(check(&tokenizer, &line, 9) < 600);
        }
        Ok(())
    }

    /// Texts of the letters a and b.
    fn letters(len: std::ops::Range<usize>) -> impl Strategy<Value = String> {
        prop::collection::vec(prop_oneof![Just('a'), Just('b')], len)
            .prop_map(|letters| letters.into_iter().collect())
    }

    proptest! {
        // A case takes ten times as long as one of most other properties.
        #![proptest_config(ProptestConfig {
            cases: ProptestConfig::default().cases.div_ceil(10),
            ..ProptestConfig::default()
        })]

        #[test]
        fn starts_have_the_tokens_of_the_line_for_any_unigram_model(
            pieces in prop::collection::btree_map(letters(2..6), -9.0..-0.1_f64, 1..12),
            parts in prop::collection::vec((letters(1..9), 1..900_usize), 1..8),
            n_tokens in 0..40_usize,
        ) {
            let letters = ["▁", "a", "b"].map(|letter| (letter.to_owned(), -7.0));
            let marked = pieces.iter().map(|(piece, score)| (format!("▁{piece}"), score / 2.0));
            let all: Vec<(String, f64)> = letters.into_iter().chain(marked).collect();
            let all = [all, pieces.into_iter().collect()].concat();
            let tokenizer = unigram(&all).expect("it is a model");
            let line: String = parts.iter().map(|(part, n)| part.repeat(*n)).collect();
            check(&tokenizer, &line, n_tokens);
        }

        #[test]
        fn starts_have_the_tokens_of_the_line_for_any_bpe_model(
            seed in letters(40..90),
            parts in prop::collection::vec((letters(1..9), 1..900_usize), 1..8),
            n_tokens in 0..40_usize,
        ) {
            let config = TokenizerConfig {
                kind: TokenizerKind::Bpe,
                case: Case::Keep,
                vocab_size: 40,
                ..TokenizerConfig::default()
            };
            let tokenizer = Tokenizer::train(&config, [seed]).expect("it is text");
            let line: String = parts.iter().map(|(part, n)| part.repeat(*n)).collect();
            check(&tokenizer, &line, n_tokens);
        }
    }
}
