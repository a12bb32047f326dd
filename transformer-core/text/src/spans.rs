//! The bytes of a line for each token, for example to align words instead of pieces; and [`Link`]s between a translation and
//! its source.

use std::ops::Range;

use super::Tokenizer;
use super::cached_tokenizer::ids;
use super::special::byte_of;
use super::tokenizer::Inner;

impl Tokenizer {
    /// Encodes a line like [`encode`](Self::encode), and returns the range of bytes in the line for each token.
    ///
    /// A span may include the whitespace before a word. If the mark of a word's start is a separate token, its span is
    /// that whitespace, or, at the start of a line, the next character.
    ///
    /// # Panics
    ///
    /// See [`encode`](Self::encode).
    ///
    /// # Example
    /// ```
    /// use transformer_text::{Tokenizer, TokenizerConfig, TokenizerKind};
    /// let words = TokenizerConfig { kind: TokenizerKind::Word, ..TokenizerConfig::default() };
    /// let tokenizer = Tokenizer::train(&words, ["a dog runs"])?;
    /// let (ids, spans) = tokenizer.encode_spans("a  dog");
    /// assert_eq!(ids, tokenizer.encode("a  dog"));
    /// assert_eq!(spans, [0..1, 3..6]);
    /// # Ok::<(), transformer_text::TokenizerError>(())
    /// ```
    pub fn encode_spans(&self, line: &str) -> (Vec<u32>, Vec<Range<usize>>) {
        let inner = match &self.inner {
            Inner::HuggingFace(inner) => inner,
            Inner::Pieces(pieces) => return pieces.encode_spans(line),
        };
        let encoding = inner.tokenizer.encode(line, false);
        let encoding = encoding.expect("reading a tokenizer checks that it encodes unknown text");
        let offsets = encoding.get_offsets().iter();
        // A token may be a single byte of a character.
        let to_characters = |&(start, end): &(usize, usize)| {
            line.floor_char_boundary(start)..line.ceil_char_boundary(end)
        };
        (ids(&encoding), offsets.map(to_characters).collect())
    }

    /// Decodes tokens like [`decode`](Self::decode), and returns the range of bytes in the line for each token.
    ///
    /// A token that `decode` skips has an empty span. Adjacent byte tokens have the span of all of them, because
    /// several may be needed to make a character.
    ///
    /// # Panics
    ///
    /// See [`decode`](Self::decode).
    pub fn decode_spans(&self, ids: &[u32]) -> (String, Vec<Range<usize>>) {
        let line = self.decode(ids);
        let is_byte = |id: &u32| {
            self.token(*id)
                .is_some_and(|token| byte_of(&token).is_some())
        };
        let mut start = 0;
        let mut spans = Vec::with_capacity(ids.len());
        for group in ids.chunk_by(|left, right| is_byte(left) && is_byte(right)) {
            let n_tokens = spans.len() + group.len();
            // A decoder may write the last token differently before another one.
            let end = self.decode(&ids[..n_tokens]).len().clamp(start, line.len());
            spans.resize(n_tokens, start..end);
            start = end;
        }
        (line, spans)
    }
}

/// A part of a translation and the part of its source that it translates, as ranges of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Bytes of the source.
    pub src: Range<usize>,
    /// Bytes of the translation.
    pub tgt: Range<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines_for_tests::KINDS;
    use crate::{EOS, TokenizerConfig, TokenizerError, TokenizerKind, UNK};

    const LINES: [&str; 3] = ["Zwei weiße Männer.", "zwei Männer 日本語", "wei weiß"];

    fn trained(kind: TokenizerKind) -> Result<Tokenizer, TokenizerError> {
        let config = TokenizerConfig {
            kind,
            vocab_size: 45,
            ..TokenizerConfig::default()
        };
        Tokenizer::train(&config, LINES)
    }

    /// Returns the text of each span, without surrounding whitespace.
    fn pieces<'a>(line: &'a str, spans: &[Range<usize>]) -> Vec<&'a str> {
        let cut = |span: &Range<usize>| {
            line.get(span.clone())
                .expect("spans start and end at characters")
        };
        spans.iter().map(cut).map(str::trim).collect()
    }

    fn spellings(tokenizer: &Tokenizer, ids: &[u32]) -> Vec<String> {
        let spell = |id: &u32| tokenizer.token(*id).expect("encoding returns known ids");
        let bare = |token: String| token.replace('▁', "").trim().to_owned();
        ids.iter().map(spell).map(bare).collect()
    }

    #[test]
    fn source_spans_contain_the_spelling_of_their_tokens() -> Result<(), TokenizerError> {
        for kind in KINDS {
            let tokenizer = trained(kind)?;
            let line = "  zwei   weiße Männer 日本語 ";
            let (ids, spans) = tokenizer.encode_spans(line);
            assert_eq!(ids, tokenizer.encode(line), "{kind}");
            if kind != TokenizerKind::Word {
                assert!(!ids.contains(&UNK), "{kind}");
            }
            let found = pieces(line, &spans);
            let expected = spellings(&tokenizer, &ids);
            assert_eq!(found.len(), expected.len(), "{kind}");
            for ((found, expected), id) in found.iter().zip(&expected).zip(&ids) {
                // A mark of a word's start by itself has no spelling.
                let spells = *id != UNK && !expected.is_empty();
                assert!(!spells || found == expected, "{kind}: {found} {expected}");
            }
        }
        Ok(())
    }

    #[test]
    fn output_spans_contain_the_spelling_of_their_tokens() -> Result<(), TokenizerError> {
        for kind in KINDS {
            let tokenizer = trained(kind)?;
            let ids = tokenizer.encode("zwei Männer 日本語");
            let (line, spans) = tokenizer.decode_spans(&ids);
            assert_eq!(line, tokenizer.decode(&ids), "{kind}");
            assert_eq!(pieces(&line, &spans), spellings(&tokenizer, &ids), "{kind}");
        }
        Ok(())
    }

    #[test]
    fn tokens_that_decoding_skips_have_empty_spans() -> Result<(), TokenizerError> {
        let tokenizer = trained(TokenizerKind::Word)?;
        let [zwei] = tokenizer.encode("zwei")[..] else {
            panic!("a known word is one token");
        };
        let (line, spans) = tokenizer.decode_spans(&[UNK, zwei, UNK, zwei, EOS]);
        assert_eq!(line, "zwei zwei");
        assert_eq!(spans, [0..0, 0..4, 4..4, 4..9, 9..9]);
        Ok(())
    }
}
