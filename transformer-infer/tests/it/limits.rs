//! Options at their limits: zero, one, and very large.

use transformer_core::Transformer;
use transformer_infer::search::{Hypothesis, LengthLimit, Sampling, Search};
use transformer_infer::{BatchLimits, translate_ids};

use crate::model::random_model;

const VOCAB_SIZE: usize = 13;

fn fixed(extra: usize) -> LengthLimit {
    LengthLimit { factor: 0.0, extra }
}

/// Returns greedy search, beam search and sampling with these options.
fn each_way(options: &Search) -> [Search; 3] {
    let sampling = Some(Sampling::default());
    [
        Search {
            beam_size: 1,
            ..options.clone()
        },
        options.clone(),
        Search {
            sampling,
            ..options.clone()
        },
    ]
}

fn translate(model: &Transformer, source: &[u32], search: &Search) -> Vec<Hypothesis> {
    translate_within(model, source, search, None)
}

fn translate_within(
    model: &Transformer,
    source: &[u32],
    search: &Search,
    max_tgt_len: Option<usize>,
) -> Vec<Hypothesis> {
    assert_eq!(search.validate(), Ok(()));
    let limits = BatchLimits {
        max_src_len: 5000,
        max_tgt_len,
        ..BatchLimits::default()
    };
    let found = translate_ids(model, &[source], search, &limits).concat();
    assert!(
        found
            .iter()
            .all(|it| it.log_prob.is_finite() && it.score.is_finite()),
        "{found:?}"
    );
    found
}

#[test]
fn an_output_limit_of_zero_gives_an_empty_unfinished_output() {
    let (_, _, model) = random_model(VOCAB_SIZE);
    for search in each_way(&Search {
        min_len: fixed(3),
        ..Search::default()
    }) {
        let found = translate_within(&model, &[4, 5], &search, Some(0));
        assert_eq!(
            (found.len(), found[0].ids.len(), found[0].finished),
            (1, 0, false)
        );
    }
}

#[test]
fn an_empty_source_has_the_empty_translation_whatever_the_search_requires() {
    let (_, _, model) = random_model(VOCAB_SIZE);
    for search in each_way(&Search {
        min_len: fixed(3),
        ..Search::default()
    }) {
        assert_eq!(translate(&model, &[], &search), [Hypothesis::empty()]);
    }
}

#[test]
fn a_source_of_five_thousand_tokens_is_translated() {
    let (_, _, model) = random_model(VOCAB_SIZE);
    let source: Vec<u32> = (0..5000).map(|index| 4 + index % 9).collect();
    let search = Search {
        max_len: fixed(3),
        coverage_penalty: 0.2,
        ..Search::greedy()
    };
    assert!(!translate(&model, &source, &search).is_empty());
}

#[test]
fn a_beam_larger_than_the_vocabulary_is_filled() {
    let (_, _, model) = random_model(VOCAB_SIZE);
    let search = Search {
        beam_size: 40,
        n_best: 40,
        max_len: fixed(4),
        ..Search::default()
    };
    let found = translate(&model, &[4, 5, 6], &search);
    assert_eq!(found.len(), 40);
    assert!((0..40).all(|index| found[..index].iter().all(|it| it.ids != found[index].ids)));
}

#[test]
fn an_output_whose_limits_are_equal_has_this_length() {
    let (_, _, model) = random_model(VOCAB_SIZE);
    let limits = Search {
        max_len: fixed(6),
        min_len: fixed(6),
        ..Search::default()
    };
    for search in each_way(&limits) {
        let found = &translate(&model, &[4, 5], &search)[0];
        assert_eq!(found.token_log_probs.len(), 6);
    }
}

#[test]
fn a_ban_on_every_token_leaves_the_empty_output() {
    let (_, _, model) = random_model(VOCAB_SIZE);
    let banned = (0..VOCAB_SIZE as u32 + 9).map(|id| vec![id]).collect();
    for search in each_way(&Search {
        banned,
        min_len: fixed(9),
        ..Search::default()
    }) {
        let found = &translate(&model, &[4, 5], &search)[0];
        assert_eq!((found.ids.len(), found.finished), (0, true));
    }
}

#[test]
fn without_repeated_tokens_the_output_ends_when_all_are_used() {
    let (_, _, model) = random_model(VOCAB_SIZE);
    let options = Search {
        no_repeat_ngram: Some(1),
        min_len: fixed(50),
        ..Search::default()
    };
    for search in each_way(&options) {
        let mut ids = translate(&model, &[4, 5], &search)[0].ids.clone();
        ids.sort_unstable();
        assert_eq!(ids, (4..13).collect::<Vec<u32>>());
    }
}

#[test]
fn one_sample_of_the_likeliest_token_is_greedy_search() {
    let (_, _, model) = random_model(VOCAB_SIZE);
    let by_number = Sampling {
        top_k: Some(1),
        ..Sampling::default()
    };
    let by_share = Sampling {
        top_p: 1e-9,
        ..Sampling::default()
    };
    let greedy = translate(&model, &[4, 5, 6], &Search::greedy());
    for sampling in [by_number, by_share] {
        let search = Search {
            sampling: Some(sampling),
            ..Search::greedy()
        };
        let drawn = translate(&model, &[4, 5, 6], &search);
        assert_eq!(drawn[0].ids, greedy[0].ids);
    }
}
