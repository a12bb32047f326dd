//! Invariants of restricted self-attention (§4) under every config.

use burn::tensor::Tensor;
use proptest::prelude::*;
use proptest::sample::Index;
use transformer_core::text::BOS;
use transformer_core::{Padded, TransformerConfig};

use crate::model::{
    attention_configs, batches, configs, difference, forward, random_model, same_sums, test_device,
};

/// For `f32` sums in another order, as in `properties.rs`.
const TOLERANCE: f64 = 1e-5;

/// Generates sentences that are longer than every window.
fn sentences() -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::vec(4_u32..11, 6..15)
}

/// Returns the sentence with another token at this position.
fn change(sentence: &[u32], position: usize, step: u32) -> Vec<u32> {
    let mut changed = sentence.to_vec();
    changed[position] = 4 + (changed[position] - 4 + step) % 7;
    changed
}

/// Returns the largest difference at one position.
fn difference_at(position: usize, one: &Tensor<3>, other: &Tensor<3>) -> f64 {
    let [one, other] = [one, other].map(|rows| rows.clone().narrow(1, position, 1));
    difference(one, other)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn windows_as_wide_as_the_sentences_equal_no_windows(
        config in attention_configs(), batch in batches(), seed: u32, n_more in 0_usize..2,
    ) {
        let longest = batch.src.iter().map(Vec::len).max().expect("a batch has rows");
        let none = TransformerConfig { encoder_window: None, decoder_window: None, ..config };
        let wide = TransformerConfig {
            encoder_window: Some(longest - 1 + n_more),
            decoder_window: Some(batch.tgt[0].len() - 1 + n_more),
            ..none.clone()
        };
        let expected = forward(&random_model(&none, seed), &batch.src, &batch.tgt);
        let actual = forward(&random_model(&wide, seed), &batch.src, &batch.tgt);
        let found = difference(actual, expected);
        prop_assert!(found <= same_sums(TOLERANCE), "{found:e}");
    }

    // Each layer extends the reach of a token by one window.
    #[test]
    fn a_source_token_reaches_as_many_windows_as_there_are_encoder_layers(
        config in configs(), sentence in sentences(), seed: u32,
        window in 0_usize..4, position: Index, step in 1_u32..7,
    ) {
        let config = TransformerConfig { encoder_window: Some(window), ..config };
        let model = random_model(&config, seed);
        let encode = |sentence: &[u32]| model.encode(&Padded::new(&[sentence], &test_device()));
        let position = position.index(sentence.len());
        let before = encode(&sentence).states();
        let after = encode(&change(&sentence, position, step)).states();
        let reach = config.n_encoder_layers * window;
        for other in 0..sentence.len() {
            let found = difference_at(other, &after, &before);
            let distance = other.abs_diff(position);
            if distance > reach {
                prop_assert!(found <= same_sums(TOLERANCE), "{distance} away: {found:e}");
            } else {
                prop_assert!(found > 0.0, "{distance} away, nothing changed");
            }
        }
    }

    #[test]
    fn a_target_token_reaches_as_many_windows_as_there_are_decoder_layers(
        config in attention_configs(), sentence in sentences(), seed: u32,
        window in 0_usize..4, position: Index, step in 1_u32..7,
    ) {
        let config = TransformerConfig { decoder_window: Some(window), ..config };
        let model = random_model(&config, seed);
        let decode = |tgt: Vec<u32>| {
            forward(&model, &[vec![5, 9, 4]], &[[vec![BOS], tgt].concat()])
        };
        let position = position.index(sentence.len());
        let before = decode(sentence.clone());
        let after = decode(change(&sentence, position, step));
        // BOS is before the sentence.
        let (position, tgt_len) = (position + 1, sentence.len() + 1);
        let reach = position + config.n_decoder_layers * window;
        for later in position..tgt_len {
            let found = difference_at(later, &after, &before);
            if later > reach {
                prop_assert!(found <= same_sums(TOLERANCE), "at {later}: {found:e}");
            } else {
                prop_assert!(found > 0.0, "at {later}, nothing changed");
            }
        }
    }
}
