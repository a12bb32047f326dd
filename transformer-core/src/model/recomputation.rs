//! Gradient checkpointing: layers are computed again in the backward pass, so their activations need not be kept.

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Gradients, Int, Tensor};

use super::decoder::{DecoderLayer, DecoderMasks};
use super::encoder::EncoderLayer;
use super::mask::{AttentionMasks, Mask};
use super::norm::LayerNorm;
use super::transformer::Transformer;
use crate::cpu::DropoutState;
use crate::padded::Padded;
use crate::random::hash;

/// A training pass that keeps the inputs of layers, not their activations.
///
/// [`backward`](Self::backward) computes each layer a second time, the last one first, so that only one layer's
/// activations are in memory at a time (Chen et al. 2016, <https://arxiv.org/abs/1604.06174>, §4.1, with a segment for
/// each layer). This costs one more forward pass. Dropout is the same both times. On CPUs it is also the same as in a
/// pass that keeps everything, and the gradients are equal to the last bit.
///
/// # Example
///
/// ```
/// use burn::optim::GradientsParams;
/// use burn::tensor::{Int, Tensor};
/// use transformer_core::{Padded, TransformerConfig, device, seed_dropout};
///
/// let (_, device) = device::choose(None)?;
/// let device = device.autodiff();
/// let config = TransformerConfig { d_model: 8, d_ff: 16, ..TransformerConfig::tiny(11, 11) };
/// let model = config.init(&device)?;
/// let src = Padded::new(&[vec![4, 5, 3], vec![6, 3]], &device);
/// let tgt = Tensor::<2, Int>::from_data([[2, 8], [2, 9]], &device);
///
/// seed_dropout(&device, 7);
/// let pass = model.forward_recomputed(&src, tgt, 7);
/// let features = pass.features();
/// let loss = model.project(features.clone()).sum();
/// let gradients = loss.backward();
/// let d_features = features.grad(&gradients).expect("the loss depends on the features");
/// let mut parts = vec![GradientsParams::from_grads(gradients, &model)];
/// pass.backward(d_features, |gradients| {
///     parts.push(GradientsParams::from_grads(gradients, &model));
/// });
/// assert!(parts.len() > config.n_encoder_layers + config.n_decoder_layers);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RecomputedPass<'a> {
    model: &'a Transformer,
    src: &'a Padded,
    tgt: Tensor<2, Int>,
    encoder_mask: Option<Mask>,
    decoder_masks: DecoderMasks,
    src_embedding: DropoutState,
    encoder: KeptStack,
    /// The encoder's output: `[batch, src_len, d_model]`.
    memory: Tensor<3>,
    tgt_embedding: DropoutState,
    decoder: KeptStack,
    /// `[batch, tgt_len, d_model]`.
    features: Tensor<3>,
    /// The state after the pass.
    end: DropoutState,
}

#[derive(Debug)]
struct KeptStack {
    layers: Vec<KeptLayer>,
    /// The input of the normalization at the end of the stack, if there is one.
    norm: Option<Tensor<3>>,
}

#[derive(Debug)]
struct KeptLayer {
    /// The input: `[batch, len, d_model]`.
    x: Tensor<3>,
    dropout: DropoutState,
}

impl Transformer {
    /// Like [`forward_features`](Self::forward_features) in training, but keeps only the inputs of layers.
    ///
    /// On CPUs, dropout continues from where [`seed_dropout`](crate::seed_dropout) or the previous pass left it.
    /// Elsewhere the state of the generator cannot be read, so every layer seeds it with a hash of `seed` and the
    /// layer, and nothing else may draw from this device's generator between this call and the end of the backward
    /// pass.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, tgt_len]`, each row starting with BOS
    ///
    /// # Panics
    ///
    /// Panics as [`forward`](Self::forward) does, and if the model is not on an autodiff device.
    pub fn forward_recomputed<'a>(
        &'a self,
        src: &'a Padded,
        tgt: Tensor<2, Int>,
        seed: u64,
    ) -> RecomputedPass<'a> {
        let device = self.device();
        let mut n_parts = 0;
        let mut next_part = || {
            n_parts += 1;
            DropoutState::begin(&device, hash(seed, n_parts))
        };
        // Operations on tensors without gradients keep nothing.
        let constant = self.clone().map(&mut WithoutGradients);

        let src_embedding = next_part();
        let x = constant.embed_padded(src);
        let padding = Mask::of_padded(src);
        let encoder_mask = constant.encoder.mask_of_layers(&x, padding.clone());
        let (encoder, memory) = KeptStack::forward(
            &constant.encoder.layers,
            constant.encoder.final_norm.as_ref(),
            x,
            &mut next_part,
            |layer, x| layer.forward(x, encoder_mask.as_ref()),
        );

        let tgt_embedding = next_part();
        let x = constant.embed_tgt(tgt.clone(), 0);
        let no_more = AttentionMasks::default();
        let decoder_masks = constant.decoder.masks(&x, 0, padding, &no_more);
        let (decoder, features) = KeptStack::forward(
            &constant.decoder.layers,
            constant.decoder.final_norm.as_ref(),
            x,
            &mut next_part,
            |layer, x| layer.forward_all(x, [memory.clone(), memory.clone()], &decoder_masks),
        );
        RecomputedPass {
            model: self,
            src,
            tgt,
            encoder_mask,
            decoder_masks,
            src_embedding,
            encoder,
            memory,
            tgt_embedding,
            decoder,
            features: leaf(&features),
            end: next_part(),
        }
    }
}

impl KeptStack {
    /// Computes a stack, and returns its output.
    fn forward<L>(
        layers: &[L],
        norm: Option<&LayerNorm>,
        mut x: Tensor<3>,
        mut next_part: impl FnMut() -> DropoutState,
        compute: impl Fn(&L, Tensor<3>) -> Tensor<3>,
    ) -> (Self, Tensor<3>) {
        let mut kept = Vec::with_capacity(layers.len());
        for layer in layers {
            let dropout = next_part();
            kept.push(KeptLayer {
                x: x.clone(),
                dropout,
            });
            x = compute(layer, x);
        }
        let stack = Self {
            layers: kept,
            norm: norm.map(|_| x.clone()),
        };
        let output = LayerNorm::forward_if_any(norm, x);
        (stack, output)
    }
}

impl RecomputedPass<'_> {
    /// Returns the decoder's output before the projection to logits, as a leaf of the autodiff graph.
    /// [`backward`](Self::backward) takes the gradient of a loss with respect to it.
    ///
    /// # Shapes
    ///
    /// - returns: `[batch, tgt_len, d_model]`
    pub fn features(&self) -> Tensor<3> {
        self.features.clone()
    }

    /// Computes the gradients of the weights, one part of the model at a time, from the gradient of the features.
    ///
    /// `collect` gets the gradients of each part. A matrix in several parts, such as tied embeddings, gets several
    /// gradients, to be added by the caller.
    ///
    /// # Shapes
    ///
    /// - `d_features`: `[batch, tgt_len, d_model]`, without autodiff
    ///
    /// # Panics
    ///
    /// Panics if the shape differs.
    pub fn backward(self, d_features: Tensor<3>, mut collect: impl FnMut(Gradients)) {
        let Transformer {
            encoder, decoder, ..
        } = self.model;
        let device = self.features.device();
        drop(self.features);
        let d_x = backward_norm(
            decoder.final_norm.as_ref(),
            self.decoder.norm,
            d_features,
            &mut collect,
        );
        let compute = |layer: &DecoderLayer, [x, for_keys, for_values]: [Tensor<3>; 3]| {
            layer.forward_all(x, [for_keys, for_values], &self.decoder_masks)
        };
        let mut d_memory: Option<Tensor<3>> = None;
        let mut d_tgt = d_x;
        for (layer, kept) in decoder.layers.iter().zip(self.decoder.layers).rev() {
            kept.dropout.restore(&device);
            // This order of the sum, values before keys, is that of a pass that keeps everything.
            let inputs = [&kept.x, &self.memory, &self.memory];
            let [d_x, d_keys, d_values] =
                backward_part(inputs, |inputs| compute(layer, inputs), d_tgt, &mut collect);
            let d_values = match d_memory {
                Some(d_later) => d_later + d_values,
                None => d_values,
            };
            d_memory = Some(d_values + d_keys);
            d_tgt = d_x;
        }

        // Without decoder layers, nothing reads the memory.
        if let Some(d_memory) = d_memory {
            drop(self.memory);
            let norm = encoder.final_norm.as_ref();
            let mut d_src = backward_norm(norm, self.encoder.norm, d_memory, &mut collect);
            let mask = self.encoder_mask.as_ref();
            let compute = |layer: &EncoderLayer, [x]: [Tensor<3>; 1]| layer.forward(x, mask);
            for (layer, kept) in encoder.layers.iter().zip(self.encoder.layers).rev() {
                kept.dropout.restore(&device);
                [d_src] = backward_part(
                    [&kept.x],
                    |inputs| compute(layer, inputs),
                    d_src,
                    &mut collect,
                );
            }
            self.src_embedding.restore(&device);
            backward_embedding(self.model.embed_padded(self.src), d_src, &mut collect);
        }
        self.tgt_embedding.restore(&device);
        backward_embedding(self.model.embed_tgt(self.tgt, 0), d_tgt, &mut collect);
        self.end.restore(&device);
    }
}

/// Returns the gradient of a normalization's input, if there is one.
fn backward_norm(
    norm: Option<&LayerNorm>,
    input: Option<Tensor<3>>,
    d_output: Tensor<3>,
    collect: &mut impl FnMut(Gradients),
) -> Tensor<3> {
    match (norm, input) {
        (Some(norm), Some(input)) => {
            let [d_input] = backward_part([&input], |[x]| norm.forward(x), d_output, collect);
            d_input
        }
        _ => d_output,
    }
}

/// Collects the gradients of embedded tokens, if any of their parameters is trained.
fn backward_embedding(
    embedded: Tensor<3>,
    d_embedded: Tensor<3>,
    collect: &mut impl FnMut(Gradients),
) {
    if embedded.is_tracked() {
        collect(surrogate(embedded, d_embedded).backward());
    }
}

/// Computes a part of the model again, and returns the gradients of its inputs.
fn backward_part<const N: usize>(
    inputs: [&Tensor<3>; N],
    compute: impl FnOnce([Tensor<3>; N]) -> Tensor<3>,
    d_output: Tensor<3>,
    collect: &mut impl FnMut(Gradients),
) -> [Tensor<3>; N] {
    let inputs = inputs.map(leaf);
    let output = compute(inputs.clone());
    let gradients = surrogate(output, d_output).backward();
    let d_inputs = inputs.map(|input| {
        let gradient = input.grad(&gradients);
        gradient.expect("the output of a layer depends on all its inputs")
    });
    collect(gradients);
    d_inputs
}

/// Returns a loss that has the gradient `d_output` with respect to `output`.
fn surrogate(output: Tensor<3>, d_output: Tensor<3>) -> Tensor<1> {
    (output * Tensor::from_inner(d_output)).sum()
}

/// Returns a tensor with the same values as a new leaf of the autodiff graph.
fn leaf(x: &Tensor<3>) -> Tensor<3> {
    Tensor::from_inner(x.clone().without_autodiff()).require_grad()
}

/// Replaces parameters by constants.
struct WithoutGradients;

impl ModuleMapper for WithoutGradients {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.set_require_grad(false)
    }
}
