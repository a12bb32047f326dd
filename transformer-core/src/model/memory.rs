//! What passes from the encoder to the decoder.

use burn::tensor::Tensor;

use super::mask::Mask;

/// Holds what the encoder made of a batch of source sequences.
#[derive(Clone, Debug)]
pub struct Memory {
    pub(super) states: Tensor<3>,
    pub(super) mask: Option<Mask>,
}

impl Memory {
    /// Takes the output of another encoder, of pictures or speech for example, for the decoder to attend to.
    ///
    /// # Shapes
    ///
    /// - `states`: `[batch, src_len, d_model]`
    /// - `mask`: what hides places of it, as [`Mask::padding`]
    pub fn new(states: Tensor<3>, mask: Option<Mask>) -> Self {
        Self { states, mask }
    }

    /// Returns the encoder's output.
    ///
    /// # Shapes
    ///
    /// - returns: `[batch, src_len, d_model]`
    pub fn states(&self) -> Tensor<3> {
        self.states.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Padded, TransformerConfig, device};

    #[test]
    fn the_decoder_attends_to_states_from_elsewhere() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let config = TransformerConfig {
            d_model: 8,
            d_ff: 8,
            ..TransformerConfig::tiny(9, 9)
        };
        let model = config.init(&device).expect("the config is right");
        let src = Padded::new(&[vec![4, 5, 3], vec![6, 3]], &device);
        let ours = model.encode(&src);
        let hidden = Mask::padding(src.ids().equal_elem(0));
        let theirs = Memory::new(ours.states(), Some(hidden));
        let tgt = Padded::new(&[vec![2, 7], vec![2, 8]], &device);
        let logits = |memory| {
            model
                .decode(tgt.ids(), &mut model.begin(memory))
                .into_data()
        };
        logits(&ours).assert_eq(&logits(&theirs), true);
        // Without the mask the padding is seen.
        let unmasked = Memory::new(ours.states(), None);
        assert_ne!(logits(&unmasked), logits(&ours));
    }
}
