//! Models in half precision on a device whose default element type is `f32`.

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{DType, Device, FloatDType, Tensor};
use transformer_core::text::BOS;
use transformer_core::{AttentionMasks, Mask, Padded, Transformer, TransformerConfig, device};

use crate::model::tgt_ids;
use crate::weights::random_model;

/// For probabilities of a model of two layers; `bf16` has 8 significant bits.
const TOLERANCE: f32 = 0.02;

const HALVES: [FloatDType; 2] = [FloatDType::BF16, FloatDType::F16];

/// Casts all weights to an element type.
struct Cast(FloatDType);

impl ModuleMapper for Cast {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|weights| weights.cast(self.0))
    }
}

/// Returns flex, because not every backend has half precision, and a model in `f32`.
fn model() -> (Device, Transformer) {
    let (_, flex) = device::choose(Some("flex")).expect("tests have the default backend");
    let config = TransformerConfig {
        d_model: 8,
        n_heads: 2,
        d_ff: 12,
        n_encoder_layers: 1,
        n_decoder_layers: 1,
        ..TransformerConfig::base(11, 13)
    };
    let model = random_model(&config, &flex, 3);
    (flex, model)
}

fn values(tensor: Tensor<3>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

fn assert_close(found: Tensor<3>, expected: Tensor<3>, dtype: FloatDType) {
    assert_eq!(found.dtype(), DType::from(dtype));
    for (found, expected) in values(found).into_iter().zip(values(expected)) {
        assert!(
            (found - expected).abs() < TOLERANCE,
            "{dtype:?}: {found} {expected}"
        );
    }
}

#[test]
fn a_model_in_half_precision_adds_positions_in_half_precision() {
    let (device, model) = model();
    let src = Padded::new(&[vec![5, 9, 4, 7, 3], vec![6, 3]], &device);
    let tgt = tgt_ids(&[vec![BOS, 7, 12], vec![BOS, 8, 4]], &device);
    let expected = model.probs(&src, tgt.clone());
    for dtype in HALVES {
        let half = model.clone().map(&mut Cast(dtype));
        assert_close(half.probs(&src, tgt.clone()), expected.clone(), dtype);
    }
}

#[test]
fn mask_biases_of_another_element_type_are_added_to_scores_in_half_precision() {
    let (device, model) = model();
    let src = Padded::new(&[[5, 9, 4], [6, 8, 3]], &device);
    let tgt = tgt_ids(&[vec![BOS, 7], vec![BOS, 8]], &device);
    let bias = Tensor::<4>::from_floats([[[[0.5, f32::NEG_INFINITY, -1.0]]]], &device);
    for dtype in HALVES {
        // Two masks with different element types.
        let other = Tensor::<4>::zeros([1, 1, 1, 3], (&device, DType::from(dtype)));
        let masks = AttentionMasks {
            cross: Some(Mask::additive(bias.clone()).and(Mask::additive(other))),
            ..AttentionMasks::default()
        };
        let expected = model.forward_with(&src, tgt.clone(), &masks, None);
        let half = model.clone().map(&mut Cast(dtype));
        let found = half.forward_with(&src, tgt.clone(), &masks, None);
        let probs = |logits| burn::tensor::activation::softmax(logits, 2);
        assert_close(probs(found), probs(expected), dtype);
    }
}

#[test]
fn a_replaced_embedding_is_cast_to_the_element_type_of_the_model() {
    let (_, model) = model();
    let half = model.clone().map(&mut Cast(FloatDType::BF16));
    let replaced = half
        .with_src_embedding(model.src_embedding())
        .with_tgt_embedding(model.tgt_embedding());
    assert_eq!(replaced.src_embedding().dtype(), DType::BF16);
    assert_eq!(replaced.tgt_embedding().dtype(), DType::BF16);
}
