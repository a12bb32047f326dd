//! Export for Firefox Translations and Bergamot: `import` reads what was written.

use std::fs;
use std::path::Path;

use burn::module::Module;
use burn::tensor::{Int, Tensor, TensorData};
use serde_json::json;
use tempfile::TempDir;
use transformer_core::config::{Activation, Mixing, Tying};
use transformer_core::directory::{Languages, ModelDirectory, ModelParts, Tokenizers};
use transformer_core::export::to_bergamot;
use transformer_core::import::marian::{EarlyStopping, Generation};
use transformer_core::import::{Marian, StateDict};
use transformer_core::text::{BOS, EOS, Tokenizer, TokenizerConfig, TokenizerKind};
use transformer_core::{
    ComputePrecision, Lexicon, PackedTransformer, Padded, Preset, Transformer, TransformerConfig,
};

use crate::marian::{fixture, read};
use crate::model::test_device;
use crate::weights::{random_model, rewrite};

pub(crate) const LINES: [&str; 3] = ["Good morning.", "The dog is never in the house.", "Where?"];
/// Words of which each may be a piece.
const WORDS: &str = "one two three four five six seven eight nine ten red blue green house door street river \
                     mountain water fire north south east west summer winter bread salt stone tree bird horse";
const PACKED_TOLERANCE: f32 = 1e-4;

pub(crate) fn config(vocab_size: usize) -> TransformerConfig {
    TransformerConfig {
        d_model: 64,
        d_ff: 128,
        n_heads: 4,
        n_encoder_layers: 2,
        ..Preset::FirefoxTiny.config(vocab_size, vocab_size)
    }
}

/// Returns a tokenizer that becomes a SentencePiece model with two tokens fewer.
fn unigram(vocab_size: usize) -> Tokenizer {
    let settings = TokenizerConfig {
        kind: TokenizerKind::Unigram,
        vocab_size,
        ..TokenizerConfig::default()
    };
    let lines = LINES.into_iter().chain([WORDS; 4]);
    let tokenizer = Tokenizer::train(&settings, lines).expect("the text has words");
    let found = tokenizer.vocab_size();
    assert_eq!(found, vocab_size, "the text has enough words");
    tokenizer
}

pub(crate) fn joint() -> Tokenizers {
    Tokenizers::Joint(unigram(42))
}

fn generation() -> Generation {
    Generation {
        num_beams: Some(3),
        max_len_factor: Some(2.0),
        length_penalty: 0.5,
        early_stopping: EarlyStopping::Never,
        ..Generation::default()
    }
}

/// Writes a model directory with a shortlist.
fn directory(path: &Path, model: &Transformer, tokenizers: &Tokenizers) -> ModelDirectory {
    let languages = Languages {
        src: "en".parse().ok(),
        tgt: "de".parse().ok(),
    };
    let mut training = serde_json::json!({});
    languages.write_to(&mut training);
    let weights = model.clone().into_record().into_bytes();
    let parts = ModelParts {
        config: model.config(),
        tokenizers,
        weights: &weights.expect("memory is writable"),
        training,
    };
    ModelDirectory::write(path, &parts).expect("there is room");
    let pairs = [(vec![5, 6], vec![7, 8]), (vec![6], vec![8, 9])];
    let shortlist = Lexicon::learn(&pairs).shortlist(model.config().src_vocab_size, 4, &[11, 12]);
    ModelDirectory::add_shortlist(path, &shortlist.with_copies()).expect("there is room");
    ModelDirectory::open(path).expect("it was just written")
}

/// Exports a model, and imports it again.
pub(crate) fn exported(model: &Transformer, tokenizers: &Tokenizers) -> (TempDir, Marian) {
    let folder = tempfile::tempdir().expect("there is room");
    let directory = directory(&folder.path().join("model"), model, tokenizers);
    let out = folder.path().join("out");
    let lines = LINES.map(str::to_owned);
    to_bergamot(&out, &directory, model, &generation(), &lines)
        .expect("the format has all settings");
    let marian = read(&out);
    (folder, marian)
}

fn tensors(model: &Transformer) -> Vec<(String, Vec<f32>)> {
    let weights = StateDict::from_model(model);
    let values = |name: &str| weights.tensor(name).map(|it| it.iter::<f32>().collect());
    weights
        .names()
        .map(|name| (name.to_owned(), values(name).unwrap_or_default()))
        .collect()
}

#[test]
fn an_imported_model_is_written_with_the_same_integers() {
    let tokenizers = joint();
    for (mixing, activation) in [
        (Mixing::Ssru, Activation::Relu),
        (Mixing::SelfAttention, Activation::Silu),
    ] {
        let config = TransformerConfig {
            decoder_mixing: mixing,
            activation,
            ..config(tokenizers.src().vocab_size())
        };
        let (_first, first) = exported(&random_model(&config, &test_device(), 5), &tokenizers);
        let (_second, second) = exported(&first.model, &first.tokenizers);
        assert_eq!(first.config, second.config);
        assert_eq!(first.generation, second.generation);
        assert_eq!(first.shortlist, second.shortlist);
        assert_eq!(tensors(&first.model), tensors(&second.model));
        let (mixing, activation) = (second.config.decoder_mixing, second.config.activation);
        assert_eq!(
            (mixing, activation),
            (config.decoder_mixing, config.activation)
        );
    }
}

#[test]
fn weights_are_rounded_to_integers_and_search_settings_kept() {
    let tokenizers = joint();
    let model = random_model(&config(tokenizers.src().vocab_size()), &test_device(), 6);
    let (_folder, marian) = exported(&model, &tokenizers);
    for ((name, before), (_, after)) in tensors(&model).iter().zip(&tensors(&marian.model)) {
        let largest = before
            .iter()
            .fold(0.0, |largest: f32, it| largest.max(it.abs()));
        // Rows of special tokens have no place in the format.
        let skipped = match name.as_str() {
            "src_vocabulary.weight" => 4 * 64,
            "output_bias" => 4,
            _ => 0,
        };
        for (before, after) in before.iter().zip(after).skip(skipped) {
            assert!(
                (before - after).abs() <= largest / 253.9,
                "{name}: {before} {after}"
            );
        }
    }
    assert_eq!(marian.generation, generation());
    assert_eq!(
        marian.languages.src.map(|it| it.to_string()).as_deref(),
        Some("en")
    );
    let shortlist = marian.shortlist.expect("the model has one");
    assert_eq!(
        shortlist.candidates(&[5, EOS]),
        [0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12][..]
    );
}

#[test]
fn two_vocabularies_are_two_files() {
    // Only the size of the target matters to the products of integers.
    let (src, tgt) = (unigram(37), unigram(42));
    let sizes = [&src, &tgt].map(Tokenizer::vocab_size);
    let separate = Tokenizers::Separate { src, tgt };
    let config = TransformerConfig {
        src_vocab_size: sizes[0],
        tgt_vocab_size: sizes[1],
        tying: Tying::Decoder,
        ..config(sizes[0])
    };
    let (_first, first) = exported(&random_model(&config, &test_device(), 4), &separate);
    let (_second, second) = exported(&first.model, &first.tokenizers);
    assert_eq!(first.config.tying, Tying::Decoder);
    assert_eq!(tensors(&first.model), tensors(&second.model));
    assert_eq!(
        second.files[1..3],
        ["srcvocab.ende.spm", "trgvocab.ende.spm"]
    );
    let ids = second.tokenizers.tgt().encode(LINES[0]);
    assert_eq!(ids, separate.tgt().encode(LINES[0]));
}

#[test]
fn a_unigram_tokenizer_becomes_a_sentencepiece_model() {
    let tokenizer = unigram(42);
    let tokenizers = Tokenizers::Joint(tokenizer.clone());
    let model = random_model(&config(tokenizer.vocab_size()), &test_device(), 7);
    let (_folder, marian) = exported(&model, &tokenizers);
    for line in LINES {
        assert_eq!(marian.tokenizers.src().encode(line), tokenizer.encode(line));
    }
    assert_eq!(
        marian.files[..2],
        ["model.ende.intgemm.alphas.bin", "vocab.ende.spm"]
    );
}

/// Returns the error of an export, which writes nothing.
fn refused(config: &TransformerConfig, tokenizers: &Tokenizers, lines: &[String]) -> String {
    let model = random_model(config, &test_device(), 8);
    refused_model(&model, tokenizers, lines)
}

fn refused_model(model: &Transformer, tokenizers: &Tokenizers, lines: &[String]) -> String {
    let folder = tempfile::tempdir().expect("there is room");
    let directory = directory(&folder.path().join("model"), model, tokenizers);
    let out = folder.path().join("out");
    let error = to_bergamot(&out, &directory, model, &generation(), lines);
    assert!(!out.exists());
    let error = error
        .expect_err("the format has no place for it")
        .to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn settings_without_a_place_in_the_format_are_named() {
    let tokenizers = joint();
    for (key, value) in [
        ("d_model", json!(96)),
        ("final_norm", json!(true)),
        ("norm_epsilon", json!(1e-5)),
        ("positions", json!("sinusoidal")),
        ("activation", json!("gelu")),
        ("start_from_zeros", json!(false)),
        ("tying", json!("none")),
        ("encoder_window", json!(3)),
    ] {
        let mut changed = json!(config(tokenizers.src().vocab_size()));
        changed[key] = value;
        let changed = serde_json::from_value(changed).expect("the value has the key's type");
        let error = refused(&changed, &tokenizers, &LINES.map(str::to_owned));
        assert!(error.contains(&format!("`{key}` is ")), "{error}");
    }
}

#[test]
fn other_vocabularies_and_missing_lines_are_refused() {
    let tokenizers = joint();
    let error = refused(&config(tokenizers.src().vocab_size()), &tokenizers, &[]);
    assert!(error.contains("--calibrate FILE"), "{error}");
    let settings = TokenizerConfig {
        vocab_size: 90,
        ..TokenizerConfig::default()
    };
    let bpe = Tokenizer::train(&settings, LINES).expect("the text has words");
    let lines = LINES.map(str::to_owned);
    let error = refused(&config(bpe.vocab_size()), &Tokenizers::Joint(bpe), &lines);
    assert!(error.contains("tokenizer.kind = \"unigram\""), "{error}");
}

#[test]
fn a_vocabulary_of_another_size_is_refused_with_one_that_fits() {
    let tokenizers = read(fixture("binary").path()).tokenizers;
    let config = config(tokenizers.src().vocab_size());
    let error = refused(&config, &tokenizers, &LINES.map(str::to_owned));
    assert!(
        error.contains("has 330 tokens") && error.contains("a vocabulary of 338 tokens"),
        "{error}"
    );
}

#[test]
fn values_that_are_not_finite_and_inputs_without_a_scale_are_named() {
    let tokenizers = joint();
    let model = random_model(&config(42), &test_device(), 8);
    let with = |part: &str, value: f32| {
        let model = rewrite(model.clone(), |name, entry| match name.contains(part) {
            true => vec![value; entry.values.len()],
            false => entry.values,
        });
        refused_model(&model, &tokenizers, &LINES.map(str::to_owned))
    };
    let error = with("encoder.layers.1.feed_forward.inner.weight", f32::NAN);
    assert!(
        error.starts_with("`encoder_l2_ffn_W1` has a value that is not finite"),
        "{error}"
    );
    // All values before the second matrix are 0.
    let error = with("encoder.layers.1.feed_forward.inner", 0.0);
    assert!(
        error.contains("the input of `encoder_l2_ffn_W2` the scale inf"),
        "{error}"
    );
}

#[test]
fn files_of_the_other_layout_are_removed() {
    let folder = tempfile::tempdir().expect("there is room");
    let out = folder.path().join("out");
    let tokenizers = joint();
    let model = random_model(&config(42), &test_device(), 3);
    let directory = directory(&folder.path().join("model"), &model, &tokenizers);
    fs::create_dir(&out).expect("there is room");
    for name in ["srcvocab.ende.spm", "trgvocab.ende.spm"] {
        fs::write(out.join(name), "of another model").expect("there is room");
    }
    let lines = LINES.map(str::to_owned);
    to_bergamot(&out, &directory, &model, &generation(), &lines)
        .expect("the format has all settings");
    let entries = fs::read_dir(&out).expect("it was written");
    let names = entries.map(|entry| entry.expect("it can be listed").file_name());
    let vocabularies = names.filter(|name| name.to_string_lossy().ends_with(".spm"));
    assert_eq!(vocabularies.collect::<Vec<_>>(), ["vocab.ende.spm"]);
}

#[test]
fn a_decoder_that_starts_from_zeros_does_not_read_the_embedding_of_the_start() {
    let device = test_device();
    let zeros = config(21);
    let embedding = TransformerConfig {
        start_from_zeros: false,
        ..zeros.clone()
    };
    let [model, other] = [&zeros, &embedding].map(|config| random_model(config, &device, 9));
    let src = [vec![4, 5, 6, EOS]];
    let logits = |model: &Transformer| -> Vec<f32> {
        let memory = model.encode(&Padded::new(&src, &device));
        let tgt =
            Tensor::<2, Int>::from_data(TensorData::new(vec![BOS as i32, 7, 8], [1, 3]), &device);
        let logits = model.decode(tgt, &mut model.begin(&memory));
        logits.into_data().iter::<f32>().collect()
    };
    let vectors = |model: &Transformer| -> Vec<f32> {
        let tgt =
            Tensor::<2, Int>::from_data(TensorData::new(vec![BOS as i32, 7], [1, 2]), &device);
        model.embed_tgt(tgt, 0).into_data().iter::<f32>().collect()
    };
    let (from_zeros, from_embedding) = (vectors(&model), vectors(&other));
    // The position alone: sines of 0, then cosines of 0.
    let expected: Vec<f32> = (0..64)
        .map(|feature| f32::from(u8::from(feature >= 32)))
        .collect();
    assert_eq!(from_zeros[..64], expected);
    assert_ne!(from_embedding[..64], expected);
    assert_eq!(from_zeros[64..], from_embedding[64..]);
    let packed = PackedTransformer::of(&model, ComputePrecision::F32);
    let mut workspace = transformer_core::packed::Workspace::new();
    let mut state = packed.begin(&src, &mut workspace);
    let mut found = Vec::new();
    for id in [BOS, 7, 8] {
        found.extend_from_slice(packed.step(&mut state, &[id], &mut workspace));
    }
    let module = logits(&model);
    assert!(
        found
            .iter()
            .zip(&module)
            .all(|(a, b)| (a - b).abs() < PACKED_TOLERANCE)
    );
    assert_ne!(module, logits(&other));
}
