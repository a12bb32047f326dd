//! Tests of the plan: every sentence as often as it should, no batch over the budget, no memory.

use proptest::prelude::*;
use transformer_core::random::SplitMix64;

use super::*;

fn config(tokens_per_batch: usize, window: usize, seed: u64) -> PlanConfig {
    PlanConfig {
        tokens_per_batch,
        window,
        seed,
    }
}

/// Draws a number that is roughly normal, with mean 0 and deviation 1.
fn normal(draws: &mut SplitMix64) -> f64 {
    (0..12)
        .map(|_| draws.below(1_000_000) as f64 / 1e6)
        .sum::<f64>()
        - 6.0
}

/// Lengths as translations have them: log-normal, the two sides within a fifth of each other.
fn translation_lengths(n: usize, seed: u64) -> Vec<(u32, u32)> {
    let mut draws = SplitMix64::new(seed);
    (0..n)
        .map(|_| {
            let tgt = (3.1 + 0.6 * normal(&mut draws)).exp();
            let src = tgt * (0.2 * normal(&mut draws)).exp();
            (src.clamp(1.0, 250.0) as u32, tgt.clamp(1.0, 250.0) as u32)
        })
        .collect()
}

fn some_lengths() -> impl Strategy<Value = Vec<(u32, u32)>> {
    proptest::collection::vec((0_u32..40, 0_u32..40), 1..200)
}

proptest! {
    #[test]
    fn every_sentence_comes_exactly_once_a_pass(
        lengths in some_lengths(), budget in 40_usize..400, window in 1_usize..300, seed: u64,
    ) {
        let mut plan = Plan::new(&lengths, &config(budget, window, seed)).expect("they fit");
        let mut k = 0;
        for pass in 0..3 {
            let mut seen = Vec::new();
            for _ in 0..plan.updates_per_pass(pass) {
                prop_assert_eq!(plan.pass_of(k), pass);
                seen.extend_from_slice(plan.update(k));
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
        let mut plan = Plan::new(&lengths, &config(budget, window, seed)).expect("they fit");
        for k in 0..2 * plan.updates_per_pass(0) {
            let batch = plan.update(k);
            let widest = batch.iter().map(|&i| lengths[i as usize]).map(|(s, t)| s.max(t)).max();
            let width = widest.expect("batches have sentences") as usize + 1;
            prop_assert!(batch.len() * width <= budget);
        }
    }

    #[test]
    fn an_update_does_not_depend_on_what_was_asked_before(
        lengths in some_lengths(), seed: u64, asked in proptest::collection::vec(0_u64..60, 1..20),
    ) {
        let mut used = Plan::new(&lengths, &config(120, 50, seed)).expect("they fit");
        for k in asked {
            let mut fresh = Plan::new(&lengths, &config(120, 50, seed)).expect("they fit");
            prop_assert_eq!(used.update(k), fresh.update(k));
            prop_assert_eq!(used.target_tokens(k), fresh.target_tokens(k));
        }
    }
}

#[test]
fn target_tokens_count_the_end_token_of_every_sentence() {
    let mut plan = Plan::new(&[(3, 4), (3, 2)], &config(100, 10, 1)).expect("they fit");
    assert_eq!(plan.target_tokens(0), 5 + 3);
}

#[test]
fn padding_is_counted_on_both_sides() {
    // Widths 4 and 5 for the one, 4 and 3 for the other: 15 tokens in 2 × 4 + 2 × 5 cells.
    let mut plan = Plan::new(&[(3, 4), (3, 2)], &config(100, 10, 1)).expect("they fit");
    assert_eq!(plan.updates_per_pass(0), 1);
    assert!((plan.padding_share() - 2.0 / 18.0).abs() < 1e-12);
}

#[test]
fn padding_stays_below_a_tenth_on_lengths_of_translations() {
    let lengths = translation_lengths(30_000, 5);
    let plan = Plan::new(&lengths, &config(4096, 131_072, 1)).expect("they fit");
    assert!(plan.padding_share() < 0.1, "{}", plan.padding_share());
}

#[test]
fn batches_are_not_trained_on_from_short_to_long() {
    let lengths = translation_lengths(3000, 5);
    let mut plan = Plan::new(&lengths, &config(1024, 131_072, 1)).expect("they fit");
    let n_updates = plan.updates_per_pass(0);
    let sizes: Vec<usize> = (0..n_updates).map(|k| plan.update(k).len()).collect();
    let falls = sizes.windows(2).filter(|pair| pair[1] < pair[0]).count();
    assert!(
        (sizes.len() / 3..sizes.len() * 2 / 3).contains(&falls),
        "{falls} of {n_updates}"
    );
}

#[test]
fn passes_put_other_sentences_together() {
    let lengths = translation_lengths(30_000, 5);
    let mut plan = Plan::new(&lengths, &config(4096, 131_072, 1)).expect("they fit");
    let n_updates = plan.updates_per_pass(0);
    let mut batch_of = vec![0; lengths.len()];
    for k in 0..n_updates {
        for &sentence in plan.update(k) {
            batch_of[sentence as usize] = k;
        }
    }
    let (mut n_mates, mut n_again) = (0, 0);
    for k in n_updates..n_updates + plan.updates_per_pass(1) {
        let batch = plan.update(k);
        let earlier = |&sentence: &u32| batch_of[sentence as usize];
        n_mates += batch.len() - 1;
        n_again += batch[1..]
            .iter()
            .filter(|mate| earlier(mate) == earlier(&batch[0]))
            .count();
    }
    assert!(n_again * 4 < n_mates, "{n_again} of {n_mates}");
}

#[test]
fn seeds_give_other_plans() {
    let lengths = translation_lengths(500, 5);
    let mut one = Plan::new(&lengths, &config(512, 100, 1)).expect("they fit");
    let mut two = Plan::new(&lengths, &config(512, 100, 2)).expect("they fit");
    assert_ne!(one.update(0), two.update(0));
}

#[test]
fn a_sentence_over_the_budget_is_named() {
    let error = Plan::new(&[(3, 4), (30, 4)], &config(30, 10, 1)).expect_err("31 > 30");
    assert_eq!(
        error.to_string(),
        "sentence 1 alone takes 31 cells, more than `tokens_per_batch` (30); raise \
         `tokens_per_batch` to at least 31, or lower `max_len`"
    );
}

#[test]
fn nothing_to_plan_is_an_error() {
    assert_eq!(
        Plan::new(&[], &config(30, 10, 1)).err(),
        Some(PlanError::Empty)
    );
}

#[test]
fn a_window_of_no_sentences_is_an_error() {
    assert_eq!(
        Plan::new(&[(1, 1)], &config(30, 0, 1)).err(),
        Some(PlanError::ZeroWindow)
    );
}

/// Two corpora of five and of seven sentences.
fn weighted(weights: [f64; 2]) -> Result<Plan, PlanError> {
    let shares = [(5, weights[0]), (7, weights[1])].map(|(n_sentences, weight)| Share {
        n_sentences,
        weight,
    });
    Plan::weighted([(3, 4); 12].into(), &config(20, 10, 1), &shares)
}

/// Counts how often each sentence comes in these passes.
fn counts(plan: &mut Plan, n_passes: u64) -> Vec<u64> {
    let mut counts = vec![0; plan.n_sentences()];
    let n_updates: u64 = (0..n_passes).map(|pass| plan.updates_per_pass(pass)).sum();
    for k in 0..n_updates {
        for &sentence in plan.update(k) {
            counts[sentence as usize] += 1;
        }
    }
    counts
}

#[test]
fn whole_weights_are_exact_in_every_pass() {
    let mut plan = weighted([3.0, 1.0]).expect("the weights are fine");
    let expected = [vec![3; 5], vec![1; 7]].concat();
    assert_eq!(counts(&mut plan, 1), expected);
}

#[test]
fn every_sentence_comes_as_often_as_its_weight_says_on_average() {
    let mut plan = weighted([2.5, 0.3]).expect("the weights are fine");
    let n_passes = 2000;
    let counts = counts(&mut plan, n_passes);
    for (sentence, count) in counts.into_iter().enumerate() {
        let weight = if sentence < 5 { 2.5 } else { 0.3 };
        let mean = count as f64 / n_passes as f64;
        // The deviation of a mean of 2000 draws is at most 0.0112; five of them.
        assert!((mean - weight).abs() < 0.056, "{sentence}: {mean}");
    }
}

#[test]
fn weights_of_one_change_no_plan() {
    let lengths = translation_lengths(500, 5);
    let shares = [200, 300].map(|n_sentences| Share {
        n_sentences,
        weight: 1.0,
    });
    let config = config(512, 100, 1);
    let mut one = Plan::new(&lengths, &config).expect("they fit");
    let mut two = Plan::weighted(lengths.into(), &config, &shares).expect("they fit");
    let n_updates = one.updates_per_pass(0) + one.updates_per_pass(1);
    assert!((0..n_updates).all(|k| one.update(k) == two.update(k)));
}

#[test]
fn a_weighted_update_does_not_depend_on_what_was_asked_before() {
    let mut used = weighted([2.5, 0.3]).expect("the weights are fine");
    let mut fresh = weighted([2.5, 0.3]).expect("the weights are fine");
    used.update(90);
    assert_eq!(used.update(17), fresh.update(17));
}

#[test]
fn weights_that_leave_nothing_are_refused() {
    let error = weighted([0.1, 0.1]).expect_err("five tenths and seven tenths may both be none");
    assert_eq!(
        error.to_string(),
        "with these weights a pass has about 1.2 sentences; choose weights that make it 1 to 4,294,967,295"
    );
}

#[test]
fn a_plan_that_is_told_where_passes_begin_is_the_same_plan() {
    let lengths = translation_lengths(300, 5);
    let config = config(512, 100, 1);
    let mut counted = Plan::new(&lengths, &config).expect("they fit");
    let far = counted.updates_per_pass(0) * 7 / 2;
    let expected = counted.update(far).to_vec();
    let first_updates = counted.first_updates().to_vec();
    let mut told = Plan::new(&lengths, &config).expect("they fit");
    told.know(&first_updates);
    assert_eq!(told.first_updates(), first_updates);
    assert_eq!(told.update(far), expected);
    assert_eq!(told.pass_of(far), counted.pass_of(far));
}

#[test]
fn numbers_of_another_plan_are_left_alone() {
    let lengths = translation_lengths(300, 5);
    let plan = || Plan::new(&lengths, &config(512, 100, 1)).expect("they fit");
    let own = plan().first_updates().to_vec();
    for wrong in [
        vec![],
        vec![0],
        vec![0, own[1] + 1, own[1] + 9],
        vec![0, own[1], own[1]],
    ] {
        let mut told = plan();
        told.know(&wrong);
        assert_eq!(told.first_updates(), own);
    }
}
