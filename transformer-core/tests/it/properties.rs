//! Invariants of the model under every config.

use burn::tensor::{Int, Tensor};
use proptest::prelude::*;
use proptest::sample::Index;
use transformer_core::text::BOS;
use transformer_core::{DecoderState, Padded, Transformer, TransformerConfig};

use crate::model::{
    Batch, TGT_VOCAB, batches, configs, difference, forward, random_model, same_sums, sources,
    test_device, tgt_ids,
};
use crate::weights::rewrite;

/// For `f32` sums in another order: 84 units in the last place of the largest logit, over up to
/// four layers.
const TOLERANCE: f64 = 1e-5;

/// Decodes the target in pieces that end where `ends` is true, and concatenates the logits.
fn decode_in_pieces(model: &Transformer, batch: &Batch, ends: &[bool]) -> Tensor<3> {
    let device = test_device();
    let mut state = model.begin(&model.encode(&Padded::new(&batch.src, &device)));
    let tgt = tgt_ids(&batch.tgt, &device);
    let [_, tgt_len] = tgt.dims();
    let mut start = 0;
    let mut pieces = Vec::new();
    for end in 1..=tgt_len {
        if end == tgt_len || ends[end - 1] {
            let piece = tgt.clone().narrow(1, start, end - start);
            pieces.push(model.decode(piece, &mut state));
            assert_eq!(state.n_decoded(), end);
            start = end;
        }
    }
    Tensor::cat(pieces, 1)
}

fn pick<T: Clone>(rows: &[T], picks: &[usize]) -> Vec<T> {
    picks.iter().map(|&row| rows[row].clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_future_target_token_changes_no_earlier_logit(
        config in configs(), batch in batches(), seed: u32, row: Index, position: Index, step in 1_u32..13,
    ) {
        let model = random_model(&config, seed);
        let [n_rows, tgt_len] = [batch.tgt.len(), batch.tgt[0].len()];
        let (row, position) = (row.index(n_rows), position.index(tgt_len));
        let mut changed = batch.tgt.clone();
        changed[row][position] = (changed[row][position] + step) % config.tgt_vocab_size as u32;

        let before = forward(&model, &batch.src, &batch.tgt);
        let after = forward(&model, &batch.src, &changed);
        let allowed = same_sums(TOLERANCE);
        for other in (0..n_rows).filter(|&other| other != row) {
            let [before, after] = [&before, &after].map(|logits| logits.clone().narrow(0, other, 1));
            prop_assert!(difference(after, before) <= allowed);
        }
        let [before, after] = [before, after].map(|logits| logits.narrow(0, row, 1));
        if position > 0 {
            let [before, after] =
                [&before, &after].map(|logits| logits.clone().narrow(1, 0, position));
            prop_assert!(difference(after, before) <= allowed);
        }
        let [before, after] = [before, after].map(|logits| logits.narrow(1, position, 1));
        prop_assert!(difference(after, before) > TOLERANCE, "the token changes no logit");
    }

    #[test]
    fn padding_the_source_changes_no_real_row(
        config in configs(), batch in batches(), seed: u32, n_more in 1_usize..6,
    ) {
        let model = random_model(&config, seed);
        let longest = batch.src.iter().map(Vec::len).max().expect("a batch has rows");
        let mut wider = batch.clone();
        wider.src.push(vec![5; longest + n_more]);
        wider.tgt.push(vec![6; batch.tgt[0].len()]);

        let expected = forward(&model, &batch.src, &batch.tgt);
        let padded = forward(&model, &wider.src, &wider.tgt).narrow(0, 0, batch.src.len());
        let found = difference(padded, expected);
        prop_assert!(found < TOLERANCE, "{found:e}");
    }

    #[test]
    fn a_row_of_a_batch_equals_the_sentence_alone(
        config in configs(), batch in batches(), seed: u32,
    ) {
        let model = random_model(&config, seed);
        let together = forward(&model, &batch.src, &batch.tgt);
        for (row, (src, tgt)) in batch.src.iter().zip(&batch.tgt).enumerate() {
            let alone = forward(&model, std::slice::from_ref(src), std::slice::from_ref(tgt));
            let found = difference(together.clone().narrow(0, row, 1), alone);
            prop_assert!(found < TOLERANCE, "{found:e}");
        }
    }

    #[test]
    fn decoding_in_any_pieces_equals_decoding_at_once(
        config in configs(), batch in batches(), seed: u32, ends: [bool; 8],
    ) {
        let model = random_model(&config, seed);
        let at_once = forward(&model, &batch.src, &batch.tgt);
        let found = difference(decode_in_pieces(&model, &batch, &ends), at_once);
        prop_assert!(found < TOLERANCE, "{found:e}");
    }

    #[test]
    fn clones_of_a_state_equal_decoding_each_target_at_once(
        config in configs(), src in sources(2), seed: u32, cut in 1_usize..39,
        tokens in proptest::collection::vec(0..TGT_VOCAB as u32, 156),
    ) {
        // Two targets of 40 tokens for each source, the same up to the cut.
        let target = |tokens: &[u32]| [&[BOS], tokens].concat();
        let one: Vec<_> = tokens[..78].chunks(39).map(target).collect();
        let mut other: Vec<_> = tokens[78..].chunks(39).map(target).collect();
        for (other, one) in other.iter_mut().zip(&one) {
            other[..cut].copy_from_slice(&one[..cut]);
        }
        let config = TransformerConfig { max_positions: 40, ..config };
        let model = random_model(&config, seed);
        let device = test_device();
        let step = |tgt: &[Vec<u32>], position: usize, state: &mut DecoderState| {
            model.decode(tgt_ids(tgt, &device).narrow(1, position, 1), state)
        };

        let mut state = model.begin(&model.encode(&Padded::new(&src, &device)));
        for position in 0..cut {
            let _ = step(&one, position, &mut state);
        }
        let mut forked = state.clone();
        let mut logits = [vec![], vec![]];
        for position in cut..40 {
            logits[0].push(step(&one, position, &mut state));
            logits[1].push(step(&other, position, &mut forked));
        }
        for (logits, tgt) in logits.into_iter().zip([one, other]) {
            let expected = forward(&model, &src, &tgt).narrow(1, cut, 40 - cut);
            let found = difference(Tensor::cat(logits, 1), expected);
            prop_assert!(found < TOLERANCE, "{found:e}");
        }
    }

    #[test]
    fn selecting_rows_of_the_state_equals_decoding_the_selected_batch(
        config in configs(), batch in batches(), seed: u32,
        picks in proptest::collection::vec(any::<Index>(), 1..6), cut: Index,
    ) {
        let model = random_model(&config, seed);
        let device = test_device();
        let picks: Vec<usize> = picks.iter().map(|pick| pick.index(batch.src.len())).collect();
        let tgt_len = batch.tgt[0].len();
        // From no decoded token to all but one.
        let cut = cut.index(tgt_len);

        let mut state = model.begin(&model.encode(&Padded::new(&batch.src, &device)));
        let tgt = tgt_ids(&batch.tgt, &device);
        if cut > 0 {
            let _ = model.decode(tgt.clone().narrow(1, 0, cut), &mut state);
        }
        let rows: Vec<i64> = picks.iter().map(|&row| row as i64).collect();
        let rows = Tensor::<1, Int>::from_data(rows.as_slice(), &device);
        let mut selected = state.select(&picks);
        prop_assert_eq!(selected.n_decoded(), cut);
        prop_assert_eq!(selected.n_rows(), picks.len());
        let rest = tgt.select(0, rows).narrow(1, cut, tgt_len - cut);
        let actual = model.decode(rest, &mut selected);

        let expected = forward(&model, &pick(&batch.src, &picks), &pick(&batch.tgt, &picks));
        let found = difference(actual, expected.narrow(1, cut, tgt_len - cut));
        prop_assert!(found < TOLERANCE, "{found:e}");
    }

    #[test]
    fn an_empty_source_gives_finite_logits_that_its_neighbors_do_not_change(
        config in configs(), batch in batches(), seed: u32, row: Index, others in sources(3),
    ) {
        let model = random_model(&config, seed);
        let row = row.index(batch.src.len());
        let mut src = batch.src.clone();
        src[row].clear();
        let logits = forward(&model, &src, &batch.tgt);
        prop_assert!(logits.clone().into_data().iter::<f32>().all(f32::is_finite));

        let mut beside_others = others[..batch.src.len()].to_vec();
        beside_others[row].clear();
        let other = forward(&model, &beside_others, &batch.tgt);
        let [logits, other] = [logits, other].map(|logits| logits.narrow(0, row, 1));
        let found = difference(other, logits.clone());
        prop_assert!(found < TOLERANCE, "{found:e}");

        let alone = forward(&model, &[vec![]], &batch.tgt[row..=row]);
        let found = difference(alone, logits);
        prop_assert!(found < TOLERANCE, "{found:e}");
    }

    #[test]
    fn an_empty_source_changes_no_other_row(
        config in configs(), batch in batches(), seed: u32,
    ) {
        let model = random_model(&config, seed);
        let mut with_empty = batch.clone();
        with_empty.src.push(Vec::new());
        with_empty.tgt.push(batch.tgt[0].clone());
        let expected = forward(&model, &batch.src, &batch.tgt);
        let logits = forward(&model, &with_empty.src, &with_empty.tgt);
        let found = difference(logits.narrow(0, 0, batch.src.len()), expected);
        prop_assert!(found < TOLERANCE, "{found:e}");
    }

    #[test]
    fn probabilities_sum_to_one_and_are_the_exponentials_of_log_probs(
        config in configs(), batch in batches(), seed: u32,
    ) {
        let model = random_model(&config, seed);
        let device = test_device();
        let (src, tgt) = (Padded::new(&batch.src, &device), tgt_ids(&batch.tgt, &device));
        let probs = model.probs(&src, tgt.clone());
        let found = difference(model.log_probs(&src, tgt).exp(), probs.clone());
        prop_assert!(found < TOLERANCE, "{found:e}");
        for sum in probs.sum_dim(2).into_data().iter::<f64>() {
            prop_assert!((sum - 1.0).abs() < TOLERANCE, "{sum}");
        }
    }
}

/// Returns a config with one encoder layer and one decoder layer.
fn smallest() -> TransformerConfig {
    TransformerConfig {
        d_model: 8,
        n_heads: 2,
        d_ff: 12,
        n_encoder_layers: 1,
        n_decoder_layers: 1,
        ..TransformerConfig::base(13, 13)
    }
}

#[test]
fn log_probs_are_finite_where_a_probability_underflows() {
    // Logits differ by hundreds: the exponential of −104 is zero in single precision.
    let model = rewrite(random_model(&smallest(), 3), |name, entry| {
        let factor = if name == "src_vocabulary.weight" {
            300.0
        } else {
            1.0
        };
        entry.values.iter().map(|value| factor * value).collect()
    });
    let device = test_device();
    let src = Padded::new(&[[5, 9, 4]], &device);
    let tgt = tgt_ids(&[vec![BOS, 7]], &device);
    let probs = model.probs(&src, tgt.clone()).into_data();
    assert!(probs.iter::<f32>().any(|prob| prob == 0.0));
    let log_probs = model.log_probs(&src, tgt).into_data();
    assert!(log_probs.iter::<f32>().all(f32::is_finite));
}

#[test]
#[should_panic(expected = "the state has as many rows as the target")]
fn one_source_is_not_broadcast_to_several_targets() {
    let src = Padded::new(&[[5, 9, 4]], &test_device());
    let tgt = tgt_ids(&[vec![BOS, 7], vec![BOS, 8]], &test_device());
    let _ = random_model(&smallest(), 3).forward(&src, tgt);
}

#[test]
#[should_panic(expected = "the source has the id 13, which is not in its vocabulary of 13 tokens")]
fn a_source_id_outside_the_vocabulary_is_rejected_before_it_reaches_the_device() {
    let src = Padded::new(&[vec![5, 13, 4], vec![7]], &test_device());
    let _ = random_model(&smallest(), 3).encode(&src);
}
