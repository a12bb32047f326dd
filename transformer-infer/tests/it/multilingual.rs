//! Multilingual models, imported and run as a user does; the expected ids, logits, translations and scores are those of
//! Hugging Face's Transformers (`transformer-core/tests/fixtures/multilingual/generate_multilingual.py`).

use std::path::Path;
use std::process::{Command, Output};

use serde::Deserialize;
use tempfile::TempDir;
use transformer_core::import::Marian;
use transformer_core::import::marian::Reference;
use transformer_core::text::EOS;
use transformer_infer::attention::LayerHead;
use transformer_infer::search::{Hypothesis, Search};
use transformer_infer::{Input, Translator};

use crate::command::{stderr, stdout};
use crate::marian::unpack;
use crate::model::{test_device, write_model};

/// Difference of a logit, relative to the largest: both sides compute in single precision.
const TOLERANCE: f32 = 3e-6;

#[derive(Deserialize)]
struct Goldens {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
pub(crate) struct Case {
    /// Empty, as that of the target, if the model has one pair of languages.
    #[serde(default)]
    pub(crate) src_lang: String,
    #[serde(default)]
    pub(crate) tgt_lang: String,
    pub(crate) line: String,
    src: Vec<u32>,
    greedy: Vec<u32>,
    beam: Vec<u32>,
    pub(crate) text: String,
    score: f64,
}

pub(crate) fn fixture(name: &str) -> TempDir {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../transformer-core/tests/fixtures");
    unpack(&fixtures.join("multilingual").join(name))
}

pub(crate) fn translator(folder: &Path) -> (Translator, Vec<Case>) {
    let json = std::fs::read(folder.join("goldens.json")).expect("the generator wrote it");
    let goldens: Goldens = serde_json::from_slice(&json).expect("it has the fields above");
    let model = Marian::read(folder, &test_device()).unwrap_or_else(|error| panic!("{error:?}"));
    (
        Translator::try_from(model).expect("the sizes agree"),
        goldens.cases,
    )
}

/// Returns the ids of Transformers.
fn their_ids(translator: &Translator, ids: &[u32]) -> Vec<u32> {
    let row = |id: &u32| match translator.tokenizers().tgt().pieces() {
        Some(pieces) => pieces.rows()[*id as usize].expect("every token is theirs"),
        // BART's `<s>`, `<pad>`, `</s>`, `<unk>` are not the first tokens here.
        None => [1, 3, 2, 2, 0]
            .get(*id as usize)
            .copied()
            .unwrap_or(id.wrapping_sub(1)),
    };
    ids.iter().map(row).collect()
}

/// Returns the ids of a translation, with EOS if it ended.
fn ids_of(translator: &Translator, hypothesis: &Hypothesis) -> Vec<u32> {
    let end = hypothesis.finished.then_some(EOS);
    let ids: Vec<u32> = hypothesis.ids.iter().copied().chain(end).collect();
    their_ids(translator, &ids)
}

/// Checks a folder of [`fixture`].
fn check(name: &str) {
    check_folder(fixture(name).path());
    check_logits(fixture(name).path());
}

/// Checks source ids, greedy translations, those of a beam, their text and their scores.
pub(crate) fn check_folder(folder: &Path) {
    let (translator, cases) = translator(folder);
    let tokenizer = translator.tokenizers().src().clone();
    let greedy = Search {
        beam_size: 1,
        ..translator.search().clone()
    };
    for case in &cases {
        let languages =
            [&case.src_lang, &case.tgt_lang].map(|it| Some(&**it).filter(|it| !it.is_empty()));
        let direction = translator.direction(languages[0], languages[1]);
        let direction = direction.expect("the model has the languages");
        let mut src = tokenizer.encode(&case.line);
        direction.mark(&mut src, usize::MAX);
        translator.config().end_source(&mut src);
        let line = &case.line;
        assert_eq!(their_ids(&translator, &src), case.src, "{line:?}");
        let input = Input {
            text: line,
            direction: Some(direction),
            ..Input::default()
        };
        let translate = |search: &Search| {
            let found = translator.translate_inputs(&[input], search, &mut |_| ());
            let mut found = found.expect("the model is sound");
            found.remove(0).candidates.remove(0)
        };
        let found = translate(&greedy);
        assert_eq!(
            ids_of(&translator, &found.hypothesis),
            case.greedy,
            "{line:?}"
        );
        let found = translate(translator.search());
        assert_eq!(
            ids_of(&translator, &found.hypothesis),
            case.beam,
            "{line:?}"
        );
        let expected = match tokenizer.sentence_start() {
            Some(_) => case.text.as_str(),
            None => case.text.trim(),
        };
        assert_eq!(found.text, expected);
        let (ours, theirs) = (found.hypothesis.score, case.score);
        assert!(
            (ours - theirs).abs() < 2e-6 * theirs.abs().max(1.0),
            "{ours} {theirs}"
        );
    }
    assert!(cases.len() >= 30, "{}", cases.len());
}

pub(crate) fn check_logits(folder: &Path) {
    let marian = Marian::read(folder, &test_device()).expect("the generator made it");
    let reference = Reference::read(folder.join("reference.safetensors"));
    let reference = reference.expect("the generator wrote it");
    let difference = reference.compare(&marian.model, &marian.tokenizers, &test_device());
    let difference = difference.expect("the reference is of this model");
    assert!(
        difference.largest < TOLERANCE * difference.largest_logit,
        "{difference:?}"
    );
    assert!(difference.largest_logit > 1.0, "{difference:?}");
    assert_eq!(difference.n_same_best, difference.n_tokens);
    assert!(difference.n_tokens >= 10, "{difference:?}");
}

#[test]
fn m2m_100_translates_as_transformers_does() {
    check("m2m100");
}

#[test]
fn small_100_reads_the_target_language_with_the_source() {
    check("small100");
}

#[test]
fn nllb_translates_as_transformers_does() {
    check("nllb");
}

#[test]
fn nllb_with_its_former_layout_translates_as_transformers_does() {
    check("nllb_legacy");
}

#[test]
fn mbart_50_translates_as_transformers_does() {
    check("mbart50");
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_transformer-infer"));
    command
        .args(arguments)
        .output()
        .expect("the program starts")
}

/// Imports a fixture with the program.
pub(crate) fn imported(name: &str, flags: &[&str]) -> (TempDir, String) {
    let folder = fixture(name);
    let out = tempfile::tempdir().expect("there is room");
    let model = out.path().join("model").display().to_string();
    let from = folder.path().display().to_string();
    let arguments = [&["import", "--from", &from, "--out", &model], flags].concat();
    let output = run(&arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    (out, model)
}

#[test]
fn the_program_translates_between_the_languages_of_its_flags() {
    let (_, cases) = translator(fixture("nllb").path());
    let case = cases
        .iter()
        .find(|case| case.src_lang == "fr")
        .expect("there is one");
    let (_out, model) = imported("nllb", &[]);
    for languages in [["fr", "en"], ["fra_Latn", "eng_Latn"]] {
        let [src, tgt] = languages;
        let arguments = [
            "translate",
            "--quiet",
            "--model",
            &model,
            "--src-lang",
            src,
            "--tgt-lang",
            tgt,
        ];
        let output = run(&[&arguments[..], &[&case.line]].concat());
        assert_eq!(stdout(&output), [case.text.as_str()], "{}", stderr(&output));
    }
}

#[test]
fn languages_given_at_the_import_are_the_default() {
    let (_, cases) = translator(fixture("mbart50").path());
    let case = cases
        .iter()
        .find(|case| case.src_lang == "ru")
        .expect("there is one");
    let (_out, model) = imported("mbart50", &["--src-lang", "ru", "--tgt-lang", "fr"]);
    let output = run(&["translate", "--quiet", "--model", &model, &case.line]);
    assert_eq!(stdout(&output), [case.text.as_str()], "{}", stderr(&output));
}

#[test]
fn an_export_says_which_tokens_a_user_adds() {
    let before = "before each source";
    let first = "and begin each translation with that of the target language";
    for (name, expected) in [
        (
            "m2m100",
            format!("__af__: add that of the source language {before}, {first}"),
        ),
        (
            "small100",
            format!("__af__: add that of the target language {before}"),
        ),
    ] {
        let (out, model) = imported(name, &[]);
        let out = out.path().join("out").display().to_string();
        let arguments = [
            "export",
            "--format",
            "ctranslate2",
            "--model",
            &model,
            "--out",
            &out,
        ];
        let output = run(&arguments);
        assert!(output.status.success(), "{}", stderr(&output));
        let note = "note: the languages are not written, only their tokens, such as";
        assert_eq!(stderr(&output), format!("{note} {expected}\n"));
    }
}

#[test]
fn missing_and_unknown_languages_are_refused_in_one_line() {
    let (_out, model) = imported("m2m100", &[]);
    let error = |flags: &[&str]| {
        let output = run(&[&["translate", "--quiet", "--model", &model, "a"], flags].concat());
        assert!(!output.status.success());
        stderr(&output).to_owned()
    };
    assert_eq!(
        error(&["--src-lang", "en"]),
        "error: the model translates between 100 languages; give that of the target with --tgt-lang, such as af\n"
    );
    assert_eq!(
        error(&["--src-lang", "en", "--tgt-lang", "dee"]),
        "error: the model has no language `dee`; the nearest code is de\n"
    );
}

#[test]
fn a_score_is_the_sum_of_the_log_probabilities_after_the_language() {
    let folder = fixture("m2m100");
    let (translator, _) = translator(folder.path());
    let translator = translator.with_direction(Some("en"), Some("de"));
    let translator = translator.expect("the model has both");
    let line = "Where is the railway station?";
    let found = translator.translate(&[line]).expect("the model is sound");
    let best = &found[0].candidates[0];
    let scores = translator
        .score(&[(line, &best.text)])
        .expect("the model is sound");
    assert_eq!(scores[0].ids.len(), best.hypothesis.ids.len());
    assert_eq!(best.hypothesis.token_log_probs[0], 0.0);
    let difference = scores[0].log_prob() - best.hypothesis.log_prob;
    assert!(difference.abs() < 1e-4, "{difference}");
}

#[test]
fn alignments_and_attention_read_the_languages_of_a_translation() {
    for name in ["m2m100", "nllb_legacy"] {
        let folder = fixture(name);
        let (translator, _) = translator(folder.path());
        let direction = translator.direction(Some("en"), Some("de"));
        let direction = direction.expect("the model has both");
        let line = "Where is the railway station?";
        let input = Input {
            text: line,
            direction: Some(direction),
            ..Input::default()
        };
        let search = Search::greedy();
        let found = translator.translate_inputs(&[input], &search, &mut |_| ());
        let found = found.expect("the model is sound");
        let hypothesis = &found[0].candidates[0].hypothesis;
        let attention = translator.attention_in(found[0].direction, line, hypothesis);
        let attention = attention.expect("the model is sound");
        let alignment = attention
            .alignment(LayerHead::default())
            .expect("the layer exists");
        let all = translator.alignments(&[line], &found, LayerHead::default());
        assert_eq!(all.expect("the layer exists")[0][0], alignment, "{name}");
        let language = |token: &str| attention.src_tokens.iter().any(|it| it.text == token);
        assert!(language("__en__") || language("eng_Latn"), "{name}");
    }
}

#[test]
fn a_model_of_one_pair_refuses_languages() {
    let folder = tempfile::tempdir().expect("there is room");
    let plain = write_model(folder.path());
    assert!(plain.direction(None, None).is_ok());
    let error = plain
        .direction(None, Some("de"))
        .expect_err("it is not multilingual");
    assert!(
        error
            .to_string()
            .starts_with("the model is not multilingual")
    );
}
