//! Import of models in Marian's binary format. `tests/fixtures/marian/generate_binary.py` wrote them, with ids and
//! logits of plain arithmetic.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use burn::module::Module;
use serde::Deserialize;
use tempfile::TempDir;
use transformer_core::config::Tying;
use transformer_core::directory::{ModelParts, Precision, Tokenizers};
use transformer_core::import::marian::binary::read_container;
use transformer_core::import::marian::{EarlyStopping, Generation};
use transformer_core::packed::Workspace;
use transformer_core::text::EOS;
use transformer_core::{ComputePrecision, ModelDirectory, PackedTransformer};

use crate::marian::{check_logits, fixture, marian_ids, read};

const MODEL: &str = "model.ende.intgemm.alphas.bin";

#[derive(Deserialize)]
struct Goldens {
    lines: Vec<String>,
    /// With EOS.
    src: Vec<Vec<u32>>,
    greedy: Vec<Vec<u32>>,
    decoded: Vec<String>,
    /// The tokens that the shortlist allows.
    #[serde(default)]
    candidates: Vec<Vec<u32>>,
}

fn goldens(folder: &Path) -> Goldens {
    let json = fs::read(folder.join("goldens.json")).expect("the generator wrote it");
    serde_json::from_slice(&json).expect("the generator writes the fields above")
}

pub(crate) fn check_text(folder: &Path) {
    let goldens = goldens(folder);
    let marian = read(folder);
    let tgt = marian.tokenizers.tgt();
    let rows = tgt.pieces().expect("the tokenizer is Marian's").rows();
    for (line, expected) in goldens.lines.iter().zip(&goldens.src) {
        assert_eq!(
            &marian_ids(marian.tokenizers.src(), line),
            expected,
            "{line}"
        );
    }
    for (ids, expected) in goldens.greedy.iter().zip(&goldens.decoded) {
        let our_id = |id: &u32| rows.iter().position(|row| *row == Some(*id));
        let ours = ids
            .iter()
            .map(|id| our_id(id).expect("every id has a row") as u32);
        assert_eq!(&tgt.decode(&ours.collect::<Vec<_>>()), expected);
    }
}

#[test]
fn bytes_and_pieces_have_marians_ids() {
    check_text(fixture("binary").path());
}

#[test]
fn separate_vocabularies_have_marians_ids() {
    check_text(fixture("binary_separate").path());
}

#[test]
fn logits_of_a_recurrent_decoder_in_integers_are_those_of_plain_arithmetic() {
    check_logits(fixture("binary").path());
}

#[test]
fn logits_of_a_decoder_with_self_attention_are_those_of_plain_arithmetic() {
    check_logits(fixture("binary_separate").path());
}

#[test]
fn a_joint_and_two_separate_vocabularies_are_recognized() {
    let joint = read(fixture("binary").path());
    assert!(matches!(joint.tokenizers, Tokenizers::Joint(_)));
    assert_eq!(joint.config.tying, Tying::All);
    let separate = read(fixture("binary_separate").path());
    assert!(matches!(separate.tokenizers, Tokenizers::Separate { .. }));
    assert_eq!(separate.config.tying, Tying::Decoder);
}

#[test]
fn search_settings_and_languages_are_read() {
    let folder = fixture("binary");
    let marian = read(folder.path());
    let expected = Generation {
        num_beams: Some(1),
        max_len_factor: Some(2.5),
        length_penalty: 1.0,
        early_stopping: EarlyStopping::Never,
        ..Generation::default()
    };
    assert_eq!(marian.generation, expected);
    let codes = |folder: &TempDir| {
        let languages = read(folder.path()).languages;
        [languages.src, languages.tgt].map(|code| code.map(|code| code.to_string()))
    };
    assert_eq!(
        codes(&folder),
        ["en", "de"].map(|code| Some(code.to_owned()))
    );
    let metadata = r#"{"sourceLanguage": "nb", "targetLanguage": "zh-Hant"}"#;
    fs::write(folder.path().join("metadata.json"), metadata).expect("there is room");
    assert_eq!(
        codes(&folder),
        ["nb", "zh-Hant"].map(|code| Some(code.to_owned()))
    );
}

#[test]
fn the_binary_file_is_enough_to_name_a_model_beside_others() {
    let folder = fixture("binary");
    let path = |name: &str| folder.path().join(name);
    fs::copy(path(MODEL), path("model.enfr.bin")).expect("there is room");
    fs::copy(path("vocab.ende.spm"), path("vocab.enfr.spm")).expect("there is room");
    let error = with_cause(folder.path());
    assert!(
        error.contains(MODEL) && error.contains("model.enfr.bin"),
        "{error}"
    );
    let named = read(&path("model.enfr.bin"));
    assert!(
        named.files.contains(&"vocab.enfr.spm".to_owned()),
        "{:?}",
        named.files
    );
}

/// Returns the whole error of a folder after the settings in its model have changed; both texts are of one length.
fn after_change(from: &str, to: &str) -> String {
    let folder = fixture("binary");
    let path = folder.path().join(MODEL);
    let mut bytes = fs::read(&path).expect("the generator wrote it");
    let found = bytes
        .windows(from.len())
        .rposition(|window| window == from.as_bytes());
    let start = found.expect("the settings have this text");
    bytes[start..start + to.len()].copy_from_slice(to.as_bytes());
    fs::write(&path, bytes).expect("there is room");
    with_cause(folder.path())
}

pub(crate) fn with_cause(path: &Path) -> String {
    use std::error::Error;
    let error = transformer_core::import::Marian::read(path, &crate::model::test_device());
    let error = error.expect_err("the model cannot be imported");
    let source = error.source().map(ToString::to_string).unwrap_or_default();
    format!("{error}: {source}")
}

#[test]
fn settings_that_cannot_be_imported_are_named_with_their_values() {
    for (from, to, expected) in [
        (
            "activation: relu",
            "activation: gelu",
            "`transformer-ffn-activation` is `gelu`",
        ),
        ("dec-cell: ssru", "dec-cell: lstm", "`dec-cell` is `lstm`"),
        (
            "preprocess: \"\"",
            "preprocess: nn",
            "`transformer-preprocess` is `nn`",
        ),
        (
            "right-left: false",
            "right-left: true ",
            "`right-left` is `true`",
        ),
        (
            "type: transformer",
            "type: transfarmer",
            "`type` is `transfarmer`",
        ),
        ("enc-depth: 2", "enc-depth: x", "`enc-depth` is `x`"),
        (
            "enc-depth: 2",
            "enc-depth: 1",
            "arrays do not match its settings",
        ),
        (
            "enc-depth: 2",
            "enc_depth= 2",
            "of the settings is not `key: value`",
        ),
    ] {
        let error = after_change(from, to);
        assert!(error.contains(MODEL) && error.contains(expected), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn a_missing_vocabulary_and_one_of_another_model_are_refused() {
    let folder = fixture("binary");
    let vocabulary = folder.path().join("vocab.ende.spm");
    let other = fixture("binary_separate");
    fs::copy(other.path().join("trgvocab.ende.spm"), &vocabulary).expect("there is room");
    assert!(with_cause(folder.path()).contains("but `dim-vocabs` of the model is [330, 330]"));
    fs::remove_file(vocabulary).expect("it was there");
    assert!(with_cause(folder.path()).contains("it has no `vocab.*.spm`"));
}

#[test]
fn a_container_that_is_cut_off_at_any_byte_is_refused() {
    let bytes = fs::read(fixture("binary_separate").path().join("model.ende.bin"));
    let bytes = bytes.expect("the generator wrote it");
    assert!(read_container(&bytes).is_ok());
    for len in 0..bytes.len() {
        assert!(read_container(&bytes[..len]).is_err(), "{len} bytes");
    }
}

#[test]
fn sizes_that_lie_are_refused() {
    let bytes = fs::read(fixture("binary").path().join(MODEL)).expect("the generator wrote it");
    // The number of arrays, and the four numbers of the first.
    for at in [8, 16, 32, 40] {
        for size in [0, u64::MAX, u64::MAX / 4, 1 << 40] {
            let mut changed = bytes.clone();
            changed[at..at + 8].copy_from_slice(&u64::to_le_bytes(size));
            assert!(read_container(&changed).is_err(), "{size} at {at}");
        }
    }
}

#[test]
fn a_shortlist_allows_the_tokens_that_marian_allows() {
    let folder = fixture("binary");
    let marian = read(folder.path());
    let goldens = goldens(folder.path());
    let rows = marian
        .tokenizers
        .tgt()
        .pieces()
        .expect("the tokenizer is Marian's")
        .rows();
    let model = PackedTransformer::of(&marian.model, ComputePrecision::F32);
    let model = model.with_shortlist(marian.shortlist.map(Arc::new));
    let tokenizer = marian.tokenizers.src();
    let src = goldens
        .lines
        .iter()
        .map(|line| [tokenizer.encode(line), vec![EOS]].concat());
    let src: Vec<Vec<u32>> = src.collect();
    let limited = vec![true; src.len()];
    let state = model.begin_limited(&src, &limited, &mut Workspace::new());
    for (row, expected) in goldens.candidates.iter().enumerate() {
        let ids = state.candidates(row).expect("the row is limited");
        assert!(ids.is_sorted(), "{ids:?}");
        let mut found: Vec<u32> = ids.iter().filter_map(|id| rows[*id as usize]).collect();
        found.sort_unstable();
        // Our `<s>`, which is never generated.
        assert_eq!(found.pop(), Some(330));
        assert_eq!(&found, expected);
    }
    assert_eq!(goldens.candidates.len(), 3);
}

#[test]
fn a_model_directory_keeps_its_shortlist_also_with_weights_in_integers() {
    let folder = fixture("binary");
    let marian = read(folder.path());
    let shortlist = marian.shortlist.expect("the model has one");
    let weights = marian.model.into_record().into_bytes();
    let parts = ModelParts {
        config: &marian.config,
        tokenizers: &marian.tokenizers,
        weights: &weights.expect("memory is writable"),
        training: serde_json::Value::Null,
    };
    let [float, int8] = ["float", "int8"].map(|name| folder.path().join(name));
    ModelDirectory::write(&float, &parts).expect("there is room");
    ModelDirectory::add_shortlist(&float, &shortlist).expect("there is room");
    let directory = ModelDirectory::open(&float).expect("it was just written");
    directory
        .write_quantized(&int8, Precision::Int8)
        .expect("there is room");
    for path in [&float, &int8] {
        let read = ModelDirectory::open(path).expect("it was just written");
        assert_eq!(read.shortlist().map(|it| &**it), Some(&shortlist));
    }
    let path = float.join("shortlist.bin");
    let mut bytes = fs::read(&path).expect("it was just written");
    bytes[60] ^= 1;
    fs::write(&path, bytes).expect("there is room");
    let error = ModelDirectory::open(&float).expect_err("a file was changed");
    assert!(error.to_string().contains("shortlist.bin"), "{error}");
}

#[test]
fn a_shortlist_of_another_model_is_refused() {
    let folder = fixture("binary_separate");
    let other = fixture("binary");
    let list = other.path().join("lex.50.50.ende.s2t.bin");
    fs::copy(list, folder.path().join("lex.bin")).expect("there is room");
    let error = with_cause(folder.path());
    assert!(
        error.contains("it has lists for 330 source tokens, but the model has 54"),
        "{error}"
    );
}
