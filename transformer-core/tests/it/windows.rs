//! Invariants of restricted self-attention (§4), whatever else the config says.

use burn::tensor::Tensor;
use proptest::prelude::*;
use proptest::sample::Index;
use transformer_core::text::BOS;
use transformer_core::{Padded, TransformerConfig};

use crate::model::{batches, configs, difference, forward, random_model, same_sums, test_device};

/// Of float32 sums in another order, as in `properties.rs`.
const TOLERANCE: f64 = 1e-5;

/// Draws long sentences, so that there is something outside of every window.
fn sentences() -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::vec(4_u32..11, 6..15)
}

/// Returns the sentence with another token at the place.
fn change(sentence: &[u32], place: usize, step: u32) -> Vec<u32> {
    let mut changed = sentence.to_vec();
    changed[place] = 4 + (changed[place] - 4 + step) % 7;
    changed
}

/// Returns the largest difference of the rows at one place.
fn difference_at(place: usize, one: &Tensor<3>, other: &Tensor<3>) -> f64 {
    let [one, other] = [one, other].map(|rows| rows.clone().narrow(1, place, 1));
    difference(one, other)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn windows_as_wide_as_the_sentences_equal_no_windows(
        config in configs(), batch in batches(), seed: u32, n_more in 0_usize..2,
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

    // Every layer carries a token one window farther.
    #[test]
    fn a_source_token_reaches_as_many_windows_as_there_are_encoder_layers(
        config in configs(), sentence in sentences(), seed: u32,
        window in 0_usize..4, place: Index, step in 1_u32..7,
    ) {
        let config = TransformerConfig { encoder_window: Some(window), ..config };
        let model = random_model(&config, seed);
        let encode = |sentence: &[u32]| model.encode(&Padded::new(&[sentence], &test_device()));
        let place = place.index(sentence.len());
        let before = encode(&sentence).states();
        let after = encode(&change(&sentence, place, step)).states();
        let reach = config.n_encoder_layers * window;
        for other in 0..sentence.len() {
            let found = difference_at(other, &after, &before);
            let distance = other.abs_diff(place);
            if distance > reach {
                prop_assert!(found <= same_sums(TOLERANCE), "{distance} away: {found:e}");
            } else {
                prop_assert!(found > 0.0, "{distance} away, nothing changed");
            }
        }
    }

    #[test]
    fn a_target_token_reaches_as_many_windows_as_there_are_decoder_layers(
        config in configs(), sentence in sentences(), seed: u32,
        window in 0_usize..4, place: Index, step in 1_u32..7,
    ) {
        let config = TransformerConfig { decoder_window: Some(window), ..config };
        let model = random_model(&config, seed);
        let decode = |tgt: Vec<u32>| {
            forward(&model, &[vec![5, 9, 4]], &[[vec![BOS], tgt].concat()])
        };
        let place = place.index(sentence.len());
        let before = decode(sentence.clone());
        let after = decode(change(&sentence, place, step));
        // BOS stands before the sentence.
        let (place, tgt_len) = (place + 1, sentence.len() + 1);
        let reach = place + config.n_decoder_layers * window;
        for later in place..tgt_len {
            let found = difference_at(later, &after, &before);
            if later > reach {
                prop_assert!(found <= same_sums(TOLERANCE), "at {later}: {found:e}");
            } else {
                prop_assert!(found > 0.0, "at {later}, nothing changed");
            }
        }
    }
}
