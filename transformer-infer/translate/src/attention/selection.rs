//! [`Attention`]: the weights of one sentence and its translation, in CPU memory, with the tokens; and [`Selection`]: the
//! map that a figure shows, by [`Kind`], layer and [`Head`] ([`LayerHead`]), and its form.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use transformer_core::TransformerConfig;
use transformer_core::config::Mixing;
use transformer_core::text::{BOS, SPECIAL_TOKENS};

use crate::TranslatorError;

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

/// The kind of attention: encoder self-attention, decoder self-attention, or cross-attention (§3.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// The encoder's self-attention.
    Encoder,
    /// The decoder's self-attention.
    Decoder,
    /// The decoder's attention to the encoder's output.
    #[default]
    Cross,
}

impl Kind {
    /// All kinds, as the HTML page lists them.
    pub const ALL: [Self; 3] = [Self::Cross, Self::Encoder, Self::Decoder];

    /// Returns the name in commands and pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Encoder => "encoder",
            Self::Decoder => "decoder",
            Self::Cross => "cross",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A head of a layer, or the mean of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Head {
    /// The mean of all heads.
    #[default]
    Mean,
    /// One head, counted from 1.
    One(usize),
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => f.write_str("mean"),
            Self::One(head) => write!(f, "{head}"),
        }
    }
}

impl FromStr for Head {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.parse()) {
            ("mean", _) => Ok(Self::Mean),
            (_, Ok(head)) => Ok(Self::One(head)),
            (_, Err(_)) => Err("give the number of a head, counted from 1, or `mean`"),
        }
    }
}

/// The map to use of a kind of attention: a layer, and a head or the mean of all.
///
/// Default: the mean of all heads of layer 5 of 6, which was found to give the best alignments (Garg et al. 2019,
/// <https://arxiv.org/abs/1909.02074>), and at other depths of the layer at five sixths, rounded up: layer 4 of 4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerHead {
    /// The layer, from 1 at the bottom; `None` is the default layer.
    pub layer: Option<usize>,
    /// The head.
    pub head: Head,
}

impl LayerHead {
    /// Returns the number of the layer, from 1.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] if the layer or the head does not exist.
    pub fn layer_of(self, attention: &Attention, kind: Kind) -> Result<usize, TranslatorError> {
        let layers = attention.layers(kind);
        let n_heads = layers.first().map_or(0, Vec::len);
        self.layer_among(kind, layers.len(), n_heads)
    }

    /// Returns the number of the layer in a model with this config, from 1.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] if the layer or the head does not exist.
    pub fn layer_in(
        self,
        config: &TransformerConfig,
        kind: Kind,
    ) -> Result<usize, TranslatorError> {
        let n_layers = match kind {
            Kind::Encoder => config.n_encoder_layers,
            Kind::Decoder if config.decoder_mixing == Mixing::Ssru => 0,
            Kind::Decoder | Kind::Cross => config.n_decoder_layers,
        };
        self.layer_among(kind, n_layers, config.n_heads)
    }

    fn layer_among(
        self,
        kind: Kind,
        n_layers: usize,
        n_heads: usize,
    ) -> Result<usize, TranslatorError> {
        if n_layers == 0 {
            return Err(TranslatorError::NoAttention { kind });
        }
        let layer = self.layer.unwrap_or((5 * n_layers).div_ceil(6));
        if !(1..=n_layers).contains(&layer) {
            return Err(TranslatorError::NoLayer {
                layer,
                kind,
                n_layers,
            });
        }
        match self.head {
            Head::One(head) if !(1..=n_heads).contains(&head) => Err(TranslatorError::NoHead {
                head: self.head,
                kind,
                n_heads,
            }),
            Head::One(_) | Head::Mean => Ok(layer),
        }
    }

    /// Returns the map.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] if the layer or the head does not exist.
    pub fn map(self, attention: &Attention, kind: Kind) -> Result<Map, TranslatorError> {
        let layer = self.layer_of(attention, kind)?;
        let heads = &attention.layers(kind)[layer - 1];
        Ok(match self.head {
            Head::Mean => mean(heads),
            Head::One(head) => heads[head - 1].clone(),
        })
    }
}

fn mean(heads: &[Map]) -> Map {
    let share = 1.0 / heads.len() as f32;
    let n_rows = heads.first().map_or(0, Vec::len);
    let n_columns = heads.iter().flatten().next().map_or(0, Vec::len);
    let cell =
        |row: usize, column: usize| heads.iter().map(|map| map[row][column]).sum::<f32>() * share;
    let row = |row| (0..n_columns).map(|column| cell(row, column)).collect();
    (0..n_rows).map(row).collect()
}

/// The map that a figure shows, or that a page shows first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct Selection {
    /// The kind of attention.
    pub kind: Kind,
    /// The layer, and one of its heads or their mean.
    pub layer_head: LayerHead,
    /// The form of the drawing.
    pub view: View,
    /// The mapping of weights to the colors of a heat map.
    pub scale: ColorScale,
}

/// The form in which a map is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub enum View {
    /// A heat map: a row for each query, a column for each key.
    #[default]
    HeatMap,
    /// Lines between two columns of tokens.
    Lines,
    /// Lines in a color for each head, as in the paper's Figures 3 to 5: of all heads of the layer if the selection is
    /// their mean, otherwise of the selected head.
    HeadLines,
}

/// The mapping of weights to the colors of a heat map; the legend names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub enum ColorScale {
    /// By the square root of the weight, so that small weights are visible.
    #[default]
    Root,
    /// In proportion to the weight.
    Linear,
}

impl ColorScale {
    /// Returns the name in commands and pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Linear => "linear",
        }
    }

    /// Returns the position of a weight in the range of colors, from 0 to 1.
    pub(super) fn position(self, weight: f32) -> f32 {
        let weight = weight.clamp(0.0, 1.0);
        match self {
            Self::Root => weight.sqrt(),
            Self::Linear => weight,
        }
    }

    pub(super) const fn marks(self) -> [f32; 5] {
        match self {
            Self::Root => [0.0, 0.05, 0.25, 0.5, 1.0],
            Self::Linear => [0.0, 0.25, 0.5, 0.75, 1.0],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two layers of two heads; `[layer][head]` is a map of one weight, 0.25 · (2 · layer + head).
    fn four_maps() -> Attention {
        let map = |quarters: f32| vec![vec![quarters / 4.0]];
        Attention {
            src: String::new(),
            tgt: String::new(),
            src_tokens: Vec::new(),
            tgt_tokens: Vec::new(),
            encoder: Vec::new(),
            decoder: Vec::new(),
            cross: vec![vec![map(0.0), map(1.0)], vec![map(2.0), map(3.0)]],
        }
    }

    #[test]
    fn layers_and_heads_count_from_one() {
        let layer_head = LayerHead {
            layer: Some(2),
            head: Head::One(1),
        };
        assert_eq!(
            layer_head.map(&four_maps(), Kind::Cross),
            Ok(vec![vec![0.5]])
        );
    }

    #[test]
    fn the_default_is_the_mean_of_a_high_layer() {
        let map = LayerHead::default().map(&four_maps(), Kind::Cross);
        assert_eq!(map, Ok(vec![vec![0.625]]));
    }

    #[test]
    fn the_default_layer_is_at_five_sixths_of_the_depth() {
        let default = |n_layers| {
            let attention = Attention {
                cross: vec![Vec::new(); n_layers],
                ..four_maps()
            };
            LayerHead::default().layer_of(&attention, Kind::Cross)
        };
        assert_eq!([1, 2, 4, 6, 12].map(default), [1, 2, 4, 5, 10].map(Ok));
    }

    #[test]
    fn layers_that_do_not_exist_are_refused() {
        for layer in [0, 3] {
            let layer_head = LayerHead {
                layer: Some(layer),
                head: Head::Mean,
            };
            let error = layer_head
                .map(&four_maps(), Kind::Cross)
                .expect_err("there are two layers");
            let expected = format!("there is no layer {layer} in cross attention; choose 1 to 2");
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn the_attention_of_a_recurrent_decoder_to_itself_is_refused() {
        let error = LayerHead::default()
            .map(&four_maps(), Kind::Decoder)
            .expect_err("there are no maps");
        let expected = "the model has no decoder attention, but a recurrence in place of it; choose cross or encoder";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn heads_that_do_not_exist_are_refused() {
        for head in [0, 3] {
            let layer_head = LayerHead {
                layer: None,
                head: Head::One(head),
            };
            let error = layer_head
                .map(&four_maps(), Kind::Cross)
                .expect_err("there are two heads");
            let expected =
                format!("there is no head {head} in cross attention; choose 1 to 2, or mean");
            assert_eq!(error.to_string(), expected);
        }
    }
}
