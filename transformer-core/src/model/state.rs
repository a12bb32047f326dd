//! What a decoder remembers between steps: a value that the caller owns.

use burn::tensor::{Int, Tensor};

use super::attention::KeyValues;
use super::mask::Mask;

/// Holds the keys and values of the tokens decoded so far, and those of the memory.
///
/// [`Transformer::begin`](crate::Transformer::begin) makes one, and every
/// [`Transformer::decode`](crate::Transformer::decode) moves it on. Cloning it forks the search.
#[derive(Clone, Debug)]
pub struct DecoderState {
    pub(crate) layers: Vec<LayerState>,
    pub(crate) memory_mask: Option<Mask>,
    pub(crate) n_decoded: usize,
}

/// Holds one decoder layer's part of the state.
#[derive(Clone, Debug)]
pub(crate) struct LayerState {
    /// Of the target tokens decoded so far; `None` before the first.
    pub(crate) self_attention: Option<KeyValues>,
    /// Of the memory: projected once, when decoding begins.
    pub(crate) cross_attention: KeyValues,
}

impl LayerState {
    /// Puts new keys and values behind those held, and returns all of them.
    pub(crate) fn extend(&mut self, later: KeyValues) -> KeyValues {
        let all = match self.self_attention.take() {
            Some(held) => held.append(later),
            None => later,
        };
        self.self_attention = Some(all.clone());
        all
    }
}

impl DecoderState {
    /// Returns the number of target tokens decoded so far.
    pub fn n_decoded(&self) -> usize {
        self.n_decoded
    }

    /// Keeps the given rows of the batch, in the given order; a row may be kept more than once.
    ///
    /// This is how a beam search follows its best hypotheses, and how finished sentences leave.
    ///
    /// # Shapes
    ///
    /// - `rows`: `[new_batch]`
    #[must_use]
    pub fn select(self, rows: Tensor<1, Int>) -> Self {
        let layers = self.layers.into_iter().map(|layer| LayerState {
            self_attention: layer.self_attention.map(|held| held.select(rows.clone())),
            cross_attention: layer.cross_attention.select(rows.clone()),
        });
        Self {
            layers: layers.collect(),
            memory_mask: self.memory_mask.map(|mask| mask.select(rows)),
            n_decoded: self.n_decoded,
        }
    }
}
