//! Given translations get the scores that a search gives its hypotheses.

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::Tensor;
use proptest::prelude::*;
use transformer_core::Padded;
use transformer_core::text::{BOS, EOS};
use transformer_infer::search::Search;
use transformer_infer::{
    BatchLimits, PairScore, Translator, TranslatorError, score_ids, translate_ids,
};

use crate::model::{LINES, random_model, ruined_translator, tokenizers};

const VOCAB_SIZE: usize = 13;

/// For float32 sums in another order, over a few layers.
const TOLERANCE: f64 = 1e-4;

fn side() -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::vec(4..VOCAB_SIZE as u32, 0..9)
}

fn same(a: &PairScore, b: &PairScore) -> bool {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < TOLERANCE;
    a.ids == b.ids && a.log_probs.iter().zip(&b.log_probs).all(near)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn greedy_outputs_have_the_score_that_greedy_search_gave_them(
        sources in proptest::collection::vec(side(), 1..7),
    ) {
        let (_, config, model) = random_model(VOCAB_SIZE);
        let limits = BatchLimits::for_model(&config);
        let sources: Vec<_> = sources.into_iter().filter(|source| !source.is_empty()).collect();
        let found = translate_ids(&model, &sources, &Search::greedy(), &limits).concat();
        let pairs: Vec<_> = sources.iter().zip(&found).map(|(src, best)| (src, &best.ids)).collect();
        for (score, best) in score_ids(&model, &pairs, &limits).iter().zip(&found) {
            prop_assert_eq!(score.ids.len(), best.ids.len() + 1);
            // A search that was cut did not get to EOS.
            let n_found = best.ids.len() + usize::from(best.finished);
            let expected: f64 = score.log_probs[..n_found].iter().sum();
            // Each of up to 57 terms is rounded.
            let tolerance = TOLERANCE / 10.0 * (10 + n_found) as f64;
            let found = best.log_prob;
            prop_assert!((expected - found).abs() < tolerance, "{expected} {found} {n_found}");
        }
    }

    #[test]
    fn a_pair_is_scored_the_same_alone_and_in_any_batch(
        pairs in proptest::collection::vec((side(), side()), 1..7),
        batch_tokens in 1_usize..60,
    ) {
        let (_, config, model) = random_model(VOCAB_SIZE);
        let limits = BatchLimits { batch_tokens, ..BatchLimits::for_model(&config) };
        let together = score_ids(&model, &pairs, &limits);
        prop_assert_eq!(together.len(), pairs.len());
        for (pair, together) in pairs.iter().zip(&together) {
            let alone = score_ids(&model, std::slice::from_ref(pair), &limits);
            prop_assert!(same(&alone[0], together), "{:?}\n{:?}", alone, together);
        }
    }
}

#[test]
fn the_probabilities_of_all_first_tokens_sum_to_one() {
    let (_, config, model) = random_model(VOCAB_SIZE);
    let limits = BatchLimits::for_model(&config);
    let pairs: Vec<_> = (0..VOCAB_SIZE as u32)
        .map(|id| (vec![5, 9, 6], vec![id]))
        .collect();
    let scores = score_ids(&model, &pairs, &limits);
    let sum: f64 = scores.iter().map(|score| score.log_probs[0].exp()).sum();
    assert!((sum - 1.0).abs() < 1e-5, "{sum}");
    let ended = score_ids(&model, &[(vec![5, 9, 6], vec![])], &limits);
    assert_eq!(ended[0].ids, [EOS]);
    let eos = scores[EOS as usize].log_probs[0];
    assert!((ended[0].log_prob() - eos).abs() < TOLERANCE);
}

#[test]
fn a_translator_scores_text_as_its_tokens_and_blank_text_as_none() {
    let tokenizers = tokenizers();
    let (_, config, model) = random_model(tokenizers.src().vocab_size());
    let pairs = [(LINES[0], LINES[1]), (LINES[2], " \t"), ("", LINES[4])];
    let ids = |line: &str| tokenizers.src().encode(line);
    let expected = [
        (ids(LINES[0]), ids(LINES[1])),
        (ids(LINES[2]), Vec::new()),
        (Vec::new(), ids(LINES[4])),
    ];
    let expected = score_ids(&model, &expected, &BatchLimits::for_model(&config));
    let translator =
        Translator::new(model, &config, tokenizers).expect("the tokenizers are the model's");
    let scores = translator.score(&pairs).expect("the weights are finite");
    assert_eq!(scores, expected);
    assert_eq!(scores[0].ids.len(), LINES[1].len() + 1);
    assert_eq!(scores[1].ids, [EOS]);
}

#[test]
fn a_model_that_computes_nan_is_an_error_with_the_pair() {
    let error = ruined_translator()
        .score(&[("", ""), ("bad", "d")])
        .expect_err("NaN says nothing");
    assert!(matches!(error, TranslatorError::NotANumber { line: 1, .. }));
}

#[test]
#[should_panic(expected = "the source has the id 13, which is not in its vocabulary of 13 tokens")]
fn a_source_outside_of_the_vocabulary_panics() {
    let (_, config, model) = random_model(VOCAB_SIZE);
    let limits = BatchLimits::for_model(&config);
    let _ = score_ids(&model, &[(vec![5, 13], vec![6])], &limits);
}

#[test]
#[should_panic(expected = "the target has the id 99, which is not in its vocabulary of 13 tokens")]
fn a_target_outside_of_the_vocabulary_panics() {
    let (_, config, model) = random_model(VOCAB_SIZE);
    // The last token that is scored is looked up among the log-probabilities alone: nothing is predicted from it.
    let limits = BatchLimits {
        max_tgt_len: Some(2),
        ..BatchLimits::for_model(&config)
    };
    let _ = score_ids(&model, &[(vec![5], vec![6, 99])], &limits);
}

/// Multiplies every weight, so that logits are far apart.
struct Enlarge;

impl ModuleMapper for Enlarge {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|weights| weights * 60.0)
    }
}

#[test]
fn the_score_of_large_logits_is_exact_to_more_than_single_precision() {
    let (device, config, model) = random_model(VOCAB_SIZE);
    let model = model.map(&mut Enlarge);
    let src = vec![5, 9, 4];
    let tgt: Vec<u32> = (0..60).map(|index| 4 + index * 7 % 9).collect();
    let limits = BatchLimits::for_model(&config);
    let score = &score_ids(&model, &[(&src, &tgt)], &limits)[0];
    let src = Padded::new(&[[&src[..], &[EOS]].concat()], &device);
    let input = Padded::new(&[[&[BOS], &tgt[..]].concat()], &device);
    let logits = model.project(model.forward_features(&src, input.ids()));
    let logits: Vec<f64> = logits.into_data().iter::<f64>().collect();
    let mut expected = 0.0;
    for (row, id) in logits.chunks(VOCAB_SIZE).zip(&score.ids) {
        let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|logit| (logit - max).exp()).sum();
        expected += row[*id as usize] - max - sum.ln();
    }
    // Near such a number, neighbors in single precision differ by 1e-4 or more.
    assert!(expected < -1000.0, "{expected}");
    // Only the sums of exponentials are of single precision.
    let tolerance = 1e-6 * score.ids.len() as f64;
    assert!(
        (score.log_prob() - expected).abs() < tolerance,
        "{} {expected}",
        score.log_prob()
    );
}
