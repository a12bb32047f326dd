//! The recorded weights of a sentence are those of decoding it token by token.

use burn::module::Module;
use burn::tensor::{Int, Tensor, TensorData};
use transformer_core::text::{BOS, EOS};
use transformer_core::{AttentionMaps, AttentionMasks, Padded};
use transformer_infer::attention::{Attention, Map};
use transformer_infer::search::{Hypothesis, LengthLimit, Search};
use transformer_infer::{BatchLimits, Translator, TranslatorError};

use crate::model::{LINES, Ruin, random_model, tokenizers};

/// For float32 sums in another order; weights are at most 1.
const TOLERANCE: f32 = 1e-5;

fn translator() -> Translator {
    let tokenizers = tokenizers();
    let (_, config, model) = random_model(tokenizers.src().vocab_size());
    Translator::new(model, &config, tokenizers).expect("the tokenizers are the model's")
}

/// Searches, and records the attention of the best hypothesis.
fn attention_of_search(line: &str, beam_size: usize) -> Attention {
    let translator = translator();
    let max_len = LengthLimit {
        factor: 1.0,
        extra: 4,
    };
    let search = Search {
        beam_size,
        max_len,
        ..Search::default()
    };
    let translations = translator
        .translate_with(&[line], &search)
        .expect("the weights are finite");
    let candidate = &translations[0].candidates[0];
    let attention = translator
        .attention(line, &candidate.hypothesis)
        .expect("the line is short");
    assert_eq!(attention.tgt, candidate.text);
    attention
}

fn ids(attention: &Attention) -> [Vec<u32>; 2] {
    [&attention.src_tokens, &attention.tgt_tokens]
        .map(|tokens| tokens.iter().map(|token| token.id).collect())
}

/// Decodes token by token, and returns the weights of each step, `[layer][head][row][column]`; rows of the decoder's
/// self-attention are as long as the input so far.
fn step_by_step(src: &[u32], written: &[u32]) -> [Vec<Vec<Map>>; 2] {
    let (device, config, model) = random_model(tokenizers().src().vocab_size());
    let masks = AttentionMasks::default();
    let mut state = model.begin(&model.encode(&Padded::new(&[src], &device)));
    let mut kept =
        [(); 2].map(|()| vec![vec![Map::new(); config.n_heads]; config.n_decoder_layers]);
    let mut last = BOS;
    for next in written {
        let tgt = TensorData::new(vec![i64::from(last)], [1, 1]);
        let mut maps = AttentionMaps::default();
        let tgt = Tensor::<2, Int>::from_data(tgt, &device);
        let _ = model.decode_with(tgt, &mut state, &masks, Some(&mut maps));
        for (kept, maps) in kept.iter_mut().zip([maps.decoder, maps.cross]) {
            for (layer, weights) in kept.iter_mut().zip(maps) {
                let n_keys = weights.dims()[3];
                let weights: Vec<f32> = weights.into_data().iter::<f32>().collect();
                for (head, row) in layer.iter_mut().zip(weights.chunks(n_keys)) {
                    head.push(row.to_vec());
                }
            }
        }
        last = *next;
    }
    kept
}

/// Compares maps whose rows may lack trailing zeros.
fn assert_same(found: &[Vec<Map>], expected: &[Vec<Map>]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            let padded = expected.iter().chain(std::iter::repeat(&0.0));
            assert!(found.len() >= expected.len());
            assert!(
                found
                    .iter()
                    .zip(padded)
                    .all(|(a, b)| (a - b).abs() < TOLERANCE),
                "{found:?} {expected:?}"
            );
        }
    }
}

#[test]
fn every_row_of_every_head_sums_to_one() {
    for line in LINES {
        let attention = attention_of_search(line, 3);
        let all = [&attention.encoder, &attention.decoder, &attention.cross];
        let rows = || all.into_iter().flatten().flatten().flatten();
        assert!(rows().all(|row| (row.iter().sum::<f32>() - 1.0).abs() < TOLERANCE));
        assert!(rows().count() > 0);
    }
}

#[test]
fn the_weights_of_greedy_search_are_those_of_its_steps() {
    let attention = attention_of_search("a bad cab", 1);
    let [src, written] = ids(&attention);
    let [decoder, cross] = step_by_step(&src, &written);
    assert_same(&attention.decoder, &decoder);
    assert_same(&attention.cross, &cross);
}

#[test]
fn the_weights_of_beam_search_are_those_of_decoding_its_result() {
    let attention = attention_of_search("feed a cab", 4);
    let [src, written] = ids(&attention);
    let [decoder, cross] = step_by_step(&src, &written);
    assert_same(&attention.decoder, &decoder);
    assert_same(&attention.cross, &cross);
}

#[test]
fn the_encoders_weights_are_those_of_encoding() {
    let attention = attention_of_search("a bad cab", 1);
    let (device, _, model) = random_model(tokenizers().src().vocab_size());
    let [src, _] = ids(&attention);
    let mut maps = AttentionMaps::default();
    let src = Padded::new(&[src], &device);
    let _ = model.encode_with(&src, &AttentionMasks::default(), Some(&mut maps));
    let expected: Vec<f32> = maps
        .encoder
        .iter()
        .flat_map(|map| map.to_data().iter::<f32>().collect::<Vec<_>>())
        .collect();
    let found = attention.encoder.iter().flatten().flatten().flatten();
    assert_eq!(found.copied().collect::<Vec<_>>(), expected);
}

#[test]
fn a_forced_output_is_decoded_whatever_the_model_prefers() {
    let attention = translator()
        .forced_attention("a cab", "bad")
        .expect("the lines are short");
    let spelled = |tokens: &[transformer_infer::attention::Token]| {
        tokens
            .iter()
            .map(|token| token.text.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(attention.tgt, "bad");
    assert_eq!(spelled(&attention.tgt_tokens), ["b", "a", "d", "</s>"]);
    assert_eq!(spelled(&attention.tgt_inputs()), ["<s>", "b", "a", "d"]);
    let [src, written] = ids(&attention);
    let [decoder, cross] = step_by_step(&src, &written);
    assert_same(&attention.decoder, &decoder);
    assert_same(&attention.cross, &cross);
}

#[test]
fn tokens_know_their_words() {
    let attention = translator()
        .forced_attention(" a cab", "bad d")
        .expect("the lines are short");
    let words = |tokens: &[transformer_infer::attention::Token]| {
        tokens.iter().map(|token| token.word).collect::<Vec<_>>()
    };
    let [first, second] = [Some(0), Some(1)];
    assert_eq!(
        words(&attention.src_tokens),
        [None, first, None, second, second, second, None]
    );
    assert_eq!(
        words(&attention.tgt_tokens),
        [first, first, first, None, second, None]
    );
    assert_eq!(
        ids(&attention).map(|ids| ids.last().copied()),
        [Some(EOS); 2]
    );
}

#[test]
fn a_cut_output_has_no_eos() {
    let translator = translator();
    let max_len = LengthLimit {
        factor: 0.0,
        extra: 2,
    };
    let search = Search {
        max_len,
        ..Search::greedy()
    };
    let translations = translator
        .translate_with(&["a cab"], &search)
        .expect("the weights are finite");
    let hypothesis = &translations[0].candidates[0].hypothesis;
    assert!(!hypothesis.finished);
    let attention = translator
        .attention("a cab", hypothesis)
        .expect("the line is short");
    assert_eq!(ids(&attention)[1], hypothesis.ids);
}

#[test]
fn blank_text_is_refused() {
    for line in ["", " \t"] {
        let refused = translator().forced_attention(line, "bad");
        assert_eq!(refused, Err(TranslatorError::BlankSource));
    }
}

#[test]
fn text_beyond_the_positions_of_the_model_is_refused() {
    let limits = BatchLimits {
        max_src_len: 4,
        max_tgt_len: Some(3),
        ..BatchLimits::default()
    };
    let translator = translator().with_limits(limits);
    let long_source = translator.forced_attention("a cab", "");
    let long_target = translator.forced_attention("a", "bad");
    let (n_tokens, limit) = (5, 4);
    assert_eq!(
        long_source,
        Err(TranslatorError::LongSource { n_tokens, limit })
    );
    let (n_tokens, limit) = (4, 3);
    assert_eq!(
        long_target,
        Err(TranslatorError::LongTarget { n_tokens, limit })
    );
}

/// The weights of a target of any length would fill the memory: a model without learned positions has no limit of its
/// own.
#[test]
fn a_given_target_beyond_the_limit_of_sources_is_refused() {
    let limits = BatchLimits {
        max_src_len: 4,
        max_tgt_len: None,
        ..BatchLimits::default()
    };
    let translator = translator().with_limits(limits);
    assert!(translator.forced_attention("a", "bad").is_ok());
    let (n_tokens, limit) = (7, 5);
    assert_eq!(
        translator.forced_attention("a", "bad ab"),
        Err(TranslatorError::LongTarget { n_tokens, limit })
    );
}

#[test]
fn a_model_that_computes_nan_is_an_error() {
    let tokenizers = tokenizers();
    let (_, config, model) = random_model(tokenizers.src().vocab_size());
    let translator = Translator::new(model.map(&mut Ruin), &config, tokenizers)
        .expect("the tokenizers are the model's");
    assert_eq!(
        translator.forced_attention("a", "d"),
        Err(TranslatorError::AttentionNotANumber)
    );
}

#[test]
fn the_attention_of_a_model_in_training_is_recorded_without_dropout() {
    let tokenizers = tokenizers();
    let (_, config, model) = random_model(tokenizers.src().vocab_size());
    assert!(config.dropout > 0.0);
    let translator = Translator::new(model.train(), &config, tokenizers)
        .expect("the tokenizers are the model's");
    let attention = || translator.forced_attention("a cab", "bad");
    assert_eq!(
        attention().expect("it is short"),
        attention().expect("it is short")
    );
}

#[test]
#[should_panic(expected = "the target has the id 99, which is not in its vocabulary")]
fn a_hypothesis_outside_of_the_vocabulary_panics() {
    let hypothesis = Hypothesis {
        ids: vec![5, 99],
        ..Hypothesis::empty()
    };
    let _ = translator().attention("a cab", &hypothesis);
}
