//! [`LayerHead`]: a layer, and one of its heads or their mean.

use transformer_core::TransformerConfig;
use transformer_core::config::Mixing;

use super::{Attention, Head, Kind, Map};
use crate::TranslatorError;

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
    let (n_rows, n_columns) = heads
        .first()
        .map_or((0, 0), |map| (map.len(), map.first().map_or(0, Vec::len)));
    let cell =
        |row: usize, column: usize| heads.iter().map(|map| map[row][column]).sum::<f32>() * share;
    let row = |row| (0..n_columns).map(|column| cell(row, column)).collect();
    (0..n_rows).map(row).collect()
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
