//! The passes through a [`Transformer`] that begin with vectors in place of tokens.

use burn::tensor::{Bool, Tensor};

use super::mask::Mask;
use super::memory::Memory;
use super::transformer::Transformer;

impl Transformer {
    /// Encodes vectors in place of source tokens: frames of speech, patches of a picture, or the output of
    /// [`embed_src`](Self::embed_src).
    ///
    /// Neither positions (see [`sinusoids`](super::sinusoids)) nor dropout is applied.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, src_len, d_model]`
    /// - `padding`: `[batch, src_len]`, `true` for vectors that are padding; `None` if none is
    ///
    /// # Panics
    ///
    /// Panics if the width of `x` is not that of the config, or the shape of `padding` does not match.
    ///
    /// # Example
    ///
    /// Frames of speech, and tokens of their transcript:
    ///
    /// ```
    /// use burn::tensor::{Distribution, Int, Tensor};
    /// use transformer_core::model::sinusoids;
    /// use transformer_core::text::BOS;
    /// use transformer_core::{TransformerConfig, device};
    ///
    /// let (_, device) = device::choose(None)?;
    /// let config = TransformerConfig { d_model: 16, d_ff: 32, ..TransformerConfig::tiny(11, 11) };
    /// let model = config.init(&device)?;
    /// let frames = Tensor::<3>::random([2, 7, 16], Distribution::Default, &device);
    /// let x = frames + sinusoids(0, 7, 16, &device).unsqueeze();
    /// let mut state = model.begin(&model.encode_embedded(x, None));
    /// let logits = model.decode(Tensor::<2, Int>::full([2, 1], BOS, &device), &mut state);
    /// assert_eq!(logits.dims(), [2, 1, 11]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encode_embedded(&self, x: Tensor<3>, padding: Option<Tensor<2, Bool>>) -> Memory {
        if let Some(padding) = &padding {
            let [batch, src_len, _] = x.dims();
            assert_eq!(
                padding.dims(),
                [batch, src_len],
                "the padding mask has one element for each vector"
            );
        }
        let padding = padding.map(Mask::padding);
        Memory::new(self.encoder().forward(x, padding.clone()), padding)
    }

    /// Runs both stacks on vectors, as `torch.nn.Transformer` does with a causal `tgt_mask`, and with
    /// `padding` as `src_key_padding_mask` and `memory_key_padding_mask`.
    ///
    /// Padding of the target needs no mask if it is on the right, where causality hides it. For other masks, call the
    /// [`encoder`](Self::encoder) and [`Decoder::forward_with`](super::Decoder::forward_with).
    /// [`project`](Self::project) turns the result into logits.
    ///
    /// # Shapes
    ///
    /// - `src`: `[batch, src_len, d_model]`
    /// - `padding`: `[batch, src_len]`, `true` for vectors of `src` that are padding; `None` if none is
    /// - `tgt`: `[batch, tgt_len, d_model]`
    /// - returns: `[batch, tgt_len, d_model]`
    ///
    /// # Panics
    ///
    /// Panics if `src` and `tgt` differ in batch size, and as [`encode_embedded`](Self::encode_embedded) does.
    ///
    /// # Example
    ///
    /// ```
    /// use burn::tensor::{Distribution, Tensor};
    /// use transformer_core::{TransformerConfig, device};
    ///
    /// let (_, device) = device::choose(None)?;
    /// let config = TransformerConfig { d_model: 16, d_ff: 32, ..TransformerConfig::tiny(11, 11) };
    /// let model = config.init(&device)?;
    /// let random = |len| Tensor::<3>::random([2, len, 16], Distribution::Default, &device);
    /// let features = model.forward_embedded(random(7), None, random(5));
    /// assert_eq!(features.dims(), [2, 5, 16]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn forward_embedded(
        &self,
        src: Tensor<3>,
        padding: Option<Tensor<2, Bool>>,
        tgt: Tensor<3>,
    ) -> Tensor<3> {
        let mut state = self.begin(&self.encode_embedded(src, padding));
        self.decoder().forward(tgt, &mut state)
    }
}
