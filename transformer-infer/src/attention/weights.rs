//! The weights of one sentence, on the host, with the tokens that they belong to.

use serde::Serialize;
use transformer_core::text::{BOS, SPECIAL_TOKENS};

use super::Kind;

/// Holds the weights of one head: `map[row][column]`, where the row's token looks at the column's.
///
/// Each row sums to 1, or to 0 where the model's masks hide everything.
pub type Map = Vec<Vec<f32>>;

/// Holds what every head looked at while one sentence was read and written.
///
/// Maps are indexed `[layer][head][row][column]`, all from 0. A row of the decoder belongs to the token that
/// is *written* there: the first row reads BOS and writes the first token, the last one writes EOS. The
/// columns of the decoder's self-attention are the tokens that were *read*, see
/// [`tgt_inputs`](Self::tgt_inputs).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attention {
    /// The source as it was given.
    pub src: String,
    /// The output as text.
    pub tgt: String,
    /// The tokens of the source, EOS at the end.
    pub src_tokens: Vec<Token>,
    /// The tokens of the output, EOS at the end unless the output was cut.
    pub tgt_tokens: Vec<Token>,
    /// Encoder self-attention: from source tokens to source tokens.
    pub encoder: Vec<Vec<Map>>,
    /// Decoder self-attention: from tokens written to tokens read before.
    pub decoder: Vec<Vec<Map>>,
    /// From tokens written to source tokens.
    pub cross: Vec<Vec<Map>>,
}

/// Holds one token and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Token {
    /// The token as the vocabulary spells it: a word's start may be marked `▁`.
    pub text: String,
    /// Its id.
    pub id: u32,
    /// The word that it is a part of, counted from 0; none for EOS, whitespace, and what text leaves out.
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

    /// Returns the tokens that the decoder read: BOS, and all that it wrote but the last.
    pub fn tgt_inputs(&self) -> Vec<Token> {
        let begin = Token {
            text: SPECIAL_TOKENS[BOS as usize].to_owned(),
            id: BOS,
            word: None,
        };
        let n_read = self.tgt_tokens.len().saturating_sub(1);
        let written = self.tgt_tokens[..n_read].iter().cloned();
        std::iter::once(begin).chain(written).collect()
    }

    /// Returns the tokens of the rows of one kind, which look.
    pub fn rows(&self, kind: Kind) -> Vec<Token> {
        match kind {
            Kind::Encoder => self.src_tokens.clone(),
            Kind::Decoder | Kind::Cross => self.tgt_tokens.clone(),
        }
    }

    /// Returns the tokens of the columns of one kind, which are looked at.
    pub fn columns(&self, kind: Kind) -> Vec<Token> {
        match kind {
            Kind::Encoder | Kind::Cross => self.src_tokens.clone(),
            Kind::Decoder => self.tgt_inputs(),
        }
    }
}
