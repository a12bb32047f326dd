//! Invariants of attention maps under every config.

use burn::tensor::{Tensor, TensorData};
use proptest::prelude::*;
use proptest::sample::Index;
use transformer_core::{
    AttentionMaps, AttentionMasks, Mask, Padded, Transformer, TransformerConfig,
};

use crate::model::{
    Batch, TGT_VOCAB, attention_configs, batches, difference, forward, random_model, same_sums,
    test_device, tgt_ids,
};

/// For `f32` sums in another order; weights are at most 1.
const TOLERANCE: f64 = 1e-5;

/// # Shapes
///
/// - returns: the logits, `[batch, tgt_len, vocab]`, and the maps
pub(crate) fn forward_with_maps(model: &Transformer, batch: &Batch) -> (Tensor<3>, AttentionMaps) {
    let device = test_device();
    let mut maps = AttentionMaps::default();
    let src = Padded::new(&batch.src, &device);
    let tgt = tgt_ids(&batch.tgt, &device);
    let logits = model.forward_with(&src, tgt, &AttentionMasks::default(), Some(&mut maps));
    (logits, maps)
}

/// Returns the weights of each query of each head of each sentence.
fn rows(map: &Tensor<4>) -> Vec<Vec<f32>> {
    let n_keys = map.dims()[3];
    let weights: Vec<f32> = map.clone().into_data().iter::<f32>().collect();
    weights.chunks(n_keys).map(<[f32]>::to_vec).collect()
}

/// Whether a key is hidden in all layers of one kind: the arguments are sentence, query and key.
type IsHidden<'a> = &'a dyn Fn(usize, usize, usize) -> bool;

/// Calls `check` with the weights of every query in every map, and whether each key is hidden.
fn check_rows(
    config: &TransformerConfig,
    batch: &Batch,
    maps: &AttentionMaps,
    check: impl Fn(&[f32], &[bool]) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let is_padding = |row: usize, _query: usize, key: usize| key >= batch.src[row].len();
    let hides_src = |row: usize, query: usize, key: usize| {
        let is_far = |window| query.abs_diff(key) > window;
        is_padding(row, query, key) || config.encoder_window.is_some_and(is_far)
    };
    let hides_tgt = |_row: usize, query: usize, key: usize| {
        key > query
            || config
                .decoder_window
                .is_some_and(|window| query - key > window)
    };
    let kinds: [(&[Tensor<4>], usize, IsHidden<'_>); 3] = [
        (&maps.encoder, config.n_encoder_layers, &hides_src),
        (&maps.decoder, config.n_decoder_layers, &hides_tgt),
        (&maps.cross, config.n_decoder_layers, &is_padding),
    ];
    for (layers, n_layers, is_hidden) in kinds {
        prop_assert_eq!(layers.len(), n_layers);
        for map in layers {
            let [n_rows, n_heads, n_queries, n_keys] = map.dims();
            prop_assert_eq!((n_rows, n_heads), (batch.src.len(), config.n_heads));
            for (index, weights) in rows(map).iter().enumerate() {
                let (row, query) = (index / (n_heads * n_queries), index % n_queries);
                let hidden: Vec<bool> = (0..n_keys).map(|key| is_hidden(row, query, key)).collect();
                check(weights, &hidden)?;
            }
        }
    }
    Ok(())
}

/// Makes one source sentence empty, if an index is given.
fn with_empty_source(mut batch: Batch, empty: Option<Index>) -> Batch {
    if let Some(empty) = empty {
        let row = empty.index(batch.src.len());
        batch.src[row].clear();
    }
    batch
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn recording_maps_changes_no_logit(config in attention_configs(), batch in batches(), seed: u32) {
        let model = random_model(&config, seed);
        let (logits, _) = forward_with_maps(&model, &batch);
        let found = difference(logits, forward(&model, &batch.src, &batch.tgt));
        prop_assert!(found <= same_sums(TOLERANCE), "{found:e}");
    }

    #[test]
    fn a_key_has_weight_zero_exactly_if_it_is_future_padding_or_outside_the_window(
        config in attention_configs(), batch in batches(), seed: u32, empty in any::<Option<Index>>(),
    ) {
        let batch = with_empty_source(batch, empty);
        let (_, maps) = forward_with_maps(&random_model(&config, seed), &batch);
        check_rows(&config, &batch, &maps, |weights, hidden| {
            for (weight, hidden) in weights.iter().zip(hidden) {
                prop_assert_eq!(*weight == 0.0, *hidden);
            }
            Ok(())
        })?;
    }

    #[test]
    fn the_weights_of_a_query_sum_to_one_or_to_zero_if_all_keys_are_hidden(
        config in attention_configs(), batch in batches(), seed: u32, empty in any::<Option<Index>>(),
    ) {
        let batch = with_empty_source(batch, empty);
        let (_, maps) = forward_with_maps(&random_model(&config, seed), &batch);
        check_rows(&config, &batch, &maps, |weights, hidden| {
            let sum: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
            let expected = if hidden.contains(&false) { 1.0 } else { 0.0 };
            prop_assert!((sum - expected).abs() < TOLERANCE, "{sum}");
            Ok(())
        })?;
    }

    #[test]
    fn decoding_in_pieces_gives_the_rows_of_the_maps_of_decoding_at_once(
        config in attention_configs(), batch in batches(), seed: u32, ends: [bool; 8],
    ) {
        let model = random_model(&config, seed);
        let (_, whole) = forward_with_maps(&model, &batch);
        let device = test_device();
        let tgt = tgt_ids(&batch.tgt, &device);
        let [_, tgt_len] = tgt.dims();
        let masks = AttentionMasks::default();
        let mut maps = AttentionMaps::default();
        let src = Padded::new(&batch.src, &device);
        let mut state = model.begin(&model.encode_with(&src, &masks, Some(&mut maps)));
        let mut start = 0;
        for end in 1..=tgt_len {
            if end < tgt_len && !ends[end - 1] {
                continue;
            }
            let piece = tgt.clone().narrow(1, start, end - start);
            let _ = model.decode_with(piece, &mut state, &masks, Some(&mut maps));
            prop_assert_eq!(maps.decoder.len(), whole.decoder.len());
            for (map, whole) in maps.decoder.iter().zip(&whole.decoder) {
                let expected = whole.clone().narrow(2, start, end - start).narrow(3, 0, end);
                let found = difference(map.clone(), expected);
                prop_assert!(found < TOLERANCE, "{found:e}");
            }
            prop_assert_eq!(maps.cross.len(), whole.cross.len());
            for (map, whole) in maps.cross.iter().zip(&whole.cross) {
                let expected = whole.clone().narrow(2, start, end - start);
                let found = difference(map.clone(), expected);
                prop_assert!(found < TOLERANCE, "{found:e}");
            }
            start = end;
        }
        prop_assert_eq!(maps.encoder.len(), whole.encoder.len());
        for (map, whole) in maps.encoder.iter().zip(&whole.encoder) {
            let found = difference(map.clone(), whole.clone());
            prop_assert!(found <= same_sums(TOLERANCE), "{found:e}");
        }
    }

    #[test]
    fn the_map_of_one_layer_equals_that_among_all_layers(
        config in attention_configs(), batch in batches(), seed: u32, layer: Index,
    ) {
        let model = random_model(&config, seed);
        let (_, all) = forward_with_maps(&model, &batch);
        let layer = layer.index(config.n_decoder_layers);
        let device = test_device();
        let mut state = model.begin(&model.encode(&Padded::new(&batch.src, &device)));
        let map = model.cross_attention(tgt_ids(&batch.tgt, &device), &mut state, layer);
        let found = difference(map, all.cross[layer].clone());
        prop_assert!(found <= same_sums(TOLERANCE), "{found:e}");
    }

    #[test]
    fn rows_that_share_a_source_decode_and_attend_like_separate_rows(
        config in attention_configs(), batch in batches(), seed: u32, beam in 1_usize..4, cut: Index,
        picks in proptest::collection::vec(any::<Index>(), 1..7), mask: bool,
    ) {
        let model = random_model(&config, seed);
        let device = test_device();
        let n_rows = batch.src.len() * beam;
        // Every source `beam` times, with different targets.
        let each = |row: usize| batch.src[row / beam].clone();
        let spread = Batch {
            src: (0..n_rows).map(each).collect(),
            tgt: (0..n_rows)
                .map(|row| {
                    let mut tgt = batch.tgt[row / beam].clone();
                    for token in tgt.iter_mut().skip(1) {
                        *token = (*token + row as u32) % TGT_VOCAB as u32;
                    }
                    tgt
                })
                .collect(),
        };
        let tgt_len = spread.tgt[0].len();
        let cut = cut.index(tgt_len);

        let state = model.begin(&model.encode(&Padded::new(&batch.src, &device)));
        let rows: Vec<usize> = (0..n_rows).map(|row| row / beam).collect();
        let mut state = state.select(&rows);
        let tgt = tgt_ids(&spread.tgt, &device);
        if cut > 0 {
            let _ = model.decode(tgt.narrow(1, 0, cut), &mut state);
        }
        let picks: Vec<usize> = picks.iter().map(|pick| pick.index(n_rows)).collect();
        let mut state = state.select(&picks);
        let picked = Batch {
            src: picks.iter().map(|&row| spread.src[row].clone()).collect(),
            tgt: picks.iter().map(|&row| spread.tgt[row].clone()).collect(),
        };
        // The mask differs between rows: the first source token is hidden from every second one.
        let src_len = batch.src.iter().map(Vec::len).max().unwrap_or(0);
        let hidden: Vec<bool> = (0..picks.len() * src_len)
            .map(|index| mask && index % src_len == 0 && (index / src_len) % 2 == 1)
            .collect();
        let hidden = TensorData::new(hidden, [picks.len(), 1, 1, src_len]);
        let masks = AttentionMasks {
            cross: mask.then(|| Mask::hidden(Tensor::from_data(hidden.clone(), &device))),
            ..AttentionMasks::default()
        };
        let mut maps = AttentionMaps::default();
        let tgt = tgt_ids(&picked.tgt, &device);
        let rest = tgt.clone().narrow(1, cut, tgt_len - cut);
        let logits = model.decode_with(rest, &mut state, &masks, Some(&mut maps));

        // The same with one source per row; padding may be narrower.
        let alone = Padded::new(&picked.src, &device);
        let mut expected_maps = AttentionMaps::default();
        let narrow = alone.ids().dims()[1];
        let hidden: Tensor<4, burn::tensor::Bool> = Tensor::from_data(hidden, &device);
        let masks = AttentionMasks {
            cross: mask.then(|| Mask::hidden(hidden.narrow(3, 0, narrow))),
            ..AttentionMasks::default()
        };
        // The tokens before the cut are decoded without the mask.
        let mut alone = model.begin(&model.encode(&alone));
        if cut > 0 {
            let _ = model.decode(tgt.clone().narrow(1, 0, cut), &mut alone);
        }
        let rest = tgt.narrow(1, cut, tgt_len - cut);
        let expected = model.decode_with(rest, &mut alone, &masks, Some(&mut expected_maps));
        let found = difference(logits, expected);
        prop_assert!(found < TOLERANCE, "{found:e}");
        for (map, expected) in maps.cross.into_iter().zip(expected_maps.cross) {
            let [_, _, _, width] = map.dims();
            if width > narrow {
                let padding = map.clone().narrow(3, narrow, width - narrow);
                prop_assert!(padding.into_data().iter::<f32>().all(|weight| weight == 0.0));
            }
            let found = difference(map.narrow(3, 0, narrow), expected);
            prop_assert!(found < TOLERANCE, "{found:e}");
        }
    }
}
