//! Invariants of masks in addition to padding and causality, under every config.

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Bool, Device, Tensor, TensorData};
use proptest::prelude::*;
use proptest::sample::Index;
use transformer_core::random::SplitMix64;
use transformer_core::text::PAD;
use transformer_core::{AttentionMasks, Mask, Padded, Transformer, TransformerConfig};

use crate::maps::forward_with_maps;
use crate::model::{
    Batch, attention_configs, batches, difference, random_model, same_sums, test_device, tgt_ids,
};
use crate::weights::{centered, gradients};

/// For `f32` sums in another order, as in `properties.rs`.
const TOLERANCE: f64 = 1e-5;

/// Biases of the scores of all three attentions, some of them −∞.
struct Biases {
    /// `[batch, n_heads, src_len, src_len]`.
    encoder: Tensor<4>,
    /// `[1, n_heads, tgt_len, tgt_len]`.
    decoder: Tensor<4>,
    /// `[batch, 1, tgt_len, src_len]`.
    cross: Tensor<4>,
}

impl Biases {
    /// Draws −∞ for a quarter of the keys, and values between −0.5 and 0.5 times `spread` for the
    /// others.
    fn draw(config: &TransformerConfig, batch: &Batch, spread: f32, seed: u32) -> Self {
        let mut random = SplitMix64::new(seed.into());
        let mut draw = |shape: [usize; 4]| {
            let mut bias = |_| {
                let is_hidden = centered(&mut random) < -0.25;
                let bias = spread * centered(&mut random);
                if is_hidden { f32::NEG_INFINITY } else { bias }
            };
            let n = shape.iter().product::<usize>();
            let biases: Vec<f32> = (0..n).map(&mut bias).collect();
            Tensor::from_data(TensorData::new(biases, shape), &test_device())
        };
        let [n_rows, n_heads] = [batch.src.len(), config.n_heads];
        let (src_len, tgt_len) = (src_len(batch), batch.tgt[0].len());
        Self {
            encoder: draw([n_rows, n_heads, src_len, src_len]),
            decoder: draw([1, n_heads, tgt_len, tgt_len]),
            cross: draw([n_rows, 1, tgt_len, src_len]),
        }
    }

    fn masks(&self, mask: impl Fn(Tensor<4>) -> Mask) -> AttentionMasks {
        AttentionMasks {
            encoder: Some(mask(self.encoder.clone())),
            decoder: Some(mask(self.decoder.clone())),
            cross: Some(mask(self.cross.clone())),
        }
    }
}

fn src_len(batch: &Batch) -> usize {
    let lengths = batch.src.iter().map(Vec::len);
    lengths.max().expect("a batch has rows")
}

/// # Shapes
///
/// - returns: `[batch, tgt_len, vocab]`
fn forward_with(model: &Transformer, batch: &Batch, masks: &AttentionMasks) -> Tensor<3> {
    let device = model.device();
    let src = Padded::new(&batch.src, &device);
    model.forward_with(&src, tgt_ids(&batch.tgt, &device), masks, None)
}

/// Hides keys from all queries of all sentences.
fn hide_keys(hidden: &[bool], device: &Device) -> Mask {
    let data = TensorData::new(hidden.to_vec(), [1, 1, 1, hidden.len()]);
    Mask::hidden(Tensor::<4, Bool>::from_data(data, device))
}

fn hide_everything(batch: &Batch, device: &Device) -> AttentionMasks {
    let hide_all = |n_keys| Some(hide_keys(&vec![true; n_keys], device));
    AttentionMasks {
        encoder: hide_all(src_len(batch)),
        decoder: hide_all(batch.tgt[0].len()),
        cross: hide_all(src_len(batch)),
    }
}

fn is_finite(tensor: &Tensor<3>) -> bool {
    let data = tensor.clone().into_data();
    data.iter::<f32>().all(f32::is_finite)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn an_additive_mask_of_minus_infinity_equals_the_boolean_mask(
        config in attention_configs(), batch in batches(), seed: u32,
    ) {
        let model = random_model(&config, seed);
        let biases = Biases::draw(&config, &batch, 0.0, !seed);
        let boolean = biases.masks(|bias| Mask::hidden(bias.lower_elem(-1.0)));
        let expected = forward_with(&model, &batch, &boolean);
        let actual = forward_with(&model, &batch, &biases.masks(Mask::additive));
        let found = difference(actual, expected.clone());
        prop_assert!(found <= same_sums(TOLERANCE), "{found:e}");
        prop_assert!(is_finite(&expected));
    }

    #[test]
    fn joined_masks_equal_the_mask_of_their_sum(
        config in attention_configs(), batch in batches(), seed: u32,
    ) {
        let model = random_model(&config, seed);
        let one = Biases::draw(&config, &batch, 4.0, !seed);
        let other = Biases::draw(&config, &batch, 4.0, seed ^ 1);
        let sum = Biases {
            encoder: one.encoder.clone() + other.encoder.clone(),
            decoder: one.decoder.clone() + other.decoder.clone(),
            cross: one.cross.clone() + other.cross.clone(),
        };
        let join = |one: &Tensor<4>, other: &Tensor<4>| {
            Some(Mask::additive(one.clone()).and(Mask::additive(other.clone())))
        };
        let joined = AttentionMasks {
            encoder: join(&one.encoder, &other.encoder),
            decoder: join(&one.decoder, &other.decoder),
            cross: join(&one.cross, &other.cross),
        };
        let expected = forward_with(&model, &batch, &sum.masks(Mask::additive));
        let found = difference(forward_with(&model, &batch, &joined), expected);
        prop_assert!(found < TOLERANCE, "{found:e}");
    }

    #[test]
    fn masks_that_hide_everything_give_finite_logits_that_do_not_depend_on_the_source(
        config in attention_configs(), batch in batches(), seed: u32,
    ) {
        let model = random_model(&config, seed);
        let masks = hide_everything(&batch, &test_device());
        let logits = forward_with(&model, &batch, &masks);
        prop_assert!(is_finite(&logits));

        let mut other = batch.clone();
        other.src[0][0] = 4 + (other.src[0][0] - 3) % 7;
        prop_assert_ne!(&other.src, &batch.src);
        let found = difference(forward_with(&model, &other, &masks), logits);
        prop_assert!(found <= same_sums(TOLERANCE), "{found:e}");
    }

    #[test]
    fn masks_that_hide_everything_give_finite_gradients(
        config in attention_configs(), batch in batches(), seed: u32,
    ) {
        let config = TransformerConfig { dropout: 0.0, ..config };
        let model = random_model(&config, seed).train();
        let masks = hide_everything(&batch, &test_device().autodiff());
        let slopes = forward_with(&model, &batch, &masks).powi_scalar(2).sum().backward();
        for (name, entry) in gradients(&model, &GradientsParams::from_grads(slopes, &model)) {
            prop_assert!(entry.values.iter().all(|slope| slope.is_finite()), "{}", name);
        }
    }

    #[test]
    fn a_source_token_that_masks_hide_changes_no_logit(
        config in attention_configs(), batch in batches(), seed: u32, row: Index, position: Index, step in 1_u32..7,
    ) {
        let model = random_model(&config, seed);
        let row = row.index(batch.src.len());
        let position = position.index(batch.src[row].len());
        let hidden: Vec<bool> = (0..src_len(&batch)).map(|key| key == position).collect();
        let mask = hide_keys(&hidden, &test_device());
        let masks = AttentionMasks {
            encoder: Some(mask.clone()),
            decoder: None,
            cross: Some(mask),
        };
        let mut changed = batch.clone();
        changed.src[row][position] = 4 + (batch.src[row][position] - 4 + step) % 7;
        prop_assert_ne!(&changed.src, &batch.src);
        let expected = forward_with(&model, &batch, &masks);
        let found = difference(forward_with(&model, &changed, &masks), expected);
        prop_assert!(found <= same_sums(TOLERANCE), "{found:e}");

        let none = AttentionMasks::default();
        let before = forward_with(&model, &batch, &none);
        let found = difference(forward_with(&model, &changed, &none), before);
        prop_assert!(found > TOLERANCE, "without masks, the token changes no logit");
    }

    #[test]
    fn decoding_in_pieces_under_masks_equals_decoding_at_once(
        config in attention_configs(), batch in batches(), seed: u32, ends: [bool; 8],
    ) {
        let model = random_model(&config, seed);
        let biases = Biases::draw(&config, &batch, 4.0, !seed);
        let masks = biases.masks(Mask::additive);
        let at_once = forward_with(&model, &batch, &masks);

        let device = test_device();
        let tgt = tgt_ids(&batch.tgt, &device);
        let [_, tgt_len] = tgt.dims();
        let src = Padded::new(&batch.src, &device);
        let mut state = model.begin(&model.encode_with(&src, &masks, None));
        let mut start = 0;
        let mut pieces = Vec::new();
        for end in 1..=tgt_len {
            if end == tgt_len || ends[end - 1] {
                let queries = |bias: &Tensor<4>| bias.clone().narrow(2, start, end - start);
                let part = AttentionMasks {
                    encoder: None,
                    decoder: Some(Mask::additive(queries(&biases.decoder).narrow(3, 0, end))),
                    cross: Some(Mask::additive(queries(&biases.cross))),
                };
                let piece = tgt.clone().narrow(1, start, end - start);
                pieces.push(model.decode_with(piece, &mut state, &part, None));
                start = end;
            }
        }
        let found = difference(Tensor::cat(pieces, 1), at_once);
        prop_assert!(found < TOLERANCE, "{found:e}");
    }

    // Only padding behind a sentence is hidden: a tokenizer may output the same id.
    #[test]
    fn a_padding_token_inside_a_sentence_is_not_hidden(
        config in attention_configs(), batch in batches(), seed: u32, row: Index, position: Index,
    ) {
        let mut batch = batch;
        let row = row.index(batch.src.len());
        let position = position.index(batch.src[row].len());
        batch.src[row][position] = PAD;
        let model = random_model(&config, seed);
        let (logits, maps) = forward_with_maps(&model, &batch);
        prop_assert!(is_finite(&logits));
        for map in maps.cross {
            let weights = map.narrow(0, row, 1).narrow(3, position, 1);
            prop_assert!(weights.into_data().iter::<f32>().all(|weight| weight > 0.0));
        }
    }
}
