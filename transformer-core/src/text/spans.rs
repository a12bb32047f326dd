//! Where in a text each token stands: what joins pieces to words again.

use std::ops::Range;

use super::Tokenizer;
use super::tokenizer::{Inner, ids};

impl Tokenizer {
    /// Cuts a line into the tokens of [`encode`](Self::encode), each with the bytes of the line that it
    /// stands for.
    ///
    /// A span may hold the whitespace before a word. A mark of a word's start that is a token by itself
    /// stands for that whitespace, and at the start of a line for the character that follows.
    ///
    /// # Panics
    /// As [`encode`](Self::encode).
    ///
    /// # Example
    /// ```
    /// use transformer_core::text::{Tokenizer, TokenizerConfig, TokenizerKind};
    /// let words = TokenizerConfig { kind: TokenizerKind::Word, ..TokenizerConfig::default() };
    /// let tokenizer = Tokenizer::train(&words, ["a dog runs"])?;
    /// let (ids, spans) = tokenizer.encode_spans("a  dog");
    /// assert_eq!(ids, tokenizer.encode("a  dog"));
    /// assert_eq!(spans, [0..1, 3..6]);
    /// # Ok::<(), transformer_core::text::TokenizerError>(())
    /// ```
    pub fn encode_spans(&self, line: &str) -> (Vec<u32>, Vec<Range<usize>>) {
        let inner = match &self.inner {
            Inner::Library(inner) => inner,
            Inner::Pieces(pieces) => return pieces.encode_spans(line),
        };
        let encoding = inner.tokenizer.encode(line, false);
        let encoding = encoding.expect("every tokenizer is tried on unknown text when it is read");
        let offsets = encoding.get_offsets().iter();
        (
            ids(&encoding),
            offsets.map(|&(start, end)| start..end).collect(),
        )
    }

    /// Joins tokens to the line of [`decode`](Self::decode), and says which bytes of it each token wrote.
    ///
    /// A token that `decode` leaves out wrote nothing: its span is empty.
    ///
    /// # Panics
    /// As [`decode`](Self::decode).
    pub fn decode_spans(&self, ids: &[u32]) -> (String, Vec<Range<usize>>) {
        let line = self.decode(ids);
        let mut start = 0;
        let spans = (1..=ids.len()).map(|n_tokens| {
            // A decoder may spell the last token otherwise once the next one follows it.
            let end = self.decode(&ids[..n_tokens]).len().clamp(start, line.len());
            std::mem::replace(&mut start, end)..end
        });
        let spans = spans.collect();
        (line, spans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{EOS, TokenizerConfig, TokenizerError, TokenizerKind, UNK};

    const LINES: [&str; 3] = ["Zwei weiße Männer.", "zwei Männer 日本語", "wei weiß"];

    fn trained(kind: TokenizerKind) -> Result<Tokenizer, TokenizerError> {
        let config = TokenizerConfig {
            kind,
            vocab_size: 45,
            ..TokenizerConfig::default()
        };
        Tokenizer::train(&config, LINES)
    }

    const KINDS: [TokenizerKind; 4] = [
        TokenizerKind::Word,
        TokenizerKind::Char,
        TokenizerKind::Bpe,
        TokenizerKind::Unigram,
    ];

    /// Returns what the spans cut out of the line, without the whitespace around it.
    fn pieces<'a>(line: &'a str, spans: &[Range<usize>]) -> Vec<&'a str> {
        let cut = |span: &Range<usize>| {
            line.get(span.clone())
                .expect("spans end between characters")
        };
        spans.iter().map(cut).map(str::trim).collect()
    }

    fn spelled(tokenizer: &Tokenizer, ids: &[u32]) -> Vec<String> {
        let spell = |id: &u32| tokenizer.token(*id).expect("encoding gives known ids");
        let bare = |token: String| token.replace('▁', "").trim().to_owned();
        ids.iter().map(spell).map(bare).collect()
    }

    #[test]
    fn the_span_of_a_token_in_the_source_holds_its_spelling() -> Result<(), TokenizerError> {
        for kind in KINDS {
            let tokenizer = trained(kind)?;
            let line = "  zwei   weiße Männer 日本語 ";
            let (ids, spans) = tokenizer.encode_spans(line);
            assert_eq!(ids, tokenizer.encode(line), "{kind}");
            if kind != TokenizerKind::Word {
                assert!(!ids.contains(&UNK), "{kind}");
            }
            let found = pieces(line, &spans);
            let expected = spelled(&tokenizer, &ids);
            assert_eq!(found.len(), expected.len(), "{kind}");
            for ((found, expected), id) in found.iter().zip(&expected).zip(&ids) {
                // A lone mark of a word's start spells nothing.
                let spells = *id != UNK && !expected.is_empty();
                assert!(!spells || found == expected, "{kind}: {found} {expected}");
            }
        }
        Ok(())
    }

    #[test]
    fn the_span_of_a_token_in_the_output_holds_its_spelling() -> Result<(), TokenizerError> {
        for kind in KINDS {
            let tokenizer = trained(kind)?;
            let ids = tokenizer.encode("zwei Männer 日本語");
            let (line, spans) = tokenizer.decode_spans(&ids);
            assert_eq!(line, tokenizer.decode(&ids), "{kind}");
            assert_eq!(pieces(&line, &spans), spelled(&tokenizer, &ids), "{kind}");
        }
        Ok(())
    }

    #[test]
    fn what_decoding_leaves_out_wrote_nothing() -> Result<(), TokenizerError> {
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
