//! [`Memory`]: the output of the encoder.

use burn::tensor::Tensor;

use super::mask::Mask;

/// The encoder's output for a batch of source sequences, with the padding mask.
#[derive(Clone, Debug)]
pub struct Memory {
    pub(super) states: Tensor<3>,
    pub(super) mask: Option<Mask>,
}

impl Memory {
    /// Wraps the output of another encoder, for example of images or speech, for the decoder to attend to.
    ///
    /// # Shapes
    ///
    /// - `states`: `[batch, src_len, d_model]`
    /// - `mask`: hides positions of `states`, for example [`Mask::padding`]
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
    use crate::weights::random_model;
    use crate::{Padded, TransformerConfig, device};

    #[test]
    fn the_decoder_attends_to_states_of_another_encoder() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let config = TransformerConfig {
            d_model: 8,
            d_ff: 8,
            ..TransformerConfig::tiny(9, 9)
        };
        let model = random_model(&config, &device, 1);
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
        // Without the mask, the decoder attends to padding.
        let unmasked = Memory::new(ours.states(), None);
        assert_ne!(logits(&unmasked), logits(&ours));
    }
}
