//! Properties of searches for outputs that contain phrases, with random tables as models.

use std::slice;
use std::sync::Arc;

use proptest::prelude::*;
use transformer_text::{BOS, EOS, N_SPECIAL};

use super::contained::{most_met, n_tokens};
use super::options::{VOCAB_SIZE, beam, requests, same, searches, token};
use super::reference::{by_rules, exhaustive, most_tokens};
use super::table::Table;
use crate::{
    Hypothesis, Phrase, Position, Request, Sampling, Search, SearchError, TokenEdges, Variant,
    beam_search, greedy_search,
};

/// Draws which tokens continue a word and can be continued; the first one begins a word.
fn edges() -> impl Strategy<Value = Arc<[TokenEdges]>> {
    let edges = any::<(bool, bool)>().prop_map(|(continues, continuable)| TokenEdges {
        continues,
        continuable,
    });
    proptest::collection::vec(edges, VOCAB_SIZE).prop_map(|mut edges| {
        edges[..=N_SPECIAL].fill(TokenEdges::default());
        edges[N_SPECIAL].continuable = true;
        edges.into()
    })
}

/// Draws phrases of few tokens, so that many overlap or are equal. The first variant can be written everywhere.
fn phrases(most: usize, most_variants: usize) -> impl Strategy<Value = Vec<Phrase>> {
    let ids = proptest::collection::vec(token(), 1..4);
    let position = prop_oneof![Just(Position::Anywhere), Just(Position::Start)];
    let variant = (ids, position).prop_map(|(ids, position)| Variant { ids, position });
    let variants = proptest::collection::vec(variant, 1..=most_variants);
    let drawn = proptest::collection::vec(variants, 0..=most);
    (drawn, edges()).prop_map(|(drawn, edges)| {
        let phrase = |mut variants: Vec<Variant>| {
            variants[0].position = Position::Anywhere;
            if edges[variants[0].ids[0] as usize].continues {
                variants[0].ids[0] = N_SPECIAL as u32;
            }
            let edges = Arc::clone(&edges);
            Phrase { variants, edges }
        };
        drawn.into_iter().map(phrase).collect()
    })
}

fn with_phrases(longest: usize) -> impl Strategy<Value = Request> {
    (requests(longest), phrases(3, 2)).prop_map(|(request, phrases)| Request { phrases, ..request })
}

proptest! {
    #[test]
    fn a_beam_wide_enough_finds_everything_that_contains_the_phrases_in_order(
        seed: u64, request in with_phrases(5), search in searches(),
    ) {
        let search = Search { banned: Vec::new(), no_repeat_ngram: None, ..search };
        let mut table = Table::random(seed, &[0], VOCAB_SIZE);
        let all = exhaustive(&table, VOCAB_SIZE as u32, &request, &search);
        let search = beam(all.len().max(2), search);
        let found = beam_search(&mut table, &[request], &search).concat();
        prop_assert!(same(&found, &all, &search), "{found:?}\n{all:?}");
    }

    // Where the tokens of a phrase that is met already occur once more, the search sees text in them, and bans them. So
    // it may have no token left where the reference has some; EOS is not banned, so that this does not allow it.
    #[test]
    fn a_beam_wide_enough_finds_everything_that_breaks_no_rule_or_only_for_a_phrase(
        seed: u64, request in with_phrases(5), mut search in searches(),
    ) {
        search.banned.retain(|banned| !banned.contains(&EOS));
        let request = Request { min_len: 0, ..request };
        let mut table = Table::random(seed, &[0], VOCAB_SIZE);
        let mut all = exhaustive(&table, VOCAB_SIZE as u32, &request, &search);
        let wide = beam(all.len().max(2), search.clone());
        let found = beam_search(&mut table, slice::from_ref(&request), &wide).concat();
        all.retain(|it| {
            let is_found = || found.iter().any(|found| found.ids == it.ids && found.finished == it.finished);
            keeps_rules(it, &request, &search) || is_found()
        });
        prop_assert!(same(&found, &all, &search), "{found:?}\n{all:?}");
    }

    #[test]
    fn every_phrase_is_met_if_the_limit_allows_it(
        seed: u64, phrases in phrases(4, 2), slack in 0_usize..4, beam_size in 1_usize..5, search in searches(),
    ) {
        let n_required: usize = phrases.iter().map(n_tokens).sum();
        let n_forced = usize::from(search.at_limit.forces_eos());
        let request = Request { phrases: phrases.clone(), ..Request::up_to(n_required + n_forced + slack) };
        prop_assume!(request.max_len > 0);
        let search = beam(beam_size, search);
        let found = search.run(&mut Table::random(seed, &[0], VOCAB_SIZE), &[request]).concat();
        for hypothesis in found {
            prop_assert_eq!(hypothesis.n_phrases_met, phrases.len());
            prop_assert_eq!(most_met(&hypothesis.ids, &phrases), phrases.len());
        }
    }

    #[test]
    fn the_limit_is_kept_and_whatever_fits_is_met(
        seed: u64, request in with_phrases(7), beam_size in 1_usize..5, search in searches(),
    ) {
        let search = beam(beam_size, search);
        let most = most_tokens(&request, &search);
        let mut n_tokens_of = request.phrases.iter().map(n_tokens);
        let first_fits = n_tokens_of.next().is_some_and(|n| request.prefix.len() + n <= most);
        let found = search.run(&mut Table::random(seed, &[0], VOCAB_SIZE), slice::from_ref(&request)).concat();
        prop_assert!(!found.is_empty());
        for hypothesis in found {
            prop_assert!(hypothesis.ids.len() + usize::from(hypothesis.finished) <= request.max_len);
            prop_assert!(!first_fits || hypothesis.n_phrases_met > 0);
        }
    }

    #[test]
    fn a_sentence_is_searched_as_alone_whatever_phrases_its_batch_has(
        seed: u64, beam_size in 1_usize..5, search in searches(),
        requests in proptest::collection::vec(prop_oneof![requests(7), with_phrases(7)], 1..6),
        index: proptest::sample::Index,
    ) {
        let search = beam(beam_size, search);
        let index = index.index(requests.len());
        let sentences: Vec<u64> = (0..requests.len() as u64).collect();
        let alone = search.run(
            &mut Table::random(seed, &[index as u64], VOCAB_SIZE), &[requests[index].clone()],
        );
        let together = search.run(&mut Table::random(seed, &sentences, VOCAB_SIZE), &requests);
        prop_assert_eq!(&together[index], &alone[0]);
    }

    #[test]
    fn the_log_probabilities_are_those_of_the_model_whatever_the_phrases(
        seed: u64, beam_size in 1_usize..5, search in searches(), request in with_phrases(7),
    ) {
        let table = Table::random(seed, &[0], VOCAB_SIZE);
        for found in beam(beam_size, search).run(&mut table.clone(), &[request]).concat() {
            let mut tokens = found.ids.clone();
            tokens.extend(found.finished.then_some(EOS));
            let mut seen = vec![BOS];
            let given = tokens.iter().map(|id| {
                let log_prob = table.row(0, &seen)[*id as usize];
                seen.push(*id);
                log_prob
            });
            prop_assert_eq!(&given.collect::<Vec<f32>>(), &found.token_log_probs);
        }
    }
}

/// Returns whether the rules allow every token of a hypothesis, without the precedence of phrases.
fn keeps_rules(hypothesis: &Hypothesis, request: &Request, search: &Search) -> bool {
    let ids = &hypothesis.ids;
    let mut positions = request.prefix.len()..ids.len();
    positions.all(|index| {
        by_rules(&ids[..index], VOCAB_SIZE as u32, request, search).contains(&ids[index])
    })
}

/// Returns a phrase of tokens that are words.
fn words(ids: &[u32]) -> Phrase {
    Phrase {
        variants: vec![Variant {
            ids: ids.to_vec(),
            position: Position::Anywhere,
        }],
        edges: Arc::new([]),
    }
}

/// Searches a chain of tokens, greedily and with a beam.
fn on_chain(chain: &[u32], request: &Request) -> [Hypothesis; 2] {
    [Search::greedy(), Search::default()].map(|search| {
        let found = search.run(&mut Table::chain(chain), slice::from_ref(request));
        found.concat().swap_remove(0)
    })
}

#[test]
fn an_unlikely_phrase_does_not_end_the_output() {
    let request = Request {
        phrases: vec![words(&[4, 4])],
        ..Request::up_to(9)
    };
    for found in on_chain(&[5, 5, EOS], &request) {
        assert!(found.finished);
        assert_eq!(found.n_phrases_met, 1);
    }
}

#[test]
fn two_equal_phrases_are_met_by_two_occurrences() {
    let request = Request {
        phrases: vec![words(&[5]), words(&[5])],
        ..Request::up_to(9)
    };
    for found in on_chain(&[5, 4, EOS], &request) {
        assert_eq!(found.ids.iter().filter(|id| **id == 5).count(), 2);
    }
}

#[test]
fn a_phrase_inside_of_a_longer_word_is_not_met() {
    let mut edges = vec![TokenEdges::default(); 6];
    edges[4].continuable = true;
    edges[5].continues = true;
    let phrase = Phrase {
        edges: edges.into(),
        ..words(&[4])
    };
    let request = Request {
        phrases: vec![phrase],
        ..Request::up_to(4)
    };
    for found in on_chain(&[4, 5, EOS], &request) {
        assert_eq!(found.n_phrases_met, 1);
        assert!(!found.ids.starts_with(&[4, 5]) || found.ids[2..].contains(&4));
    }
}

#[test]
fn a_phrase_that_was_begun_and_abandoned_is_met_later() {
    let request = Request {
        phrases: vec![words(&[4, 4, 5])],
        prefix: vec![4, 4, 4],
        ..Request::up_to(4)
    };
    for found in on_chain(&[4, 4, 4, 4], &request) {
        assert_eq!(found.ids, [4, 4, 4, 5]);
    }
}

#[test]
fn phrases_in_the_prefix_count() {
    let request = Request {
        phrases: vec![words(&[4, 5])],
        prefix: vec![4],
        ..Request::up_to(9)
    };
    for found in on_chain(&[4, 5, EOS], &request) {
        assert_eq!((&found.ids[..], found.n_phrases_met), (&[4, 5][..], 1));
    }
}

#[test]
fn a_phrase_takes_precedence_over_bans_and_repeated_ngrams() {
    let search = Search {
        banned: vec![vec![4], vec![5, 5]],
        no_repeat_ngram: Some(1),
        ..Search::default()
    };
    let request = Request {
        phrases: vec![words(&[4, 5, 5, 4])],
        ..Request::up_to(5)
    };
    let found = search
        .run(&mut Table::chain(&[5, EOS]), &[request])
        .concat();
    assert!(found[0].ids.windows(4).any(|it| it == [4, 5, 5, 4]));
}

#[test]
fn phrases_for_which_the_limit_has_no_room_are_not_required() {
    let request = Request {
        phrases: vec![words(&[4]), words(&[4, 4, 4, 4])],
        ..Request::up_to(3)
    };
    for found in on_chain(&[5, EOS], &request) {
        assert_eq!((found.finished, found.n_phrases_met), (true, 1));
    }
}

#[test]
fn more_phrases_than_are_counted_are_no_error() {
    let phrases = vec![words(&[4]); Request::MOST_PHRASES + 3];
    let request = Request {
        phrases,
        ..Request::up_to(150)
    };
    for found in on_chain(&[5, EOS], &request) {
        assert_eq!(found.n_phrases_met, Request::MOST_PHRASES);
    }
}

#[test]
fn greedy_search_puts_a_phrase_where_it_is_likeliest() {
    let table = Table::chain(&[5, 5, 4, 5, EOS]);
    let request = Request {
        phrases: vec![words(&[4])],
        ..Request::up_to(9)
    };
    let found = greedy_search(&mut table.clone(), &[request], &Search::greedy());
    assert_eq!(found[0].ids, [5, 5, 4, 5]);
}

#[test]
fn a_model_that_computes_nan_has_a_nan_log_prob() {
    let request = Request {
        phrases: vec![words(&[4])],
        ..Request::up_to(3)
    };
    for search in [Search::greedy(), Search::default()] {
        let found = search.run(&mut Table::of_nan(1), slice::from_ref(&request));
        assert!(found.concat()[0].log_prob.is_nan());
    }
}

#[test]
fn samples_with_phrases_are_refused() {
    let search = Search {
        sampling: Some(Sampling::default()),
        ..Search::default()
    };
    let request = Request {
        phrases: vec![words(&[4])],
        ..Request::up_to(3)
    };
    assert_eq!(
        search.check_request(&request),
        Err(SearchError::SampledPhrases)
    );
}

#[test]
fn a_phrase_that_cannot_be_written_everywhere_is_refused_with_its_position() {
    let at_start = Variant {
        ids: vec![4],
        position: Position::Start,
    };
    let phrase = Phrase {
        variants: vec![at_start],
        ..words(&[4])
    };
    for refused in [phrase, words(&[]), words(&[EOS])] {
        let request = Request {
            phrases: vec![words(&[4]), refused],
            ..Request::up_to(3)
        };
        let error = Search::default().check_request(&request);
        assert_eq!(error, Err(SearchError::Phrase { position: 2 }));
    }
}
