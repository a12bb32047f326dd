//! [`LineLimits`]: the lines that a model can translate.

use transformer_text::{Tokenizer, UNK};

/// The limits of a model's lines. [`TokenLimits`] are those of tokenizers; tests have others.
pub trait LineLimits {
    /// Returns the number of bytes at the start of a text that fit in one line, or `None` if the whole text fits.
    fn longest_start(&self, text: &str) -> Option<usize> {
        let _ = text;
        None
    }

    /// Returns whether the model can read a text and write it unchanged. Other text is taken out of lines.
    fn can_write(&self, text: &str) -> bool {
        let _ = text;
        true
    }
}

/// The limits of a model with tokenizers: a number of tokens, and the text that they can spell.
#[derive(Clone, Copy, Debug)]
pub struct TokenLimits<'a> {
    src: &'a Tokenizer,
    tgt: &'a Tokenizer,
    max_tokens: usize,
}

impl<'a> TokenLimits<'a> {
    /// Default maximum number of source tokens in a sentence. A longer sentence is translated in parts: models see few
    /// of them in training, and have not learned to translate them.
    pub const MAX_TOKENS: usize = 200;

    /// Limits lines to `max_tokens` source tokens, at least 1.
    pub fn new(src: &'a Tokenizer, tgt: &'a Tokenizer, max_tokens: usize) -> Self {
        let max_tokens = max_tokens.max(1);
        Self {
            src,
            tgt,
            max_tokens,
        }
    }
}

impl LineLimits for TokenLimits<'_> {
    fn longest_start(&self, text: &str) -> Option<usize> {
        // A token has at least one byte.
        if text.len() <= self.max_tokens {
            return None;
        }
        let start = self.src.start_of_line(text, self.max_tokens);
        let (_, spans) = self.src.encode_spans(start);
        let last = spans
            .get(self.max_tokens - 1)
            .filter(|_| spans.len() > self.max_tokens)?;
        Some(last.end.max(1))
    }

    fn can_write(&self, text: &str) -> bool {
        let (src, tgt) = (self.src.encode(text), self.tgt.encode(text));
        !src.contains(&UNK) && !tgt.contains(&UNK) && self.tgt.decode(&tgt) == text
    }
}
