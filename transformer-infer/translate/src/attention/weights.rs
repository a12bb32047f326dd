//! [`Attention`]: the weights of one sentence and its translation, in CPU memory, with the tokens.

use serde::Serialize;
use transformer_core::text::{BOS, SPECIAL_TOKENS};

use super::Kind;

/// The weights of one head: `map[query][key]`.
///
/// Each row sums to 1, or to 0 if the masks hide every key.
#[doc(hidden)]
pub type Map = Vec<Vec<f32>>;

/// The attention weights of all layers and heads for one sentence and its translation.
///
/// Maps are indexed `[layer][head][row][column]`, all from 0; rows are queries and columns are keys. A row of the
/// decoder is labeled with the token that it *generates*: the first row reads BOS and generates the first token, the
/// last row generates EOS. The columns of the decoder's self-attention are the tokens that it *read*; see
/// [`tgt_inputs`](Self::tgt_inputs).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attention {
    /// The source text.
    pub src: String,
    /// The output text.
    pub tgt: String,
    /// The tokens of the source, EOS last.
    pub src_tokens: Vec<Token>,
    /// The tokens of the output, EOS last unless the output was cut.
    pub tgt_tokens: Vec<Token>,
    /// Encoder self-attention: from source tokens to source tokens.
    pub encoder: Vec<Vec<Map>>,
    /// Decoder self-attention: from generated tokens to the tokens read so far. Empty if the decoder has a recurrence.
    pub decoder: Vec<Vec<Map>>,
    /// Cross-attention: from generated tokens to source tokens.
    pub cross: Vec<Vec<Map>>,
}

/// A token and its word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Token {
    /// The token in the vocabulary; `▁` may mark the start of a word.
    pub text: String,
    /// Its id.
    pub id: u32,
    /// Index of its word, from 0; `None` for EOS, whitespace, and tokens without text.
    pub word: Option<usize>,
}

impl Attention {
    /// Returns the maps of one kind, `[layer][head]`.
    pub fn layers(&self, kind: Kind) -> &[Vec<Map>] {
        match kind {
            Kind::Encoder => &self.encoder,
            Kind::Decoder => &self.decoder,
            Kind::Cross => &self.cross,
        }
    }

    /// Returns the tokens that the decoder read: BOS and all generated tokens except the last.
    pub fn tgt_inputs(&self) -> Vec<Token> {
        let begin = Token {
            text: SPECIAL_TOKENS[BOS as usize].to_owned(),
            id: BOS,
            word: None,
        };
        let n_read = self.tgt_tokens.len().saturating_sub(1);
        let generated = self.tgt_tokens[..n_read].iter().cloned();
        std::iter::once(begin).chain(generated).collect()
    }

    /// Returns the tokens of the rows of one kind: its queries.
    pub fn rows(&self, kind: Kind) -> Vec<Token> {
        match kind {
            Kind::Encoder => self.src_tokens.clone(),
            Kind::Decoder | Kind::Cross => self.tgt_tokens.clone(),
        }
    }

    /// Returns the tokens of the columns of one kind: its keys.
    pub fn columns(&self, kind: Kind) -> Vec<Token> {
        match kind {
            Kind::Encoder | Kind::Cross => self.src_tokens.clone(),
            Kind::Decoder => self.tgt_inputs(),
        }
    }
}
