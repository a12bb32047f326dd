//! Properties of searches with all options, with random tables as models.

use proptest::prelude::*;
use transformer_text::{BOS, EOS, N_SPECIAL, UNK};

use super::reference::exhaustive;
use super::table::Table;
use crate::{
    AtLimit, Hypothesis, LengthLimit, LengthPenalty, Request, Sampling, Search, StopRule,
    beam_search, greedy_search,
};

/// Number of tokens in the tables: three special ones, EOS, and three others.
pub(super) const VOCAB_SIZE: usize = N_SPECIAL + 3;

pub(super) fn token() -> impl Strategy<Value = u32> {
    N_SPECIAL as u32..VOCAB_SIZE as u32
}

fn penalties() -> impl Strategy<Value = LengthPenalty> {
    prop_oneof![
        Just(LengthPenalty::None),
        (0.0..1.5).prop_map(|alpha| LengthPenalty::Gnmt { alpha }),
        (0.0..1.5).prop_map(|alpha| LengthPenalty::Power { alpha }),
    ]
}

fn stop_rules() -> impl Strategy<Value = StopRule> {
    proptest::sample::select(StopRule::ALL.to_vec())
}

/// Each option is off in about half of the cases.
pub(super) fn searches() -> impl Strategy<Value = Search> {
    let ban = prop_oneof![token(), Just(EOS)];
    let banned = proptest::collection::vec(proptest::collection::vec(ban, 1..3), 0..3);
    let theta = prop_oneof![Just(1.0), 0.5..2.0];
    let beta = prop_oneof![Just(0.0), 0.0..1.0];
    let ngram = proptest::option::of(1_usize..4);
    let at_limit = proptest::sample::select(AtLimit::ALL.to_vec());
    let rules = (penalties(), stop_rules(), at_limit, any::<bool>());
    let options = (banned, ngram, theta, beta, rules);
    options.prop_map(
        |(banned, no_repeat_ngram, theta, beta, (penalty, stop, at_limit, renormalize))| Search {
            renormalize,
            length_penalty: penalty,
            stop,
            at_limit,
            coverage_penalty: beta,
            banned,
            no_repeat_ngram,
            repetition_penalty: theta,
            ..Search::default()
        },
    )
}

pub(super) fn requests(longest: usize) -> impl Strategy<Value = Request> {
    let prefix = prop_oneof![Just(vec![]), proptest::collection::vec(token(), 0..3)];
    let min_len = prop_oneof![Just(0), 0..longest + 2];
    (0..=longest, min_len, prefix, 0_u64..9).prop_map(|(max_len, min_len, prefix, index)| Request {
        max_len,
        min_len,
        prefix,
        index,
        ..Request::default()
    })
}

pub(super) fn beam(beam_size: usize, search: Search) -> Search {
    Search {
        beam_size,
        n_best: beam_size,
        ..search
    }
}

/// Returns whether a search found what the reference expects, up to rounding.
pub(super) fn same(found: &[Hypothesis], expected: &[Hypothesis], search: &Search) -> bool {
    let near = |a: f64, b: f64, most: f64| (a - b).abs() < most;
    let is_same = |a: &Hypothesis, b: &Hypothesis, most: f64| {
        a.token_log_probs == b.token_log_probs
            && near(a.log_prob, b.log_prob, 1e-9)
            && near(a.score, b.score, most)
            && a.ids == b.ids
            && a.finished == b.finished
            && a.n_phrases_met == b.n_phrases_met
    };
    let mut pairs = found.iter().zip(expected);
    if !search.renormalizes() {
        // Sums of the same values in another order.
        return found.len() == expected.len() && pairs.all(|(a, b)| is_same(a, b, 1e-9));
    }
    // The total probability is 1 minus that of forbidden tokens, or a sum of 32-bit numbers that is not exactly 1. So two
    // hypotheses that are nearly as good may swap places: each is compared with the one of the same tokens.
    let most = |it: &Hypothesis| 1e-5 * (1 + it.token_log_probs.len()) as f64;
    let has_twin = |it: &Hypothesis| expected.iter().any(|other| is_same(it, other, most(it)));
    found.len() == expected.len()
        && found.iter().all(has_twin)
        && pairs.all(|(a, b)| near(a.score, b.score, most(a)))
}

proptest! {
    #[test]
    fn a_beam_wide_enough_finds_everything_that_is_allowed_in_order(
        seed: u64, request in requests(4), search in searches(),
    ) {
        let mut table = Table::random(seed, &[0], VOCAB_SIZE);
        let all = exhaustive(&table, VOCAB_SIZE as u32, &request, &search);
        // A beam of one would be greedy search.
        let search = beam(all.len().max(2), search);
        let found = beam_search(&mut table, &[request], &search).concat();
        prop_assert!(same(&found, &all, &search), "{found:?}\n{all:?}");
    }

    #[test]
    fn a_beam_of_one_is_greedy_search_with_every_option(
        seed: u64, requests in proptest::collection::vec(requests(9), 1..4), search in searches(),
    ) {
        let sentences: Vec<u64> = (0..requests.len() as u64).collect();
        let table = Table::random(seed, &sentences, VOCAB_SIZE);
        let search = beam(1, search);
        let greedy = greedy_search(&mut table.clone(), &requests, &search);
        let beam = beam_search(&mut table.clone(), &requests, &search);
        prop_assert_eq!(beam.concat(), greedy);
    }

    #[test]
    fn the_hypotheses_do_not_depend_on_how_many_are_returned_with_every_option(
        seed: u64, request in requests(7), search in searches(), n_best in 1_usize..4, drawn: bool,
    ) {
        let sampling = drawn.then(Sampling::default);
        let all = beam(4, Search { sampling, ..search });
        let few = Search { n_best, ..all.clone() };
        let table = Table::random(seed, &[0], VOCAB_SIZE);
        let requests = [request];
        let all = all.run(&mut table.clone(), &requests).concat();
        let few = few.run(&mut table.clone(), &requests).concat();
        prop_assert_eq!(&all[..n_best.min(all.len())], &few[..]);
    }

    #[test]
    fn the_result_for_a_sentence_does_not_depend_on_its_batch_with_every_option(
        seed: u64, beam_size in 1_usize..5, search in searches(), drawn: bool,
        requests in proptest::collection::vec(requests(7), 1..6), index: proptest::sample::Index,
    ) {
        let sampling = drawn.then(Sampling::default);
        let search = Search { sampling, ..beam(beam_size, search) };
        let index = index.index(requests.len());
        let sentences: Vec<u64> = (0..requests.len() as u64).collect();
        let alone = search.run(
            &mut Table::random(seed, &[index as u64], VOCAB_SIZE), &[requests[index].clone()],
        );
        let together = search.run(&mut Table::random(seed, &sentences, VOCAB_SIZE), &requests);
        prop_assert_eq!(&together[index], &alone[0]);
    }

    #[test]
    fn the_log_probabilities_are_those_of_the_model_whatever_the_options(
        seed: u64, beam_size in 1_usize..5, search in searches(), request in requests(7), drawn: bool,
    ) {
        let sampling = drawn.then(|| Sampling { temperature: 0.7, top_k: Some(2), ..Sampling::default() });
        let search = Search { sampling, ..beam(beam_size, search) };
        let table = Table::random(seed, &[0], VOCAB_SIZE);
        for found in search.run(&mut table.clone(), &[request]).concat() {
            let mut tokens = found.ids.clone();
            tokens.extend(found.finished.then_some(EOS));
            let mut seen = vec![BOS];
            let given = tokens.iter().map(|id| {
                let log_prob = table.row(0, &seen)[*id as usize];
                seen.push(*id);
                log_prob
            });
            prop_assert_eq!(&given.collect::<Vec<f32>>(), &found.token_log_probs);
            let sum: f64 = found.token_log_probs.iter().map(|it| f64::from(*it)).sum();
            prop_assert!((sum - found.log_prob).abs() < 1e-9);
        }
    }
}

/// Searches a chain of tokens that then ends.
fn on_chain(search: &Search, request: Request) -> Vec<Hypothesis> {
    search
        .run(&mut Table::chain(&[4, 5, EOS]), &[request])
        .concat()
}

#[test]
fn a_forced_prefix_may_contain_tokens_that_are_never_generated() {
    let request = Request {
        prefix: vec![UNK, 5],
        ..Request::up_to(9)
    };
    for search in [Search::greedy(), Search::default()] {
        let found = on_chain(&search, request.clone());
        assert_eq!(found[0].ids, [UNK, 5]);
        assert_eq!(found[0].token_log_probs.len(), 3);
    }
}

#[test]
fn free_tokens_of_a_prefix_have_the_log_probability_0() {
    let request = Request {
        prefix: vec![UNK, 5],
        n_free: 1,
        ..Request::up_to(9)
    };
    for search in [Search::greedy(), Search::default()] {
        let found = on_chain(&search, request.clone());
        let log_probs = &found[0].token_log_probs;
        assert_eq!(log_probs[0], 0.0);
        assert!(log_probs[1] < 0.0, "{log_probs:?}");
        let sum: f64 = log_probs.iter().copied().map(f64::from).sum();
        assert!((found[0].log_prob - sum).abs() < 1e-6);
    }
}

#[test]
fn eos_in_a_forced_prefix_ends_the_output() {
    let request = Request {
        prefix: vec![5, EOS, 4],
        ..Request::up_to(9)
    };
    for search in [Search::greedy(), Search::default()] {
        let found = on_chain(&search, request.clone());
        assert_eq!(
            (found[0].ids.as_slice(), found[0].finished),
            (&[5][..], true)
        );
    }
}

#[test]
fn a_forced_prefix_longer_than_the_limit_is_cut() {
    let request = Request {
        prefix: vec![5, 5, 5],
        ..Request::up_to(2)
    };
    for search in [Search::greedy(), Search::default()] {
        let found = on_chain(&search, request.clone());
        assert_eq!(
            (found[0].ids.as_slice(), found[0].finished),
            (&[5, 5][..], false)
        );
    }
}

#[test]
fn the_output_is_empty_if_every_token_is_banned() {
    let search = Search {
        banned: vec![vec![4], vec![5], vec![EOS]],
        min_len: LengthLimit {
            factor: 0.0,
            extra: 4,
        },
        ..Search::default()
    };
    let mut greedy = Search {
        beam_size: 1,
        ..search.clone()
    };
    for search in [search.clone(), greedy.clone()] {
        let found = on_chain(&search, search.request(3));
        assert_eq!(
            (found[0].ids.as_slice(), found[0].finished),
            (&[][..], true)
        );
    }
    greedy.sampling = Some(Sampling::default());
    let drawn = on_chain(&greedy, greedy.request(3));
    assert!(drawn[0].ids.is_empty() && drawn[0].finished);
}

#[test]
fn ngrams_longer_than_the_output_forbid_nothing() {
    let search = Search {
        no_repeat_ngram: Some(usize::MAX),
        ..Search::default()
    };
    let expected = on_chain(&Search::default(), Request::up_to(9));
    assert_eq!(on_chain(&search, Request::up_to(9)), expected);
}

#[test]
fn the_largest_repetition_penalty_produces_no_nan() {
    let search = Search {
        repetition_penalty: f64::MAX,
        ..Search::default()
    };
    let found = search.run(&mut Table::chain(&[4; 20]), &[Request::up_to(12)]);
    assert!(
        found
            .concat()
            .iter()
            .all(|it| it.log_prob.is_finite() && !it.score.is_nan())
    );
}

#[test]
fn sampling_at_a_low_temperature_is_greedy_search() {
    let cold = Search {
        sampling: Some(Sampling {
            temperature: 1e-9,
            ..Sampling::default()
        }),
        ..Search::default()
    };
    let table = Table::random(5, &[0, 1, 2], 9);
    let requests = vec![Request::up_to(8); 3];
    let found = cold.run(&mut table.clone(), &requests).concat();
    assert_eq!(found, greedy_search(&mut table.clone(), &requests, &cold));
}

#[test]
fn samples_differ_from_each_other_and_from_those_of_an_equal_sentence() {
    let search = Search {
        n_best: 3,
        sampling: Some(Sampling::default()),
        ..Search::default()
    };
    // The same sentence twice in the input.
    let requests = [0, 1].map(|index| Request {
        index,
        ..Request::up_to(20)
    });
    let found = search
        .run(&mut Table::random(5, &[0, 0], 30), &requests)
        .concat();
    let ids: Vec<&[u32]> = found.iter().map(|it| it.ids.as_slice()).collect();
    assert!(
        (0..6).all(|index| !ids[..index].contains(&ids[index])),
        "{ids:?}"
    );
}

#[test]
fn samples_are_as_frequent_as_they_are_likely() {
    let n_samples = Search::MOST_HYPOTHESES;
    let search = Search {
        n_best: n_samples,
        sampling: Some(Sampling::default()),
        ..Search::default()
    };
    let table = Table::random(8, &[0], 6);
    let found = search
        .run(&mut table.clone(), &[Request::up_to(2)])
        .concat();
    // The sum of the probabilities of the allowed tokens, which are all but the special ones.
    let allowed = |log_probs: &[f32]| {
        log_probs[EOS as usize..]
            .iter()
            .map(|it| it.exp())
            .sum::<f32>()
    };
    for id in [4, 5] {
        let first = table.row(0, &[BOS]);
        let second = table.row(0, &[BOS, id]);
        let expected = first[id as usize].exp() / allowed(&first) * second[EOS as usize].exp()
            / allowed(&second);
        let n_found = found
            .iter()
            .filter(|it| it.ids == [id] && it.finished)
            .count();
        let share = n_found as f32 / n_samples as f32;
        // Five standard deviations of the widest share.
        assert!((share - expected).abs() < 5.0 * 0.5 / (n_samples as f32).sqrt());
    }
}

#[test]
fn a_coverage_penalty_adds_beta_times_the_coverage() {
    let search = Search {
        length_penalty: LengthPenalty::None,
        coverage_penalty: 0.5,
        ..Search::default()
    };
    let found = on_chain(&search, Request::up_to(9));
    // The total attention of BOS, 4 and 5 to the three source tokens is 0.25, 1 and 1.75.
    let best = found.iter().find(|it| it.ids == [4, 5]);
    let best = best.expect("every token of it has a probability of 0.9");
    assert!((best.score - best.log_prob - 0.5 * 0.25_f64.ln()).abs() < 1e-9);
}

#[test]
#[should_panic(expected = "no_repeat_ngram")]
fn an_invalid_search_panics_before_it_starts() {
    let search = Search {
        no_repeat_ngram: Some(0),
        ..Search::default()
    };
    let _ = on_chain(&search, Request::up_to(9));
}
