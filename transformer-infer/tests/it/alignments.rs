//! The word alignments of many lines are those of each line alone.

use transformer_infer::attention::{Alignment, Head, LayerHead};
use transformer_infer::search::{LengthLimit, Sampling, Search};
use transformer_infer::{BatchLimits, Input, Translation, Translator, TranslatorError};

use crate::command::{model, stderr, stdout, translate};
use crate::model::{random_model, ruined_translator, tokenizers};

/// Lines of unequal lengths, some without a word.
const LINES: [&str; 6] = ["a cab", "", "feed a bad cab", "d", " \t", " bad  cab d a"];

fn translator() -> Translator {
    let tokenizers = tokenizers();
    let (_, config, model) = random_model(tokenizers.src().vocab_size());
    Translator::new(model, &config, tokenizers).expect("the tokenizers are the model's")
}

fn beam(n_best: usize) -> Search {
    Search {
        n_best,
        max_len: LengthLimit {
            factor: 1.0,
            extra: 8,
        },
        ..Search::default()
    }
}

/// Translates with a prefix of two words.
fn translated_by(translator: &Translator, search: &Search) -> Vec<Translation> {
    let input = |(index, line)| Input {
        text: line,
        prefix: "bad cab",
        index,
        ..Input::default()
    };
    let inputs: Vec<Input<'_>> = (0..).zip(LINES).map(input).collect();
    let found = translator.translate_inputs(&inputs, search, &mut |_| ());
    found.expect("the weights are finite")
}

fn translated(search: &Search) -> Vec<Translation> {
    translated_by(&translator(), search)
}

fn aligned(
    limits: BatchLimits,
    translations: &[Translation],
    layer_head: LayerHead,
) -> Vec<Vec<Alignment>> {
    let translator = translator().with_limits(limits);
    let found = translator.alignments(&LINES, translations, layer_head);
    found.expect("there are such heads")
}

/// Aligns every sentence by itself.
fn one_by_one(translations: &[Translation], layer_head: LayerHead) -> Vec<Vec<Alignment>> {
    let translator = translator();
    let of_line = |(line, translation): (&&str, &Translation)| {
        let of_one = |candidate: &transformer_infer::Candidate| {
            if line.trim().is_empty() {
                return Alignment::default();
            }
            let attention = translator.attention(line, &candidate.hypothesis);
            let attention = attention.expect("the line is short");
            attention
                .alignment(layer_head)
                .expect("there are such heads")
        };
        translation.candidates.iter().map(of_one).collect()
    };
    LINES.iter().zip(translations).map(of_line).collect()
}

fn assert_as_one_by_one(search: &Search, layer_head: LayerHead) {
    let translations = translated(search);
    let expected = one_by_one(&translations, layer_head);
    assert!(expected.concat().iter().any(|it| it.pairs.len() > 1));
    let found = aligned(BatchLimits::default(), &translations, layer_head);
    assert_eq!(found, expected);
}

#[test]
fn alignments_of_greedy_search_are_those_of_each_sentence_alone() {
    assert_as_one_by_one(
        &Search {
            beam_size: 1,
            ..beam(1)
        },
        LayerHead::default(),
    );
}

#[test]
fn every_translation_of_a_beam_has_its_alignment() {
    assert_as_one_by_one(&beam(3), LayerHead::default());
}

#[test]
fn samples_have_alignments() {
    let sampling = Some(Sampling {
        seed: 3,
        ..Sampling::default()
    });
    assert_as_one_by_one(
        &Search {
            sampling,
            ..beam(2)
        },
        LayerHead::default(),
    );
}

#[test]
fn the_selected_head_decides() {
    let layer_head = LayerHead {
        layer: Some(1),
        head: Head::One(2),
    };
    assert_as_one_by_one(&beam(2), layer_head);
    let translations = translated(&beam(2));
    let limits = BatchLimits::default();
    let of_default = aligned(limits.clone(), &translations, LayerHead::default());
    assert_ne!(aligned(limits, &translations, layer_head), of_default);
}

#[test]
fn alignments_do_not_depend_on_the_batch() {
    let translations = translated(&beam(2));
    let together = aligned(BatchLimits::default(), &translations, LayerHead::default());
    for batch_tokens in [1, 30, 60] {
        let limits = BatchLimits {
            batch_tokens,
            ..BatchLimits::default()
        };
        assert_eq!(
            aligned(limits, &translations, LayerHead::default()),
            together
        );
    }
}

#[test]
fn words_beyond_the_length_limit_have_no_pair() {
    let limits = BatchLimits {
        max_src_len: 6, // "feed a"
        ..BatchLimits::default()
    };
    let translator = translator().with_limits(limits);
    let translations = translated_by(&translator, &beam(1));
    let found = translator.alignments(&LINES, &translations, LayerHead::default());
    let pairs = &found.expect("the default needs one layer")[2][0].pairs;
    assert!(!pairs.is_empty());
    assert!(pairs.iter().all(|(src, _)| *src < 2), "{pairs:?}");
}

#[test]
fn a_model_that_computes_nan_aligns_nothing() {
    let translations = translated(&beam(1));
    let refused = ruined_translator().alignments(&LINES, &translations, LayerHead::default());
    assert_eq!(refused, Err(TranslatorError::AttentionNotANumber));
}

#[test]
fn the_last_column_is_the_alignment() {
    let model = model();
    let input = LINES.join("\n");
    let flags = ["--n-best", "2", "--alignments", "--scores"];
    let with = translate(model.path(), &flags, input.as_bytes());
    let without = translate(
        model.path(),
        &["--n-best", "2", "--scores"],
        input.as_bytes(),
    );
    let (with, without) = (stdout(&with), stdout(&without));
    assert_eq!(with.len(), 2 * LINES.len());
    let mut n_pairs = 0;
    for (with, without) in with.iter().zip(&without) {
        let (rest, alignment) = with.rsplit_once('\t').expect("there is a last column");
        assert_eq!(rest, *without);
        let n_words = rest
            .split('\t')
            .nth(1)
            .map(|text| text.split_whitespace().count());
        for pair in alignment.split_whitespace() {
            let (src, tgt) = pair.split_once('-').expect("a pair has two words");
            assert!(src.parse::<usize>().is_ok_and(|src| src < 4), "{pair}");
            assert!(tgt.parse::<usize>().ok() < n_words, "{pair}");
            n_pairs += 1;
        }
    }
    assert!(n_pairs > 0);
}

#[test]
fn json_has_the_pairs_of_the_column() {
    let model = model();
    let flags = ["--alignments", "--n-best", "2"];
    let plain = translate(model.path(), &flags, b"a bad cab\n");
    let columns: Vec<String> = stdout(&plain)
        .iter()
        .map(|line| {
            line.rsplit_once('\t')
                .expect("there is a last column")
                .1
                .to_owned()
        })
        .collect();
    let json = translate(
        model.path(),
        &[&flags[..], &["--json"]].concat(),
        b"a bad cab\n",
    );
    let line: serde_json::Value =
        serde_json::from_str(&stdout(&json).concat()).expect("the line is JSON");
    let translations = line["translations"].as_array().expect("it is a list");
    let spelled = translations.iter().map(|translation| {
        let pairs = translation["alignment"].as_array().expect("it is a list");
        let pairs: Vec<String> = pairs
            .iter()
            .map(|pair| format!("{}-{}", pair[0], pair[1]))
            .collect();
        pairs.join(" ")
    });
    assert_eq!(spelled.collect::<Vec<_>>(), columns);
}

#[test]
fn a_layer_that_the_model_lacks_is_wrong_usage() {
    let flags = ["--alignments", "--alignment-layer", "4"];
    let output = translate(model().path(), &flags, b"bad\n");
    assert_eq!(output.status.code(), Some(2));
    let last = stderr(&output).lines().last();
    let expected = "error: there is no layer 4 in cross attention; choose 1 to 3";
    assert_eq!(last, Some(expected));
    assert!(output.stdout.is_empty());
}
