//! Import of models of CTranslate2. `tests/fixtures/ctranslate2/generate_imports.py` wrote them, with CTranslate2's own
//! log-probabilities.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use burn::tensor::activation::log_softmax;
use proptest::prelude::*;
use serde::Deserialize;
use tempfile::TempDir;
use transformer_core::config::{NormPlacement, Positions, Tying};
use transformer_core::directory::Tokenizers;
use transformer_core::export::to_ctranslate2;
use transformer_core::import::marian::{EarlyStopping, Generation};
use transformer_core::import::{Marian, StateDict};
use transformer_core::text::{BOS, EOS};
use transformer_core::{Transformer, TransformerConfig};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::ctranslate2::{exported, words};
use crate::goldens::{
    ADDITIVE_MASKS_BIAS_FREE, FAIRSEQ_SINUSOIDS, Golden, PAPER, POST_NORM_WITH_FINAL_NORMS,
    PRE_NORM_GELU, PRE_NORM_SILU_LEARNED,
};
use crate::model::{attention_configs, forward, random_model, test_device};

/// Absolute difference of log-probabilities, in single precision on both sides and rounded to 5 digits.
const TOLERANCE: f32 = 2e-4;

/// The same with positions that are stored in half precision, and computed here.
const HALF_TOLERANCE: f32 = 1e-2;

#[derive(Deserialize)]
struct Goldens {
    lines: Vec<String>,
    models: BTreeMap<String, Model>,
}

#[derive(Deserialize)]
struct Model {
    /// Of each next line as the translation of a line, EOS included.
    log_probs: Vec<Vec<f32>>,
}

pub(crate) fn fixture(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ctranslate2/imports");
    fixtures.join(name)
}

pub(crate) fn read(path: &Path) -> Marian {
    let pieces = [fixture("sentencepiece.model")];
    let marian = Marian::read_with_pieces(path, &pieces, &test_device());
    marian.unwrap_or_else(|error| panic!("{error:?}"))
}

fn refusal(folder: &Path) -> String {
    let pieces = [fixture("sentencepiece.model")];
    let error = Marian::read_with_pieces(folder, &pieces, &test_device());
    let error = error.expect_err("the folder is broken");
    match std::error::Error::source(&error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Copies a model, without subfolders.
fn copy(name: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("there is room");
    for entry in fs::read_dir(fixture(name)).expect("the fixtures are there") {
        let entry = entry.expect("it can be listed");
        let to = folder.path().join(entry.file_name());
        fs::copy(entry.path(), to).expect("there is room");
    }
    folder
}

/// Compares log-probabilities of given translations with CTranslate2's.
fn check(name: &str, tolerance: f32) -> TransformerConfig {
    let goldens = fs::read(fixture("goldens.json")).expect("the generator wrote it");
    let goldens: Goldens = serde_json::from_slice(&goldens).expect("it has these fields");
    let Marian {
        model,
        tokenizers,
        config,
        ..
    } = read(&fixture(name));
    let expected = &goldens.models[name].log_probs;
    assert_eq!(expected.len() + 1, goldens.lines.len());
    for (pair, expected) in goldens.lines.windows(2).zip(expected) {
        let mut src = tokenizers.src().encode(&pair[0]);
        config.end_source(&mut src);
        let tgt = tokenizers.tgt().encode(&pair[1]);
        let labels = [&tgt[..], &[EOS]].concat();
        let read = [&[BOS], &tgt[..]].concat();
        let log_probs = log_softmax(forward(&model, &[src], &[read]), 2);
        let [_, n_tokens, n_vocab] = log_probs.dims();
        let log_probs: Vec<f32> = log_probs.into_data().iter::<f32>().collect();
        assert_eq!(expected.len(), n_tokens);
        for (row, (label, expected)) in labels.iter().zip(expected).enumerate() {
            let found = log_probs[row * n_vocab + *label as usize];
            assert!(
                (found - expected).abs() < tolerance,
                "{name}, {row}: {found} {expected}"
            );
        }
    }
    config
}

#[test]
fn an_opennmt_model_scores_as_in_ctranslate2() {
    let config = check("opennmt_f32", TOLERANCE);
    let expected = TransformerConfig {
        d_model: 16,
        d_ff: 24,
        n_heads: 2,
        n_encoder_layers: 2,
        n_decoder_layers: 2,
        norm_placement: NormPlacement::Pre,
        final_norm: true,
        output_bias: true,
        tying: Tying::None,
        src_without_eos: true,
        ..TransformerConfig::base(61, 61)
    };
    assert_eq!(config, expected);
}

#[test]
fn half_precision_scores_as_in_ctranslate2() {
    check("opennmt_f16", HALF_TOLERANCE);
}

#[test]
fn integers_of_16_bits_score_as_in_ctranslate2() {
    check("opennmt_i16", TOLERANCE);
}

#[test]
fn integers_of_8_bits_score_as_in_ctranslate2() {
    check("opennmt_i8", TOLERANCE);
}

#[test]
fn a_model_without_positions_scores_as_in_ctranslate2() {
    let config = check("opennmt_tf", TOLERANCE);
    let found = (config.positions, config.first_position);
    assert_eq!(found, (Positions::SinusoidalHalvesInclusive, 1));
}

#[test]
fn a_model_of_marian_scores_as_in_ctranslate2() {
    let config = check("marian", TOLERANCE);
    assert_eq!(config.positions, Positions::SinusoidalHalves);
    assert_eq!((config.tying, config.src_without_eos), (Tying::All, false));
}

#[test]
fn a_model_of_m2m_100_scores_as_in_ctranslate2() {
    let config = check("m2m100", TOLERANCE);
    let found = (config.positions, config.first_position);
    assert_eq!(found, (Positions::SinusoidalHalvesInclusive, 2));
}

#[test]
fn a_package_of_argos_is_the_model_in_it() {
    let path = fixture("translate-xx_en.argosmodel");
    let package = Marian::read(&path, &test_device()).expect("it has everything");
    let folder = read(&fixture("opennmt_i8"));
    assert_eq!(package.config, folder.config);
    assert_same_weights(&package.model, &folder.model);
    let languages = [&package.languages.src, &package.languages.tgt];
    let languages = languages.map(|code| code.as_ref().map(ToString::to_string));
    assert_eq!(languages, [Some("xx".to_owned()), Some("en".to_owned())]);
    let generation = Generation {
        num_beams: Some(4),
        max_len: Some(256),
        min_len: 2,
        length_penalty: 0.2,
        early_stopping: EarlyStopping::Early,
        ..Generation::default()
    };
    assert_eq!(package.generation, generation);
}

/// Writes a zip archive with these files, and returns the message of its refusal.
fn refusal_of_archive(files: &[(&str, &[u8])]) -> String {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("package.argosmodel");
    let mut archive = ZipWriter::new(File::create(&path).expect("there is room"));
    let deflated = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, content) in files {
        archive
            .start_file(*name, deflated)
            .expect("the name is new");
        archive.write_all(content).expect("there is room");
    }
    archive.finish().expect("there is room");
    refusal(&path).replace(&path.display().to_string(), "package")
}

#[test]
fn a_file_that_expands_to_much_more_than_the_package_is_refused() {
    let metadata = br#"{"type": "translate", "from_code": "xx", "to_code": "en"}"#;
    let zeros = vec![0; 1 << 24];
    let files = [
        ("p/metadata.json", &metadata[..]),
        ("p/model/model.bin", &zeros),
    ];
    assert_eq!(
        refusal_of_archive(&files),
        "`package` cannot be imported: `model/model.bin` in it expands to more than 1048576 bytes; get the file again"
    );
}

#[test]
fn names_outside_of_the_packages_folder_are_not_read() {
    let files = [
        ("../metadata.json", &b"{}"[..]),
        ("/metadata.json", b"{}"),
        ("a/b/metadata.json", b"{}"),
    ];
    assert_eq!(
        refusal_of_archive(&files),
        "`package` cannot be imported: it has 0 folders with a metadata.json, and not one; get the file again"
    );
}

#[test]
fn a_package_with_the_codes_of_subword_nmt_is_refused() {
    let mut files = vec![
        ("p/metadata.json".to_owned(), b"{}".to_vec()),
        ("p/bpe.model".to_owned(), b"#version: 0.2".to_vec()),
    ];
    for name in ["model.bin", "config.json", "shared_vocabulary.json"] {
        let content = fs::read(fixture("opennmt_i8").join(name)).expect("the generator wrote it");
        files.push((format!("p/model/{name}"), content));
    }
    let folder = tempfile::tempdir().expect("there is room");
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("there is room");
        fs::write(path, content).expect("there is room");
    }
    let error = Marian::read(folder.path().join("p"), &test_device()).expect_err("it has BPE");
    let source = std::error::Error::source(&error).expect("it has a cause");
    assert_eq!(
        source.to_string(),
        "it splits words by `bpe.model` of subword-nmt, which cannot be imported; packages with `sentencepiece.model` can"
    );
}

fn assert_same_weights(found: &Transformer, expected: &Transformer) {
    let [found, expected] = [found, expected].map(StateDict::from_model);
    assert!(found.names().eq(expected.names()));
    for name in expected.names() {
        assert_eq!(found.tensor(name), expected.tensor(name), "{name}");
    }
}

/// Checks that a model is the same after export and import.
fn check_round_trip(
    folder: &Path,
    model: &Transformer,
    config: &TransformerConfig,
) -> Result<(), TestCaseError> {
    let imported = Marian::read(folder, &test_device());
    let imported = imported.unwrap_or_else(|error| panic!("{error:?}"));
    // The file has no settings of training, and a limit only for learned positions.
    let expected = TransformerConfig {
        max_positions: imported.config.max_positions,
        dropout: imported.config.dropout,
        attention_dropout: 0.0,
        activation_dropout: 0.0,
        ..config.clone()
    };
    prop_assert_eq!(&imported.config, &expected);
    assert_same_weights(&imported.model, model);
    Ok(())
}

#[test]
fn an_exported_golden_is_imported_unchanged() {
    for name in [
        PAPER,
        POST_NORM_WITH_FINAL_NORMS,
        PRE_NORM_GELU,
        PRE_NORM_SILU_LEARNED,
        ADDITIVE_MASKS_BIAS_FREE,
        FAIRSEQ_SINUSOIDS,
    ] {
        let golden = Golden::read(name);
        let folder = exported(&golden).expect("CTranslate2's models can be all this");
        let checked = check_round_trip(folder.path(), &golden.model(), &golden.config);
        checked.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn an_exported_model_is_imported_unchanged(config in attention_configs(), seed: u32) {
        let config = TransformerConfig {
            n_heads: 2,
            d_k: None,
            d_v: None,
            encoder_window: None,
            decoder_window: None,
            first_position: match config.positions {
                Positions::Learned | Positions::None => 0,
                _ => config.first_position,
            },
            ..config
        };
        let tokenizers = match config.src_vocab_size == config.tgt_vocab_size {
            true => Tokenizers::Joint(words(config.tgt_vocab_size)),
            false => Tokenizers::Separate {
                src: words(config.src_vocab_size),
                tgt: words(config.tgt_vocab_size),
            },
        };
        let model = random_model(&config, seed);
        let folder = tempfile::tempdir().expect("there is room");
        to_ctranslate2(folder.path(), &model, &config, &tokenizers).expect("it can be exported");
        check_round_trip(folder.path(), &model, &config)?;
    }
}

/// Replaces a text in a file; both have the same length.
fn patch(folder: &TempDir, name: &str, from: &[u8], to: &[u8]) {
    assert_eq!(from.len(), to.len());
    let path = folder.path().join(name);
    let mut bytes = fs::read(&path).expect("it was copied");
    let at = bytes.windows(from.len()).position(|it| it == from);
    let at = at.expect("the file has it");
    bytes[at..at + to.len()].copy_from_slice(to);
    fs::write(path, bytes).expect("there is room");
}

fn message_of(folder: &TempDir) -> String {
    let path = folder.path().display().to_string();
    refusal(folder.path()).replace(&path, "model")
}

#[test]
fn a_decoder_alone_is_refused() {
    let folder = copy("opennmt_i8");
    patch(&folder, "model.bin", b"TransformerSpec", b"TransformerDecO");
    assert_eq!(
        message_of(&folder),
        "`model/model.bin` cannot be imported: it is a `TransformerDecO` of revision 7; only a `TransformerSpec` up to \
         revision 7, an encoder-decoder, can be imported"
    );
}

#[test]
fn an_activation_that_is_only_near_to_ours_is_refused() {
    let folder = copy("opennmt_i8");
    let [from, to] = [0_u8, 1].map(|value| {
        let header = *b"encoder/activation\0\0\x01\x01\0\0\0";
        [&header[..], &[value]].concat()
    });
    patch(&folder, "model.bin", &from, &to);
    assert_eq!(
        message_of(&folder),
        "`model/model.bin` cannot be imported: `decoder/activation` is 0, which cannot be imported; only the encoder's value \
         can"
    );
    let [from, to] = [&from, &to].map(|it| [b"de", &it[2..]].concat());
    patch(&folder, "model.bin", &from, &to);
    assert_eq!(
        message_of(&folder),
        "`model/model.bin` cannot be imported: `encoder/activation` is 1 (GELUTanh), which cannot be imported; 0 (ReLU), \
         2 (Swish) or 3 (GELU) can"
    );
}

#[test]
fn relative_positions_are_refused() {
    let folder = copy("opennmt_i8");
    let [from, to] = [
        b"self_attention/linear_1/bias",
        b"self_attention/relative_keys",
    ];
    patch(&folder, "model.bin", from, to);
    assert_eq!(
        message_of(&folder),
        "`model/model.bin` cannot be imported: `decoder/layer_0/self_attention/relative_keys` is present, which cannot be \
         imported; absolute positions can"
    );
}

#[test]
fn a_model_that_needs_the_callers_start_is_refused() {
    let folder = copy("opennmt_i8");
    patch(
        &folder,
        "config.json",
        b"\"decoder_start_token\": \"<s>\"",
        b"\"decoder_start_token\": null ",
    );
    assert_eq!(
        message_of(&folder),
        "`model/config.json` cannot be imported: `decoder_start_token` is null, which cannot be imported; a token, which is \
         not one of the caller's language, can"
    );
}

#[test]
fn a_folder_without_pieces_names_the_remedy() {
    let folder = copy("opennmt_i8");
    let error = Marian::read(folder.path(), &test_device()).expect_err("it has no pieces");
    let source = std::error::Error::source(&error).expect("it has a cause");
    assert_eq!(
        source.to_string(),
        "it has no SentencePiece model, without which text cannot be split; name the model's with `--spm FILE`"
    );
}

#[test]
fn a_vocabulary_of_another_size_is_refused() {
    let folder = copy("opennmt_i8");
    patch(
        &folder,
        "shared_vocabulary.json",
        b"\"<blank>\",",
        b"          ",
    );
    assert_eq!(
        message_of(&folder),
        "`model/shared_vocabulary.json` cannot be imported: it has 60 tokens, but the model has 61; take both from one \
         model"
    );
}
