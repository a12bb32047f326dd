//! The stacks alone, on vectors in place of tokens, are `torch.nn.Transformer`: `stacks.py` in `tests/fixtures`.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Bool, Device, Tensor};
use serde::Deserialize;
use transformer_core::{AttentionMasks, Mask, Memory, Padded, Transformer, TransformerConfig};

use crate::attention::{Array, check_gradients};
use crate::goldens::{GoldenMasks, GoldenParameter};
use crate::model::{difference, random_model, test_device, tgt_ids, tolerances};
use crate::weights::{Entry, gradients_of_used, rewrite};

const POST_NORM: &str = include_str!("../fixtures/post_norm_stacks.json");
const PRE_NORM: &str = include_str!("../fixtures/pre_norm_stacks.json");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stacks {
    config: TransformerConfig,
    /// Number of vectors in each row of the source, before its padding.
    lengths: Vec<usize>,
    /// `[batch, src_len, d_model]`, with its gradient.
    src: GoldenParameter,
    /// `[batch, tgt_len, d_model]`, with its gradient.
    tgt: GoldenParameter,
    /// Added to the scores.
    masks: GoldenMasks,
    /// `[batch, tgt_len, d_model]`.
    output: Array,
    /// `[batch, tgt_len, d_model]`; the loss is its dot product with the output.
    cotangent: Array,
    parameters: BTreeMap<String, GoldenParameter>,
}

impl Stacks {
    fn read(json: &str) -> Self {
        serde_json::from_str(json).expect("the generator writes the fields above")
    }

    /// Builds the model with PyTorch's weights in the stacks; PyTorch has no embeddings.
    fn model(&self) -> Transformer {
        let mut n_found = 0;
        let model = rewrite(random_model(&self.config, 5), |name, entry| {
            let Some(parameter) = self.parameters.get(name) else {
                assert_eq!(name, "src_vocabulary.weight");
                return entry.values;
            };
            assert_eq!(parameter.shape, entry.shape, "{name}");
            n_found += 1;
            parameter.value.clone()
        });
        assert_eq!(n_found, self.parameters.len());
        model
    }

    /// `[batch, src_len]`, `true` for padding.
    fn hidden(&self, device: &Device) -> Tensor<2, Bool> {
        let rows: Vec<Vec<u32>> = self.lengths.iter().map(|len| vec![4; *len]).collect();
        let hidden = Padded::new(&rows, device).mask();
        hidden.expect("one row is shorter")
    }

    /// Runs the stacks with the masks.
    fn run_masked(&self, model: &Transformer, src: Tensor<3>, tgt: Tensor<3>) -> Tensor<3> {
        let device = src.device();
        let padding = Mask::padding(self.hidden(&device));
        let masks = self.masks.on(&device);
        let src_mask = masks.encoder.clone().expect("the fixture has masks");
        let states = model
            .encoder()
            .forward(src, Some(padding.clone().and(src_mask)));
        let mut state = model.begin(&Memory::new(states, Some(padding)));
        model.decoder().forward_with(tgt, &mut state, &masks, None)
    }

    fn check_output(&self, output: &Tensor<3>) {
        let found = difference(output.clone(), self.output.tensor(&output.device()));
        assert!(found < tolerances().logits, "{found:e}");
    }

    fn check_gradients(&self, run: impl FnOnce(&Transformer, Tensor<3>, Tensor<3>) -> Tensor<3>) {
        let (model, device) = (self.model().train(), test_device().autodiff());
        let src = self.src.tensor::<3>(&device).require_grad();
        let tgt = self.tgt.tensor::<3>(&device).require_grad();
        let output = run(&model, src.clone(), tgt.clone());
        let slopes = (output * self.cotangent.tensor(&device)).sum().backward();
        for (theirs, ours) in [(&self.src, src), (&self.tgt, tgt)] {
            let gradient = ours.grad(&slopes).expect("the loss depends on the input");
            // Padding has a gradient of zero: others are compared with the largest.
            theirs.check_gradient("input", &gradient.into_data(), theirs.largest_gradient());
        }
        let slopes = GradientsParams::from_grads(slopes, &model);
        let ours: BTreeMap<String, Entry> = gradients_of_used(&model, &slopes);
        check_gradients(&self.parameters, &ours);
    }
}

#[test]
fn vectors_with_padding_give_what_pytorchs_transformer_gives() {
    let (golden, device) = (Stacks::read(POST_NORM), test_device());
    let (src, tgt) = (golden.src.tensor(&device), golden.tgt.tensor(&device));
    let hidden = golden.hidden(&device);
    golden.check_output(&golden.model().forward_embedded(src, Some(hidden), tgt));
}

#[test]
fn gradients_of_vectors_with_padding_are_those_of_pytorchs_transformer() {
    let golden = Stacks::read(POST_NORM);
    golden.check_gradients(|model, src, tgt| {
        let hidden = golden.hidden(&src.device());
        model.forward_embedded(src, Some(hidden), tgt)
    });
}

#[test]
fn vectors_under_float_masks_give_what_pytorchs_transformer_gives() {
    let (golden, device) = (Stacks::read(PRE_NORM), test_device());
    let (src, tgt) = (golden.src.tensor(&device), golden.tgt.tensor(&device));
    golden.check_output(&golden.run_masked(&golden.model(), src, tgt));
}

#[test]
fn gradients_of_vectors_under_float_masks_are_those_of_pytorchs_transformer() {
    let golden = Stacks::read(PRE_NORM);
    golden.check_gradients(|model, src, tgt| golden.run_masked(model, src, tgt));
}

#[test]
fn embedded_tokens_give_the_logits_of_the_tokens() {
    let device = test_device();
    let config = TransformerConfig {
        d_model: 8,
        d_ff: 12,
        ..TransformerConfig::tiny(9, 7)
    };
    let model = random_model(&config, 5);
    let src = Padded::new(&[vec![4, 5, 6, 3], vec![8, 3]], &device);
    let tgt = tgt_ids(&[vec![2, 4, 6], vec![2, 5, 5]], &device);
    let expected = model.forward(&src, tgt.clone());
    let features = model.forward_embedded(
        model.embed_src(src.ids()),
        src.mask(),
        model.embed_tgt(tgt, 0),
    );
    // The same operations in the same order.
    model
        .project(features)
        .into_data()
        .assert_eq(&expected.into_data(), true);
}

#[test]
fn vectors_decoded_in_pieces_give_what_they_give_at_once() {
    let (golden, device) = (Stacks::read(POST_NORM), test_device());
    let model = golden.model();
    let memory = model.encode_embedded(golden.src.tensor(&device), Some(golden.hidden(&device)));
    let tgt = golden.tgt.tensor::<3>(&device);
    let mut state = model.begin(&memory);
    let masks = AttentionMasks::default();
    let pieces = [(0, 2), (2, 1)].map(|(start, len)| {
        let piece = tgt.clone().narrow(1, start, len);
        model
            .decoder()
            .forward_with(piece, &mut state, &masks, None)
    });
    golden.check_output(&Tensor::cat(pieces.to_vec(), 1));
}
