//! Properties of [`beam_search`], with random tables as models.

use proptest::prelude::*;
use transformer_text::EOS;

use super::reference::{continuations, exhaustive, hypothesis, sort};
use super::table::Table;
use crate::{
    AtLimit, Hypothesis, LengthPenalty, NEVER_GENERATED, NextToken, Request, ScoredToken, Search,
    StopRule, beam_search, greedy_search, log_prob_without,
};

/// A table that implements [`NextToken::top_k`], as the Transformer does.
struct WithTopK {
    table: Table,
    /// Number of calls of `top_k`.
    n_calls: usize,
}

impl WithTopK {
    fn new(table: Table) -> Self {
        Self { table, n_calls: 0 }
    }
}

impl NextToken for WithTopK {
    fn n_rows(&self) -> usize {
        self.table.n_rows()
    }

    fn vocab_size(&self) -> usize {
        self.table.vocab_size()
    }

    fn log_probs(&mut self, last_tokens: &[u32]) -> Vec<f32> {
        self.table.log_probs(last_tokens)
    }

    fn top_k(
        &mut self,
        last_tokens: &[u32],
        k: usize,
        without: Option<&[u32]>,
    ) -> Option<Vec<Vec<ScoredToken>>> {
        self.n_calls += 1;
        let log_probs = self.log_probs(last_tokens);
        let rows = log_probs.chunks(self.vocab_size()).map(|row| {
            let allowed = without.map(|without| ScoredToken {
                id: 0,
                log_prob: log_prob_without(&row.iter().copied(), without),
            });
            likeliest(row, k).into_iter().chain(allowed).collect()
        });
        Some(rows.collect())
    }

    fn select(&mut self, rows: &[usize]) {
        self.table.select(rows);
    }
}

/// Returns the `k` likeliest tokens of a row in the order of [`NextToken::top_k`].
fn likeliest(row: &[f32], k: usize) -> Vec<ScoredToken> {
    let tokens = (0..).zip(row).map(|(id, log_prob)| ScoredToken {
        id,
        log_prob: *log_prob,
    });
    let mut tokens: Vec<_> = tokens
        .filter(|token| token.log_prob.is_finite() && !NEVER_GENERATED.contains(&token.id))
        .collect();
    tokens.sort_by(|a, b| b.log_prob.total_cmp(&a.log_prob));
    tokens.truncate(k);
    tokens
}

/// Searches by sorting all continuations at each step, until `is_enough` accepts the number of finished hypotheses.
fn by_sorting(
    table: &Table,
    vocab_size: u32,
    request: &Request,
    search: &Search,
    is_enough: impl Fn(usize) -> bool,
) -> Vec<Hypothesis> {
    let beam_size = search.beam_size;
    let mut finished = Vec::new();
    let mut beam = vec![Vec::new()];
    for n_tokens in 1..=request.max_len {
        let mut candidates = Vec::new();
        for ids in &beam {
            for id in continuations(ids, vocab_size, request, search) {
                let grown = [ids.as_slice(), &[id]].concat();
                let scored = hypothesis(table, &grown, request, search);
                candidates.push((scored.log_prob, grown, scored));
            }
        }
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0));
        let best = candidates.iter().take(beam_size);
        finished.extend(best.map(|(_, _, it)| it.clone()).filter(|it| it.finished));
        let competes = search.at_limit == AtLimit::Compete && n_tokens == request.max_len;
        if competes {
            candidates.truncate(beam_size);
        }
        let grown = candidates.into_iter().filter(|(_, _, it)| !it.finished);
        beam = grown.take(beam_size).map(|(_, ids, _)| ids).collect();
        if is_enough(finished.len()) && !competes {
            beam.clear();
        }
    }
    let cut = beam.iter();
    finished.extend(cut.map(|ids| hypothesis(table, ids, request, search)));
    sort(&mut finished, search);
    finished.truncate(beam_size);
    finished
}

fn up_to(max_lens: &[usize]) -> Vec<Request> {
    max_lens.iter().map(|len| Request::up_to(*len)).collect()
}

fn penalties() -> impl Strategy<Value = LengthPenalty> {
    prop_oneof![
        Just(LengthPenalty::None),
        (0.0..1.5).prop_map(|alpha| LengthPenalty::Gnmt { alpha }),
        (0.0..1.5).prop_map(|alpha| LengthPenalty::Power { alpha }),
    ]
}

fn coverage_penalties() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.1..3.0]
}

fn limit_rules() -> impl Strategy<Value = AtLimit> {
    proptest::sample::select(AtLimit::ALL.to_vec())
}

fn search(beam_size: usize, length_penalty: LengthPenalty) -> Search {
    Search {
        beam_size,
        length_penalty,
        n_best: beam_size,
        ..Search::default()
    }
}

proptest! {
    #[test]
    fn a_beam_wide_enough_finds_everything_in_order(
        seed: u64, max_len in 0_usize..5, penalty in penalties(),
    ) {
        let mut table = Table::random(seed, &[0], 6);
        let request = Request::up_to(max_len);
        let all = exhaustive(&table, 6, &request, &search(1, penalty));
        let found = beam_search(&mut table, &[request], &search(all.len(), penalty));
        prop_assert_eq!(&found[0], &all);
    }

    #[test]
    fn a_beam_of_one_is_greedy_search(seed: u64, max_len in 0_usize..12, penalty in penalties()) {
        let table = Table::random(seed, &[0, 1, 2], 7);
        let requests = up_to(&[max_len, 5, max_len / 2]);
        let greedy = greedy_search(&mut table.clone(), &requests, &search(1, penalty));
        let beam = beam_search(&mut table.clone(), &requests, &search(1, penalty));
        prop_assert_eq!(beam.concat(), greedy);
    }

    #[test]
    fn the_result_for_a_sentence_does_not_depend_on_its_batch(
        seed: u64, beam_size in 1_usize..5, penalty in penalties(),
        others in proptest::sample::subsequence(vec![1_u64, 2, 3, 4, 5], 0..=5),
        index in 0_usize..6,
    ) {
        let index = index.min(others.len());
        let mut sentences = others;
        sentences.insert(index, 9);
        let max_lens: Vec<usize> = sentences.iter().map(|sentence| *sentence as usize % 4 + 5).collect();
        let search = search(beam_size, penalty);
        let alone = search.run(&mut Table::random(seed, &[9], 9), &up_to(&[6]));
        let together = search.run(&mut Table::random(seed, &sentences, 9), &up_to(&max_lens));
        prop_assert_eq!(&together[index], &alone[0]);
    }

    #[test]
    fn finished_hypotheses_are_first_and_both_kinds_are_sorted(
        seed: u64, beam_size in 1_usize..6, max_len in 0_usize..8, penalty in penalties(),
    ) {
        let mut table = Table::random(seed, &[0], 8);
        let found = beam_search(&mut table, &up_to(&[max_len]), &search(beam_size, penalty)).concat();
        prop_assert!(!found.is_empty() && found.len() <= beam_size);
        let sorted = found.is_sorted_by(|a, b| {
            (a.finished && !b.finished) || (a.finished == b.finished && a.score >= b.score)
        });
        prop_assert!(sorted, "{:?}", found);
    }

    #[test]
    fn a_model_with_top_k_finds_the_same_hypotheses(
        seed: u64, beam_size in 1_usize..6, max_len in 2_usize..9, penalty in penalties(),
        at_limit in limit_rules(), prefix in proptest::collection::vec(4_u32..8, 0..2),
        min_lens in proptest::array::uniform3(0_usize..9), renormalize: bool,
    ) {
        let mut table = Table::random(seed, &[0, 1, 2], 40);
        let mut requests = up_to(&[max_len, 6, 3]);
        for (request, min_len) in requests.iter_mut().zip(min_lens) {
            request.min_len = min_len;
        }
        // Forced tokens, limits and minimum lengths may need whole rows: a short search may never call `top_k`.
        let must_call = prefix.is_empty() && (!renormalize || min_lens == [0; 3]);
        requests[1].prefix = prefix;
        let search = Search { at_limit, renormalize, ..search(beam_size, penalty) };
        let expected = beam_search(&mut table.clone(), &requests, &search);
        let mut model = WithTopK::new(table.clone());
        // Through two pointers, as a boxed model is called.
        prop_assert_eq!(beam_search(&mut &mut model, &requests, &search), expected);
        prop_assert!(model.n_calls > 0 || !must_call);
        let greedy = greedy_search(&mut WithTopK::new(table.clone()), &requests, &search);
        prop_assert_eq!(greedy, greedy_search(&mut table, &requests, &search));
    }

    #[test]
    fn equally_likely_tokens_are_chosen_in_the_same_order(beam_size in 1_usize..6) {
        let table = Table::chain(&[5, 4, 4, EOS]);
        let search = search(beam_size, LengthPenalty::None);
        let expected = beam_search(&mut table.clone(), &up_to(&[6]), &search);
        let found = beam_search(&mut WithTopK::new(table), &up_to(&[6]), &search);
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn the_hypotheses_do_not_depend_on_how_many_are_returned(
        seed: u64, n_best in 1_usize..4, penalty in penalties(),
    ) {
        let table = Table::random(seed, &[0, 1], 8);
        let all = beam_search(&mut table.clone(), &up_to(&[6, 7]), &search(4, penalty));
        let few = Search { n_best, ..search(4, penalty) };
        let few = beam_search(&mut table.clone(), &up_to(&[6, 7]), &few);
        for (all, few) in all.iter().zip(&few) {
            prop_assert_eq!(&all[..n_best.min(all.len())], &few[..]);
        }
    }

    #[test]
    fn special_tokens_are_never_generated(seed: u64, beam_size in 1_usize..9) {
        let mut table = Table::random(seed, &[0], 5);
        let found = beam_search(&mut table, &up_to(&[6]), &search(beam_size, LengthPenalty::None)).concat();
        prop_assert!(found.iter().flat_map(|hypothesis| &hypothesis.ids).all(|id| *id == 4));
    }
}

proptest! {
    // Only few of the tables have a hypothesis that a wrong rule would lose.
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn without_a_penalty_stopping_early_loses_nothing(
        seed: u64, beam_size in 1_usize..5, at_limit in limit_rules(),
    ) {
        let table = Table::random(seed, &[0], 7);
        let search = Search { at_limit, ..search(beam_size, LengthPenalty::None) };
        let found = beam_search(&mut table.clone(), &up_to(&[12]), &search).concat();
        prop_assert_eq!(found, by_sorting(&table, 7, &Request::up_to(12), &search, |_| false));
    }

    #[test]
    fn the_rule_never_loses_nothing_with_any_penalty(
        seed: u64, beam_size in 2_usize..5, max_len in 1_usize..12, penalty in penalties(),
        at_limit in limit_rules(), coverage_penalty in coverage_penalties(),
    ) {
        let table = Table::random(seed, &[0], 7);
        let search = Search { stop: StopRule::Never, at_limit, coverage_penalty, ..search(beam_size, penalty) };
        let found = beam_search(&mut table.clone(), &up_to(&[max_len]), &search).concat();
        let request = Request::up_to(max_len);
        prop_assert_eq!(found, by_sorting(&table, 7, &request, &search, |_| false));
    }

    #[test]
    fn the_rule_beam_finished_stops_at_beam_size_finished_hypotheses(
        seed: u64, beam_size in 2_usize..5, max_len in 1_usize..12, penalty in penalties(),
        at_limit in limit_rules(), coverage_penalty in coverage_penalties(),
    ) {
        let table = Table::random(seed, &[0], 7);
        let search = Search { stop: StopRule::BeamFinished, at_limit, coverage_penalty, ..search(beam_size, penalty) };
        let found = beam_search(&mut table.clone(), &up_to(&[max_len]), &search).concat();
        let request = Request::up_to(max_len);
        let expected = by_sorting(&table, 7, &request, &search, |n| n >= beam_size);
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn a_model_with_top_k_that_computes_nan_has_a_nan_score() {
    let search = search(3, LengthPenalty::None);
    let mut model = WithTopK::new(Table::of_nan(2));
    let found = beam_search(&mut model, &up_to(&[5, 5]), &search);
    for found in found {
        assert_eq!(found.len(), 1);
        assert!(found[0].ids.is_empty() && found[0].score.is_nan());
    }
}

/// A minimum length forbids EOS, so one more token is asked for.
#[test]
fn a_minimum_length_needs_only_the_likeliest_tokens() {
    let table = Table::chain(&[EOS; 9]);
    let request = Request {
        min_len: 3,
        ..Request::up_to(9)
    };
    for search in [Search::greedy(), search(3, LengthPenalty::None)] {
        let mut model = WithTopK::new(table.clone());
        let found = beam_search(&mut model, std::slice::from_ref(&request), &search);
        assert!(found[0][0].finished && model.n_calls > 0);
        assert_eq!(found[0][0].ids.len(), 2);
    }
}

/// The search needs the log-probability of a forced token, which may not be among the likeliest.
#[test]
fn forced_tokens_are_scored_without_top_k() {
    let mut model = WithTopK::new(Table::random(1, &[0], 9));
    let request = Request {
        prefix: vec![4, 5, EOS],
        ..Request::up_to(6)
    };
    let found = beam_search(&mut model, &[request], &search(2, LengthPenalty::None));
    assert_eq!((&found[0][0].ids[..], model.n_calls), (&[4, 5][..], 0));
}

#[test]
fn a_limit_of_zero_generates_nothing() {
    let found = beam_search(
        &mut Table::random(1, &[0, 1], 6),
        &up_to(&[0, 1]),
        &Search::default(),
    );
    assert_eq!(
        found[0],
        [Hypothesis {
            finished: false,
            ..Hypothesis::empty()
        }]
    );
    assert_eq!(found[1].len(), 1);
}

#[test]
fn a_limit_of_one_leaves_room_for_eos_or_one_token() {
    let search = search(3, LengthPenalty::None);
    let found = beam_search(&mut Table::chain(&[5, EOS]), &up_to(&[1]), &search).concat();
    let ids: Vec<(&[u32], bool)> = found
        .iter()
        .map(|h| (h.ids.as_slice(), h.finished))
        .collect();
    assert_eq!(
        ids,
        [
            ([].as_slice(), true),
            ([5].as_slice(), false),
            ([4].as_slice(), false)
        ]
    );
}

#[test]
fn a_beam_larger_than_the_vocabulary_finds_every_sequence() {
    let search = search(50, LengthPenalty::default());
    let found = beam_search(&mut Table::random(3, &[0], 5), &up_to(&[3]), &search).concat();
    // There are no others than "", "4" and "44", finished, and "444", cut.
    assert_eq!(found.len(), 4);
}

#[test]
fn ties_go_to_the_lower_id() {
    let search = search(2, LengthPenalty::None);
    let found = beam_search(&mut Table::chain(&[]), &up_to(&[1]), &search).concat();
    assert_eq!(
        (found[0].ids.as_slice(), found[1].ids.as_slice()),
        ([].as_slice(), [4].as_slice())
    );
}

#[test]
fn a_finished_sentence_costs_no_further_step() {
    let mut table = Table::chain(&[5, EOS]);
    let search = Search {
        beam_size: 1,
        length_penalty: LengthPenalty::None,
        ..Search::default()
    };
    beam_search(&mut table, &up_to(&[1000]), &search);
    assert_eq!(table.n_scored, 2);
}

#[test]
fn a_model_that_computes_nan_has_a_nan_log_prob() {
    let found = beam_search(&mut Table::of_nan(2), &up_to(&[3, 3]), &Search::default());
    assert!(
        found
            .iter()
            .all(|hypotheses| hypotheses[0].log_prob.is_nan())
    );
}
