//! A sentence is translated the same however it is computed.

use burn::module::Module;
use burn::tensor::{Int, Tensor, TensorData, activation};
use proptest::prelude::*;
use transformer_core::text::{BOS, EOS};
use transformer_core::{Padded, Transformer};
use transformer_infer::search::{Hypothesis, MaxLen, NextToken, Search};
use transformer_infer::{BatchLimits, Scorer, translate_ids};

use crate::model::random_model;

const VOCAB_SIZE: usize = 13;

/// Of float32 sums in another order, over a few layers; probabilities differ in the sixth digit.
const TOLERANCE: f64 = 1e-4;

fn source() -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::vec(4..VOCAB_SIZE as u32, 0..9)
}

fn searches() -> impl Strategy<Value = Search> {
    let max_len = MaxLen {
        factor: 1.0,
        extra: 7,
    };
    (1_usize..5).prop_map(move |beam_size| Search {
        beam_size,
        max_len,
        ..Search::default()
    })
}

fn same(a: &[Hypothesis], b: &[Hypothesis]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            a.ids == b.ids && a.finished == b.finished && (a.score - b.score).abs() < TOLERANCE
        })
}

/// Returns the log-probability of a hypothesis from one pass over all its tokens.
fn rescore(model: &Transformer, source: &[u32], hypothesis: &Hypothesis) -> f64 {
    let device = model.output_weight().device();
    let src = Padded::new(&[[source, &[EOS]].concat()], &device);
    let mut next = hypothesis.ids.clone();
    if hypothesis.finished {
        next.push(EOS);
    }
    let tgt: Vec<i64> = [BOS]
        .iter()
        .chain(&next[..next.len() - 1])
        .map(|id| i64::from(*id))
        .collect();
    let tgt = TensorData::new(tgt, [1, next.len()]);
    let logits = model.forward(&src, Tensor::<2, Int>::from_data(tgt, &device));
    let log_probs = activation::log_softmax(logits, 2).into_data();
    let log_probs: Vec<f64> = log_probs.iter::<f64>().collect();
    next.iter()
        .zip(log_probs.chunks(VOCAB_SIZE))
        .map(|(id, row)| row[*id as usize])
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_sentence_is_translated_the_same_alone_and_in_any_batch(
        sources in proptest::collection::vec(source(), 1..7),
        order: proptest::sample::Index,
        batch_tokens in 1_usize..120,
        search in searches(),
    ) {
        let (_, config, model) = random_model(VOCAB_SIZE);
        let limits = BatchLimits::for_model(&config);
        let mut sources = sources;
        let middle = order.index(sources.len());
        sources.rotate_left(middle);
        let limits = BatchLimits { batch_tokens, ..limits };
        let together = translate_ids(&model, &sources, &search, &limits);
        prop_assert_eq!(together.len(), sources.len());
        for (source, together) in sources.iter().zip(&together) {
            let alone = translate_ids(&model, &[source], &search, &limits).concat();
            prop_assert!(same(&alone, together), "{:?}\n{:?}", alone, together);
        }
    }

    #[test]
    fn the_score_of_a_search_is_that_of_one_pass_over_its_result(
        sources in proptest::collection::vec(source(), 1..5), search in searches(),
    ) {
        let (_, config, model) = random_model(VOCAB_SIZE);
        let limits = BatchLimits::for_model(&config);
        let search = Search { n_best: search.beam_size, ..search };
        let found = translate_ids(&model, &sources, &search, &limits);
        for (source, found) in sources.iter().zip(&found).filter(|(source, _)| !source.is_empty()) {
            for hypothesis in found {
                let expected = rescore(&model, source, hypothesis);
                prop_assert!((hypothesis.log_prob - expected).abs() < TOLERANCE);
            }
        }
    }
}

#[test]
fn the_devices_best_token_is_the_hosts() {
    let (_, _, model) = random_model(VOCAB_SIZE);
    let sources = [vec![4, 5, 6], vec![7]];
    let mut on_device = Scorer::new(&model, &sources);
    let mut on_host = Scorer::new(&model, &sources);
    let mut last_tokens = vec![BOS; 2];
    for _ in 0..5 {
        let best = on_device.best(&last_tokens);
        let log_probs = on_host.log_probs(&last_tokens);
        for (best, row) in best.iter().zip(log_probs.chunks(VOCAB_SIZE)) {
            let allowed = row[EOS as usize..]
                .iter()
                .copied()
                .fold(f32::NEG_INFINITY, f32::max);
            assert_eq!((best.log_prob, row[best.id as usize]), (allowed, allowed));
        }
        last_tokens = best.iter().map(|best| best.id).collect();
    }
}

#[test]
fn a_model_in_training_translates_as_one_out_of_training() {
    let (device, config, model) = random_model(VOCAB_SIZE);
    let limits = BatchLimits::for_model(&config);
    let training = config
        .init(&device.autodiff())
        .expect("the config describes a model")
        .load_record(model.clone().into_record());
    let sources = [vec![4, 5, 6, 9], vec![7, 12]];
    let found = translate_ids(&training, &sources, &Search::default(), &limits);
    assert_eq!(
        found,
        translate_ids(&model, &sources, &Search::default(), &limits)
    );
}
