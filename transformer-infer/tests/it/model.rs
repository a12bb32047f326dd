//! Small models with random weights, on disk and in memory.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Tensor, TensorData};
use transformer_core::config::Positions;
use transformer_core::directory::{ModelDirectory, ModelParts, Tokenizers};
use transformer_core::text::{Tokenizer, TokenizerConfig, TokenizerKind};
use transformer_core::{Transformer, TransformerConfig, device};
use transformer_infer::search::Search;
use transformer_infer::{Translator, TranslatorError};

use crate::command::{stderr, stdout, translate};
use crate::weights::{self, fill};

/// Sources of odd and unequal lengths.
pub(crate) const LINES: [&str; 5] = ["a cab", "bad", "a bad cab faded", "d", "feed a cab"];

/// Returns the device of the backend that BURN_DEVICE names, as the programs do.
pub(crate) fn test_device() -> Device {
    let named = std::env::var("BURN_DEVICE").ok();
    let chosen = device::choose(named.as_deref());
    chosen.expect("tests are built with a backend").1
}

/// Returns a device and a model on it with `vocab_size` tokens, always with the same weights.
pub(crate) fn random_model(vocab_size: usize) -> (Device, TransformerConfig, Transformer) {
    let device = test_device();
    let config = TransformerConfig {
        d_model: 24,
        d_ff: 40,
        n_heads: 3,
        n_encoder_layers: 2,
        n_decoder_layers: 3,
        ..TransformerConfig::tiny(vocab_size, vocab_size)
    };
    // Some seeds end every translation at once.
    let model = weights::random_model(&config, &device, 3);
    (device, config, model)
}

pub(crate) fn tokenizers() -> Tokenizers {
    tokenizers_of(&LINES)
}

fn tokenizers_of(lines: &[&str]) -> Tokenizers {
    let config = TokenizerConfig {
        kind: TokenizerKind::Char,
        ..TokenizerConfig::default()
    };
    Tokenizers::Joint(Tokenizer::train(&config, lines).expect("the lines are not blank"))
}

/// Writes a random model directory.
pub(crate) fn write_model(path: &Path) -> Translator {
    write_model_of(path, &LINES)
}

/// Writes a model directory.
pub(crate) fn write_directory(
    path: &Path,
    config: &TransformerConfig,
    model: &Transformer,
    tokenizers: &Tokenizers,
) {
    let weights = model.clone().into_record().into_bytes();
    let parts = ModelParts {
        config,
        tokenizers,
        weights: &weights.expect("weights fit in memory"),
        training: serde_json::json!({ "updates": 0 }),
    };
    ModelDirectory::write(path, &parts).expect("the temporary directory is writable");
}

/// Writes a random model directory, with a tokenizer trained on these lines.
pub(crate) fn write_model_of(path: &Path, lines: &[&str]) -> Translator {
    let tokenizers = tokenizers_of(lines);
    let (_, config, model) = random_model(tokenizers.src().vocab_size());
    write_directory(path, &config, &model, &tokenizers);
    Translator::new(model, &config, tokenizers).expect("the tokenizers are the model's")
}

/// Writes a random model directory with learned positions.
pub(crate) fn write_model_with_positions(path: &Path, max_positions: usize) {
    let tokenizers = tokenizers();
    let vocab_size = tokenizers.src().vocab_size();
    let config = TransformerConfig {
        d_model: 24,
        d_ff: 40,
        n_heads: 3,
        positions: Positions::Learned,
        max_positions,
        ..TransformerConfig::tiny(vocab_size, vocab_size)
    };
    let model = weights::random_model(&config, &test_device(), 1);
    write_directory(path, &config, &model, &tokenizers);
}

#[test]
fn a_stored_model_translates_like_the_original() {
    let directory = tempfile::tempdir().expect("the system has temporary directories");
    let written = write_model(directory.path());
    let device = test_device();
    let read = Translator::open(directory.path(), &device).expect("the model was just written");
    let search = Search::default();
    let expected = written
        .translate_with(&LINES, &search)
        .expect("the weights are finite");
    assert_eq!(
        read.translate_with(&LINES, &search)
            .expect("the weights are finite"),
        expected
    );
    assert!(
        expected
            .iter()
            .any(|translation| !translation.text().is_empty())
    );
}

#[test]
fn tokenizers_of_another_model_are_refused() {
    let tokenizers = tokenizers();
    let n_tokens = tokenizers.src().vocab_size();
    let (_, config, model) = random_model(n_tokens - 2);
    let refused = Translator::new(model, &config, tokenizers.clone());
    let refused = refused.expect_err("the model has no rows for two tokens");
    let expected = format!(
        "the tokenizer has {n_tokens} tokens, more than the model's `src_vocab_size` = {}; use the tokenizer \
         that the model was trained with",
        n_tokens - 2
    );
    assert_eq!(refused.to_string(), expected);
    // Rows that fill a matrix up belong to no token.
    let (_, config, model) = random_model(n_tokens + 2);
    assert!(Translator::new(model, &config, tokenizers).is_ok());
}

#[test]
fn blank_lines_have_blank_translations() {
    let directory = tempfile::tempdir().expect("the system has temporary directories");
    let translator = write_model(directory.path());
    let lines = ["", "a cab", " \t\u{3000}"];
    let translations = translator
        .translate_with(&lines, &Search::default())
        .expect("the weights are finite");
    assert_eq!((translations[0].text(), translations[2].text()), ("", ""));
}

/// Turns every weight into NaN.
pub(crate) struct Ruin;

impl ModuleMapper for Ruin {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|weights| weights * f32::NAN)
    }
}

/// Turns row 5 of the first matrix with this number of rows into NaN.
struct RuinRow {
    n_rows: usize,
}

impl ModuleMapper for RuinRow {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let shape = param.shape();
        if D != 2 || shape[0] != self.n_rows {
            return param;
        }
        self.n_rows = usize::MAX;
        param.map(|weights| {
            let device = weights.device();
            let mut values: Vec<f32> = weights.into_data().iter().collect();
            values[5 * shape[1]..6 * shape[1]].fill(f32::NAN);
            Tensor::from_data(TensorData::new(values, shape), &device)
        })
    }
}

/// Writes a random model that computes NaN for sources of more than five tokens.
fn write_model_for_short_lines(path: &Path) {
    let max_positions = 31;
    let tokenizers = tokenizers();
    let vocab_size = tokenizers.src().vocab_size();
    let config = TransformerConfig {
        positions: Positions::Learned,
        max_positions,
        ..random_model(vocab_size).1
    };
    let model = weights::random_model(&config, &test_device(), 1);
    let model = model.map(&mut RuinRow {
        n_rows: max_positions,
    });
    write_directory(path, &config, &model, &tokenizers);
}

#[test]
fn lines_before_one_that_computes_nan_are_translated() {
    let directory = tempfile::tempdir().expect("the system has temporary directories");
    write_model_for_short_lines(directory.path());
    let input = b"a\nbad\na cab faded\nd\n";
    let output = translate(directory.path(), &["--quiet"], input);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).starts_with("error: the model computes NaN for line 3;"),
        "{}",
        stderr(&output)
    );
    let alone = translate(directory.path(), &["--quiet"], b"a\nbad\n");
    assert_eq!(stdout(&alone).len(), 2);
    assert_eq!(output.stdout, alone.stdout);
}

/// Returns a translator whose weights are all NaN.
pub(crate) fn ruined_translator() -> Translator {
    let tokenizers = tokenizers();
    let (_, config, model) = random_model(tokenizers.src().vocab_size());
    Translator::new(model.map(&mut Ruin), &config, tokenizers)
        .expect("the tokenizers are the model's")
}

#[test]
fn a_model_that_computes_nan_is_an_error_with_the_line() {
    let translator = ruined_translator();
    for search in [Search::greedy(), Search::default()] {
        let error = translator
            .translate_with(&["", "bad"], &search)
            .expect_err("NaN says nothing");
        assert!(
            matches!(error, TranslatorError::NotANumber { line: 2, .. }),
            "{error}"
        );
    }
}

#[test]
fn the_remedy_for_nan_depends_on_where_the_model_is_from() {
    let tokenizers = tokenizers();
    let (_, config, model) = random_model(tokenizers.src().vocab_size());
    let weights = model.map(&mut Ruin).into_record().into_bytes();
    let weights = weights.expect("weights fit in memory");
    let message = |program: serde_json::Value| {
        let directory = tempfile::tempdir().expect("the system has temporary directories");
        let parts = ModelParts {
            config: &config,
            tokenizers: &tokenizers,
            weights: &weights,
            training: serde_json::json!({ "program": program }),
        };
        ModelDirectory::write(directory.path(), &parts).expect("the directory is writable");
        let translator = Translator::open(directory.path(), &test_device());
        let translator = translator.expect("the model was just written");
        let error = translator.translate_with(&["bad"], &Search::default());
        error.expect_err("NaN says nothing").to_string()
    };
    let broken = "the model computes NaN for line 1; its weights are broken: ";
    for (program, remedy) in [
        (
            "transformer-train 0.1.0",
            "train again, with a lower learning rate if it happens again",
        ),
        (
            "transformer-infer 0.1.0 import",
            "get the original again, and import it again",
        ),
        ("my own", "make the model again"),
    ] {
        assert_eq!(message(program.into()), format!("{broken}{remedy}"));
    }
}

/// Writes a random model directory with `training` in its manifest.
fn write_with(path: &Path, training: serde_json::Value, weights: &[u8]) {
    let tokenizers = tokenizers();
    let (_, config, _) = random_model(tokenizers.src().vocab_size());
    let parts = ModelParts {
        config: &config,
        tokenizers: &tokenizers,
        weights,
        training,
    };
    ModelDirectory::write(path, &parts).expect("the temporary directory is writable");
}

/// Returns random weights, which `seed` determines.
fn weights_of(seed: u32) -> Vec<u8> {
    let (_, _, model) = random_model(tokenizers().src().vocab_size());
    let bytes = fill(model, seed).into_record().into_bytes();
    bytes.expect("weights fit in memory").to_vec()
}

#[test]
fn an_unknown_stored_search_is_refused_and_not_ignored() {
    let directory = tempfile::tempdir().expect("the system has temporary directories");
    let weights = weights_of(1);
    let search = serde_json::json!({ "search": { "beam_size": 3 } });
    write_with(directory.path(), search, &weights);
    let opened = Translator::open(directory.path(), &test_device());
    assert_eq!(opened.expect("beams are known").search().beam_size, 3);
    let search = serde_json::json!({ "search": { "beam_size": 3, "beam_depth": 2 } });
    write_with(directory.path(), search, &weights);
    let refused = Translator::open(directory.path(), &test_device());
    let message = refused.expect_err("what it means is not known").to_string();
    assert!(
        message.contains("cannot read `training.search` in `"),
        "{message}"
    );
}

#[test]
fn a_model_can_be_opened_while_it_is_rewritten() {
    let directory = tempfile::tempdir().expect("the system has temporary directories");
    // What is the same in both is not written again.
    let weights = [1, 2].map(weights_of);
    let write = |number: usize| {
        let training = serde_json::json!({ "number": number });
        write_with(directory.path(), training, &weights[number % 2]);
    };
    write(0);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            (1..=200).for_each(write);
            is_done.store(true, Ordering::Relaxed);
        });
        while !is_done.load(Ordering::Relaxed) {
            let opened = Translator::open(directory.path(), &test_device());
            assert!(opened.is_ok(), "{:?}", opened.err());
        }
    });
}
