//! Tests of the plan: how often sentences are used, batch sizes, and independence of earlier
//! requests.

use proptest::prelude::*;
use transformer_core::random::SplitMix64;

use super::{CorpusWeight, Plan};
use crate::config::TrainingSettings;
use crate::error::TrainError;

fn training(tokens_per_batch: usize, window: usize, seed: u64) -> TrainingSettings {
    TrainingSettings {
        tokens_per_batch,
        window,
        seed,
        ..TrainingSettings::default()
    }
}

fn new_plan(lengths: &[(u32, u32)], training: &TrainingSettings) -> Plan {
    Plan::new(lengths, training).expect("every sentence is within the budget")
}

/// Draws from an approximation of the standard normal distribution.
fn normal(rng: &mut SplitMix64) -> f64 {
    (0..12)
        .map(|_| rng.below(1_000_000) as f64 / 1e6)
        .sum::<f64>()
        - 6.0
}

/// Returns lengths distributed as in translations: log-normal, the ratio of the two sides too.
fn translation_lengths(n: usize, seed: u64) -> Vec<(u32, u32)> {
    let mut rng = SplitMix64::new(seed);
    (0..n)
        .map(|_| {
            let tgt = (3.1 + 0.6 * normal(&mut rng)).exp();
            let src = tgt * (0.2 * normal(&mut rng)).exp();
            (src.clamp(1.0, 250.0) as u32, tgt.clamp(1.0, 250.0) as u32)
        })
        .collect()
}

fn some_lengths() -> impl Strategy<Value = Vec<(u32, u32)>> {
    proptest::collection::vec((0_u32..40, 0_u32..40), 1..200)
}

proptest! {
    #[test]
    fn a_pass_uses_every_sentence_exactly_once(
        lengths in some_lengths(), budget in 40_usize..400, window in 1_usize..300, seed: u64,
    ) {
        let mut plan = new_plan(&lengths, &training(budget, window, seed));
        let mut k = 0;
        for pass in 0..3 {
            let mut seen = Vec::new();
            for _ in 0..plan.batches_per_pass(pass) {
                prop_assert_eq!(plan.pass_of(k), pass);
                seen.extend_from_slice(plan.batch(k));
                k += 1;
            }
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..lengths.len() as u32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_batch_is_empty_or_over_the_budget(
        lengths in some_lengths(), budget in 40_usize..400, window in 1_usize..300, seed: u64,
    ) {
        let mut plan = new_plan(&lengths, &training(budget, window, seed));
        for k in 0..2 * plan.batches_per_pass(0) {
            let batch = plan.batch(k);
            let widest = batch.iter().map(|&i| lengths[i as usize]).map(|(s, t)| s.max(t)).max();
            let width = widest.expect("batches have sentences") as usize + 1;
            prop_assert!(batch.len() * width <= budget);
        }
    }

    #[test]
    fn a_batch_does_not_depend_on_earlier_requests(
        lengths in some_lengths(), seed: u64,
        requests in proptest::collection::vec(0_u64..60, 1..20),
    ) {
        let mut used = new_plan(&lengths, &training(120, 50, seed));
        for k in requests {
            let mut fresh = new_plan(&lengths, &training(120, 50, seed));
            prop_assert_eq!(used.batch(k), fresh.batch(k));
        }
    }
}

#[test]
fn padding_is_counted_on_both_sides() {
    // With end tokens 4 and 5 for one pair, 4 and 3 for the other: 16 tokens of 2 × 4 + 2 × 5.
    let mut plan = new_plan(&[(3, 4), (3, 2)], &training(100, 10, 1));
    assert_eq!(plan.batches_per_pass(0), 1);
    assert!((plan.padding_fraction() - 2.0 / 18.0).abs() < 1e-12);
}

#[test]
fn padding_is_below_a_tenth_for_the_lengths_of_translations() {
    let lengths = translation_lengths(30_000, 5);
    let plan = new_plan(&lengths, &training(4096, 131_072, 1));
    assert!(plan.padding_fraction() < 0.1, "{}", plan.padding_fraction());
}

#[test]
fn batches_are_not_sorted_by_length() {
    let lengths = translation_lengths(3000, 5);
    let mut plan = new_plan(&lengths, &training(1024, 131_072, 1));
    let n_batches = plan.batches_per_pass(0);
    let sizes: Vec<usize> = (0..n_batches).map(|k| plan.batch(k).len()).collect();
    let n_decreases = sizes.windows(2).filter(|pair| pair[1] < pair[0]).count();
    assert!(
        (sizes.len() / 3..sizes.len() * 2 / 3).contains(&n_decreases),
        "{n_decreases} of {n_batches}"
    );
}

#[test]
fn batch_mates_vary_from_pass_to_pass() {
    let lengths = translation_lengths(30_000, 5);
    let mut plan = new_plan(&lengths, &training(4096, 131_072, 1));
    let n_batches = plan.batches_per_pass(0);
    let mut batch_of = vec![0; lengths.len()];
    for k in 0..n_batches {
        for &sentence in plan.batch(k) {
            batch_of[sentence as usize] = k;
        }
    }
    let (mut n_mates, mut n_repeated) = (0, 0);
    for k in n_batches..n_batches + plan.batches_per_pass(1) {
        let batch = plan.batch(k);
        let earlier = |&sentence: &u32| batch_of[sentence as usize];
        n_mates += batch.len() - 1;
        n_repeated += batch[1..]
            .iter()
            .filter(|mate| earlier(mate) == earlier(&batch[0]))
            .count();
    }
    assert!(n_repeated * 4 < n_mates, "{n_repeated} of {n_mates}");
}

#[test]
fn different_seeds_give_different_plans() {
    let lengths = translation_lengths(500, 5);
    let mut one = new_plan(&lengths, &training(512, 100, 1));
    let mut two = new_plan(&lengths, &training(512, 100, 2));
    assert_ne!(one.batch(0), two.batch(0));
}

#[test]
fn the_error_names_the_sentence_over_the_budget() {
    let error = Plan::new(&[(3, 4), (30, 4)], &training(30, 10, 1)).expect_err("31 > 30");
    assert_eq!(
        error.to_string(),
        "sentence 1 alone has 31 tokens, more than `tokens_per_batch` (30); raise \
         `tokens_per_batch` to at least 31, or lower `max_len`"
    );
}

#[test]
fn an_empty_corpus_is_an_error() {
    assert!(matches!(
        Plan::new(&[], &training(30, 10, 1)),
        Err(TrainError::NoSentences)
    ));
}

#[test]
fn an_empty_window_is_an_error() {
    assert!(matches!(
        Plan::new(&[(1, 1)], &training(30, 0, 1)),
        Err(TrainError::ZeroWindow)
    ));
}

/// Plans two corpora, of five and of seven sentences.
fn weighted(weights: [f64; 2]) -> Result<Plan, TrainError> {
    let weights = [(5, weights[0]), (7, weights[1])].map(|(n_sentences, weight)| CorpusWeight {
        n_sentences,
        weight,
    });
    Plan::weighted([(3, 4); 12].into(), &training(20, 10, 1), &weights)
}

/// Counts the uses of each sentence in the first passes.
fn counts(plan: &mut Plan, n_passes: u64) -> Vec<u64> {
    let mut counts = vec![0; 12];
    let n_batches: u64 = (0..n_passes).map(|pass| plan.batches_per_pass(pass)).sum();
    for k in 0..n_batches {
        for &sentence in plan.batch(k) {
            counts[sentence as usize] += 1;
        }
    }
    counts
}

#[test]
fn integer_weights_are_exact_in_every_pass() {
    let mut plan = weighted([3.0, 1.0]).expect("no pass is empty");
    let expected = [vec![3; 5], vec![1; 7]].concat();
    assert_eq!(counts(&mut plan, 1), expected);
}

#[test]
fn the_mean_number_of_uses_is_the_weight() {
    let mut plan = weighted([2.5, 0.3]).expect("no pass is empty");
    let n_passes = 2000;
    let counts = counts(&mut plan, n_passes);
    for (sentence, count) in counts.into_iter().enumerate() {
        let weight = if sentence < 5 { 2.5 } else { 0.3 };
        let mean = count as f64 / n_passes as f64;
        // The standard deviation of a mean of 2000 rng is at most 0.0112; five of them.
        assert!((mean - weight).abs() < 0.056, "{sentence}: {mean}");
    }
}

#[test]
fn weights_of_one_give_the_unweighted_plan() {
    let lengths = translation_lengths(500, 5);
    let weights = [200, 300].map(|n_sentences| CorpusWeight {
        n_sentences,
        weight: 1.0,
    });
    let training = training(512, 100, 1);
    let mut one = new_plan(&lengths, &training);
    let mut two = Plan::weighted(lengths.into(), &training, &weights)
        .expect("every sentence is within the budget");
    let n_batches = one.batches_per_pass(0) + one.batches_per_pass(1);
    assert!((0..n_batches).all(|k| one.batch(k) == two.batch(k)));
}

#[test]
fn a_weighted_batch_does_not_depend_on_earlier_requests() {
    let mut used = weighted([2.5, 0.3]).expect("no pass is empty");
    let mut fresh = weighted([2.5, 0.3]).expect("no pass is empty");
    used.batch(90);
    assert_eq!(used.batch(17), fresh.batch(17));
}

#[test]
fn weights_that_allow_an_empty_pass_are_an_error() {
    let error = weighted([0.1, 0.1]).expect_err("0.5 and 0.7 sentences may both round down");
    assert_eq!(
        error.to_string(),
        "with these weights a pass has about 1.2 sentences; choose weights that make it 1 to 4,294,967,295"
    );
}

#[test]
fn restored_pass_starts_do_not_change_the_plan() {
    let lengths = translation_lengths(300, 5);
    let training = training(512, 100, 1);
    let mut counted = new_plan(&lengths, &training);
    let distant = counted.batches_per_pass(0) * 7 / 2;
    let expected = counted.batch(distant).to_vec();
    let pass_starts = counted.pass_starts().to_vec();
    let mut restored = new_plan(&lengths, &training);
    restored.restore_pass_starts(&pass_starts);
    assert_eq!(restored.pass_starts(), pass_starts);
    assert_eq!(restored.batch(distant), expected);
    assert_eq!(restored.pass_of(distant), counted.pass_of(distant));
}

#[test]
fn pass_starts_of_a_different_plan_are_ignored() {
    let lengths = translation_lengths(300, 5);
    let plan = || new_plan(&lengths, &training(512, 100, 1));
    let own = plan().pass_starts().to_vec();
    for wrong in [
        vec![],
        vec![0],
        vec![0, own[1] + 1, own[1] + 9],
        vec![0, own[1], own[1]],
    ] {
        let mut restored = plan();
        restored.restore_pass_starts(&wrong);
        assert_eq!(restored.pass_starts(), own);
    }
}
