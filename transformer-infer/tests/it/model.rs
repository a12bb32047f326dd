//! Small models with random weights, on disk and in memory.

use std::path::Path;

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Tensor, TensorData};
use transformer_core::directory::{ModelDirectory, ModelParts, Tokenizers};
use transformer_core::text::{Tokenizer, TokenizerConfig, TokenizerKind};
use transformer_core::{Transformer, TransformerConfig, device};
use transformer_infer::search::Search;
use transformer_infer::{Translator, TranslatorError};

/// Sources of odd and unequal lengths.
pub(crate) const LINES: [&str; 5] = ["a cab", "bad", "a bad cab faded", "d", "feed a cab"];

/// Returns the device of the backend that BURN_DEVICE names, as the programs do.
pub(crate) fn test_device() -> Device {
    let named = std::env::var("BURN_DEVICE").ok();
    let chosen = device::choose(named.as_deref());
    chosen.expect("tests are built with a backend").1
}

/// Returns a device and a model on it, of a vocabulary of `vocab_size`, always with the same weights.
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
    let model = config.init(&device).expect("the config describes a model");
    (device, config, model.map(&mut Fill { state: 1 }))
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
    Translator::new(model, &config, tokenizers)
}

#[test]
fn a_model_read_back_translates_as_the_one_written() {
    let directory = tempfile::tempdir().expect("the system has temporary directories");
    let written = write_model(directory.path());
    let device = test_device();
    let read = Translator::open(directory.path(), &device).expect("the model was just written");
    let search = Search::default();
    let expected = written
        .translate(&LINES, &search)
        .expect("the weights are finite");
    assert_eq!(
        read.translate(&LINES, &search)
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
fn blank_lines_have_blank_translations() {
    let directory = tempfile::tempdir().expect("the system has temporary directories");
    let translator = write_model(directory.path());
    let lines = ["", "a cab", " \t\u{3000}"];
    let translations = translator
        .translate(&lines, &Search::default())
        .expect("the weights are finite");
    assert_eq!((translations[0].text(), translations[2].text()), ("", ""));
}

/// Fills every matrix with numbers between −0.5 and 0.5; so large ones make probabilities uneven.
struct Fill {
    state: u32,
}

impl ModuleMapper for Fill {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if D < 2 {
            return param;
        }
        param.map(|weights| {
            let (shape, device) = (weights.shape(), weights.device());
            let mut next = || {
                self.state = self
                    .state
                    .wrapping_mul(1_664_525)
                    .wrapping_add(1_013_904_223);
                (self.state >> 8) as f32 / (1 << 24) as f32 - 0.5
            };
            let numbers: Vec<f32> = (0..shape.num_elements()).map(|_| next()).collect();
            Tensor::from_data(TensorData::new(numbers, shape), &device)
        })
    }
}

/// Turns every weight into NaN.
pub(crate) struct Ruin;

impl ModuleMapper for Ruin {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|weights| weights * f32::NAN)
    }
}

/// Returns a translator whose every weight is NaN.
pub(crate) fn ruined_translator() -> Translator {
    let tokenizers = tokenizers();
    let (_, config, model) = random_model(tokenizers.src().vocab_size());
    Translator::new(model.map(&mut Ruin), &config, tokenizers)
}

#[test]
fn a_model_of_nan_is_an_error_that_names_the_line() {
    let translator = ruined_translator();
    for search in [Search::greedy(), Search::default()] {
        let error = translator
            .translate(&["", "bad"], &search)
            .expect_err("NaN says nothing");
        assert!(
            matches!(error, TranslatorError::NotANumber { line: 2 }),
            "{error}"
        );
    }
}
