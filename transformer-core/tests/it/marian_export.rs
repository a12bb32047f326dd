//! Export to Marian's format of Hugging Face's Transformers, and import from it.

use std::fs;
use std::path::Path;

use burn::tensor::Tolerance;
use tempfile::TempDir;
use transformer_core::config::{NormKind, Positions, Tying};
use transformer_core::directory::Tokenizers;
use transformer_core::export::to_marian;
use transformer_core::import::marian::{EarlyStopping, Generation};
use transformer_core::import::{Marian, StateDict};
use transformer_core::text::{BOS, EOS, Tokenizer, TokenizerConfig};
use transformer_core::{Padded, Transformer, TransformerConfig};

use crate::marian::{fixture, read};
use crate::model::{random_model, test_device};

/// Exports an imported model.
fn export_of(marian: &Marian) -> TempDir {
    let folder = tempfile::tempdir().expect("there is room");
    let Marian {
        config,
        tokenizers,
        generation,
        model,
        ..
    } = marian;
    let exported = to_marian(folder.path(), model, config, tokenizers, generation);
    exported.expect("what came in can go out");
    folder
}

fn check_round_trip(name: &str) {
    let folder = fixture(name);
    let marian = read(folder.path());
    let exported = export_of(&marian);
    let again = read(exported.path());
    assert_eq!(again.config, marian.config);
    assert_eq!(again.generation, marian.generation);
    let (before, after) = (
        StateDict::from_model(&marian.model),
        StateDict::from_model(&again.model),
    );
    assert!(before.names().eq(after.names()));
    for name in before.names() {
        assert_eq!(before.tensor(name), after.tensor(name), "{name}");
    }
    for file in ["source.spm", "target.spm"] {
        let bytes = |folder: &Path| fs::read(folder.join(file)).expect("it is there");
        assert_eq!(bytes(exported.path()), bytes(folder.path()), "{file}");
    }
    for (before, after) in [
        (marian.tokenizers.src(), again.tokenizers.src()),
        (marian.tokenizers.tgt(), again.tokenizers.tgt()),
    ] {
        assert_eq!(before.to_json(), after.to_json());
    }
}

#[test]
fn a_model_with_one_shared_matrix_survives_a_round_trip() {
    check_round_trip("shared");
}

#[test]
fn a_model_with_three_matrices_survives_a_round_trip() {
    check_round_trip("separate");
}

#[test]
fn an_export_has_the_tensors_that_transformers_saved() {
    let folder = fixture("shared");
    let exported = export_of(&read(folder.path()));
    let file = |folder: &Path| StateDict::read(folder.join("model.safetensors"));
    let (theirs, ours) = (file(folder.path()), file(exported.path()));
    let (theirs, ours) = (theirs.expect("it is whole"), ours.expect("it is whole"));
    assert!(theirs.names().eq(ours.names()));
    for name in theirs.names() {
        assert_eq!(theirs.tensor(name), ours.tensor(name), "{name}");
    }
}

#[test]
fn a_model_that_was_trained_here_survives_a_round_trip() {
    let lines = ["a dog runs", "a cat sleeps"];
    let tagged = TokenizerConfig {
        user_symbols: vec![">>deu<<".to_owned()],
        ..TokenizerConfig::default()
    };
    let tokenizer = Tokenizer::train(&tagged, lines).expect("there are words");
    let n_tokens = tokenizer.vocab_size();
    let config = TransformerConfig {
        d_model: 12,
        d_ff: 10,
        n_heads: 3,
        positions: Positions::SinusoidalHalves,
        tying: Tying::Decoder,
        output_bias: true,
        ..TransformerConfig::tiny(n_tokens, n_tokens)
    };
    let model = random_model(&config, 1);
    let folder = tempfile::tempdir().expect("there is room");
    let generation = Generation {
        num_beams: Some(3),
        max_len: Some(77),
        length_penalty: 0.5,
        early_stopping: EarlyStopping::Never,
        // Tokens that our search never generates.
        banned: vec![vec![0], vec![2], vec![1]],
        renormalizes: true,
        forces_end: false,
        ..Generation::default()
    };
    let tokenizers = Tokenizers::Joint(tokenizer);
    let exported = to_marian(folder.path(), &model, &config, &tokenizers, &generation);
    exported.expect("Marian's models can be all this");
    let again = read(folder.path());
    assert_eq!(again.config, config);
    assert_eq!(again.generation, generation);
    assert_eq!(again.tokenizers.src().to_json(), tokenizers.src().to_json());
    assert_eq!(again.tokenizers.src().encode(">>deu<<"), [4]);
    let (before, after) = (
        StateDict::from_model(&model),
        StateDict::from_model(&again.model),
    );
    assert!(before.names().eq(after.names()));
    for name in before.names() {
        assert_eq!(before.tensor(name), after.tensor(name), "{name}");
    }
}

#[test]
fn interleaved_sinusoids_are_reordered_with_the_same_results() {
    let tokenizer = Tokenizer::train(&TokenizerConfig::default(), ["a dog runs", "a cat sleeps"]);
    let tokenizer = tokenizer.expect("there are words");
    let n_tokens = tokenizer.vocab_size();
    for tying in [Tying::None, Tying::All] {
        let config = TransformerConfig {
            d_model: 12,
            d_ff: 10,
            n_heads: 3,
            tying,
            output_bias: true,
            ..TransformerConfig::tiny(n_tokens, n_tokens)
        };
        assert_eq!(config.positions, Positions::Sinusoidal);
        let device = test_device();
        let model = random_model(&config, 1);
        let folder = tempfile::tempdir().expect("there is room");
        let tokenizers = Tokenizers::Joint(tokenizer.clone());
        let generation = Generation::default();
        let exported = to_marian(folder.path(), &model, &config, &tokenizers, &generation);
        exported.expect("the features can be reordered");
        let again = read(folder.path());
        assert_eq!(again.config.positions, Positions::SinusoidalHalves);
        let src = Padded::new(&[vec![5, 7, 4, 6, EOS], vec![8, EOS]], &device);
        let tgt = Padded::new(&[vec![BOS, 7, 4], vec![BOS, 5]], &device);
        let logits = |model: &Transformer| model.forward(&src, tgt.ids()).into_data();
        // Sums over 12 features in another order.
        let tolerance = Tolerance::absolute(1e-4);
        logits(&again.model).assert_approx_eq::<f32>(&logits(&model), tolerance);
    }
}

/// Settings that a saved model has only if they differ from the default.
#[test]
fn settings_that_an_export_does_not_know_are_refused() {
    let tokenizer = Tokenizer::train(&TokenizerConfig::default(), ["a"]).expect("there are words");
    let n_tokens = tokenizer.vocab_size();
    let config = TransformerConfig {
        d_model: 12,
        n_heads: 3,
        norm_kind: NormKind::Rms,
        ..TransformerConfig::tiny(n_tokens, n_tokens)
    };
    let model = random_model(&config, 1);
    let out = tempfile::tempdir().expect("there is room");
    let tokenizers = Tokenizers::Joint(tokenizer);
    let refused = to_marian(
        out.path(),
        &model,
        &config,
        &tokenizers,
        &Generation::default(),
    );
    assert_eq!(
        refused
            .expect_err("MarianMTModel has no RMSNorm")
            .to_string(),
        "`norm_kind` is \"rms\", but Marian's models support only the default; retrain with another \
         `model.norm_kind`, or choose another format"
    );
}

#[test]
fn unsupported_settings_are_refused() {
    let tokenizer = Tokenizer::train(&TokenizerConfig::default(), ["a"]).expect("there are words");
    let n_tokens = tokenizer.vocab_size();
    let config = TransformerConfig {
        d_model: 12,
        n_heads: 3,
        positions: Positions::Learned,
        ..TransformerConfig::tiny(n_tokens, n_tokens)
    };
    let model = random_model(&config, 1);
    let folder = tempfile::tempdir().expect("there is room");
    let tokenizers = Tokenizers::Joint(tokenizer);
    let out = folder.path().join("out");
    let refused = to_marian(&out, &model, &config, &tokenizers, &Generation::default());
    let message = refused.expect_err("the positions are learned").to_string();
    assert_eq!(
        message,
        "`positions` is \"learned\", but Marian's models support only sinusoidal and sinusoidal_halves; retrain with \
         another `model.positions`, or choose another format"
    );
    assert!(!out.exists());
}
