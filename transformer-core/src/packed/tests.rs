//! Comparisons of packed models with [`Transformer`]s.

use burn::module::Module;
use burn::tensor::{Int, Tensor, TensorData};

use super::*;
use crate::config::{
    Activation, Mixing, NormKind, NormPlacement, Positions, TransformerConfig, Tying,
};
use crate::directory::{LoadError, ModelDirectory, ModelParts, Precision, Tokenizers};
use crate::text::{BOS, EOS, Tokenizer, TokenizerConfig};
use crate::{AttentionMaps, AttentionMasks, Padded, Transformer, device, weights};

/// For sums of at most 64 products in another order, through 4 layers.
pub(super) const TOLERANCE: f32 = 2e-5;

pub(super) fn cpu() -> burn::tensor::Device {
    let (_, device) = device::choose(Some("flex")).expect("flex is compiled in");
    device
}

pub(super) fn configs() -> Vec<TransformerConfig> {
    let small = TransformerConfig {
        d_model: 24,
        d_ff: 40,
        n_heads: 3,
        n_encoder_layers: 2,
        n_decoder_layers: 2,
        ..TransformerConfig::base(50, 50)
    };
    vec![
        small.clone(),
        TransformerConfig {
            norm_placement: NormPlacement::Pre,
            final_norm: true,
            norm_kind: NormKind::Rms,
            positions: Positions::SinusoidalHalvesInclusive,
            first_position: 2,
            activation: Activation::Silu,
            gated_feed_forward: true,
            tying: Tying::Decoder,
            attention_bias: false,
            ..small.clone()
        },
        TransformerConfig {
            final_norm: true,
            positions: Positions::Learned,
            max_positions: 30,
            first_position: 2,
            embedding_norm: true,
            activation: Activation::Gelu,
            tying: Tying::None,
            tgt_vocab_size: 37,
            output_bias: true,
            d_k: Some(5),
            d_v: Some(11),
            scale_embeddings: false,
            ..small.clone()
        },
        TransformerConfig {
            positions: Positions::None,
            encoder_window: Some(2),
            decoder_window: Some(3),
            // Wider than the registers that sums are kept in.
            d_k: Some(33),
            d_v: Some(81),
            // More inputs than one block of a product.
            d_ff: 600,
            ..small.clone()
        },
        TransformerConfig {
            decoder_mixing: Mixing::Ssru,
            norm_placement: NormPlacement::Pre,
            final_norm: true,
            d_model: 34,
            n_heads: 2,
            ..small.clone()
        },
        TransformerConfig {
            decoder_mixing: Mixing::Ssru,
            ..small
        },
    ]
}

pub(super) fn random_model(config: &TransformerConfig) -> Transformer {
    weights::random_model(config, &cpu(), 5)
}

pub(super) fn sentences() -> Vec<Vec<u32>> {
    // One longer than a block of keys, one of EOS alone.
    let lens = [5, 19, 0, 1];
    let sentence = |len: &u32| {
        (0..*len)
            .map(|index| 4 + (index * 7 + len) % 30)
            .chain([EOS])
            .collect()
    };
    lens.iter().map(sentence).collect()
}

pub(crate) fn assert_close(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    let largest = expected
        .iter()
        .fold(1.0, |largest: f32, it| largest.max(it.abs()));
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() <= TOLERANCE * largest,
            "{found} {expected}"
        );
    }
}

/// Decodes `n_steps` tokens of each sentence; returns the logits of each step.
pub(super) fn decode(
    model: &PackedTransformer,
    sentences: &[Vec<u32>],
    n_steps: u32,
) -> Vec<Vec<f32>> {
    let mut workspace = Workspace::new();
    let mut state = model.begin(sentences, &mut workspace);
    let steps = (0..n_steps).map(|step| {
        let last: Vec<u32> = sentences.iter().map(|it| token(it, step)).collect();
        model.step(&mut state, &last, &mut workspace).to_vec()
    });
    steps.collect()
}

/// Returns the target token of a sentence at a step.
pub(super) fn token(sentence: &[u32], step: u32) -> u32 {
    match step {
        0 => BOS,
        step => 4 + (step * 5 + sentence.len() as u32) % 30,
    }
}

#[test]
fn a_packed_model_has_the_logits_of_the_model() {
    for config in configs() {
        let model = random_model(&config);
        let packed = PackedTransformer::of(&model, ComputePrecision::F32);
        let sentences = sentences();
        let mut state = model.begin(&model.encode(&Padded::new(&sentences, &cpu())));
        for (step, found) in (0..20).zip(decode(&packed, &sentences, 20)) {
            let last: Vec<i64> = sentences.iter().map(|it| token(it, step).into()).collect();
            let last = TensorData::new(last, [sentences.len(), 1]);
            let last = Tensor::<2, Int>::from_data(last, &cpu());
            let expected = model.decode(last, &mut state).into_data();
            assert_close(&found, expected.as_slice::<f32>().expect("logits are f32"));
        }
    }
}

#[test]
fn integers_approximate_the_model() {
    for config in configs() {
        let model = random_model(&config);
        let exact = PackedTransformer::of(&model, ComputePrecision::F32);
        let rounded = PackedTransformer::of(&model, ComputePrecision::Int8);
        for (exact, rounded) in
            decode(&exact, &sentences(), 5)
                .iter()
                .zip(decode(&rounded, &sentences(), 5))
        {
            let norm = |values: &mut dyn Iterator<Item = f32>| {
                values.map(|it| it * it).sum::<f32>().sqrt()
            };
            let error = norm(&mut exact.iter().zip(&rounded).map(|(a, b)| a - b));
            // Each of about 20 products in a row rounds weights and activations by at most 0.4% of the largest.
            // A gate multiplies two of these roundings.
            let share = if config.gated_feed_forward { 0.1 } else { 0.05 };
            assert!(error < share * norm(&mut exact.iter().copied()), "{error}");
            assert_ne!(*exact, rounded);
        }
    }
}

#[test]
fn the_logits_of_a_sentence_do_not_depend_on_its_batch_to_the_last_bit() {
    for config in configs() {
        let model = random_model(&config);
        for precision in ComputePrecision::ALL {
            let packed = PackedTransformer::of(&model, precision);
            let sentences = sentences();
            let together = decode(&packed, &sentences, 6);
            for (row, sentence) in sentences.iter().enumerate() {
                let alone = decode(&packed, std::slice::from_ref(sentence), 6);
                for (together, alone) in together.iter().zip(alone) {
                    assert_eq!(together[row * alone.len()..][..alone.len()], alone);
                }
            }
        }
    }
}

#[test]
fn threads_of_a_pool_do_not_change_a_bit() {
    let config = TransformerConfig {
        n_encoder_layers: 1,
        n_decoder_layers: 1,
        ..TransformerConfig::base(1000, 1000)
    };
    let model = random_model(&config);
    for precision in ComputePrecision::ALL {
        let packed = PackedTransformer::of(&model, precision);
        let on_threads = |n_threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(n_threads)
                .build();
            pool.expect("threads can be started")
                .install(|| decode(&packed, &sentences(), 3))
        };
        assert_eq!(on_threads(1), on_threads(3));
    }
}

#[test]
fn selected_rows_continue_as_if_they_had_been_alone() {
    for config in configs() {
        let packed = PackedTransformer::of(&random_model(&config), ComputePrecision::F32);
        let sentences = sentences();
        let mut workspace = Workspace::new();
        let mut state = packed.begin(&sentences, &mut workspace);
        // Each row: its sentence and its tokens.
        let mut rows: Vec<(usize, Vec<u32>)> =
            (0..sentences.len()).map(|it| (it, vec![])).collect();
        for (step, selected) in [
            vec![0, 0, 1, 3, 3],
            vec![4, 2, 0, 1, 1],
            vec![3, 2],
            vec![1, 0, 1],
        ]
        .into_iter()
        .enumerate()
        {
            let n_rows = rows.len();
            let last: Vec<u32> = (0..n_rows)
                .map(|row| 4 + (step * 11 + row * 3) as u32 % 30)
                .collect();
            let logits = packed.step(&mut state, &last, &mut workspace).to_vec();
            for ((row, (sentence, tokens)), last) in rows.iter_mut().enumerate().zip(&last) {
                tokens.push(*last);
                let mut workspace = Workspace::new();
                let mut alone = packed.begin(&sentences[*sentence..=*sentence], &mut workspace);
                let mut expected = Vec::new();
                for token in tokens {
                    expected = packed.step(&mut alone, &[*token], &mut workspace).to_vec();
                }
                let width = expected.len();
                assert_eq!(logits[row * width..][..width], expected);
            }
            state.select(&selected);
            rows = selected.iter().map(|row| rows[*row].clone()).collect();
            assert_eq!(state.n_rows(), rows.len());
        }
    }
}

#[test]
fn attention_is_the_mean_over_the_heads_of_the_last_layer() {
    for config in configs() {
        let model = random_model(&config);
        let packed = PackedTransformer::of(&model, ComputePrecision::F32);
        let sentences = sentences();
        let mut workspace = Workspace::new();
        let mut state = packed.begin(&sentences, &mut workspace);
        let last = vec![BOS; sentences.len()];
        let (_, found) = packed.step_with_attention(&mut state, &last, &mut workspace);
        let mut expected = model.begin(&model.encode(&Padded::new(&sentences, &cpu())));
        let last = Tensor::<2, Int>::full([sentences.len(), 1], BOS, &cpu());
        let mut maps = AttentionMaps::default();
        let masks = AttentionMasks::default();
        let _ = model.decode_with(last, &mut expected, &masks, Some(&mut maps));
        let map = maps.cross.pop().expect("there is a layer").mean_dim(1);
        let [_, _, _, width] = map.dims();
        let map = map.into_data();
        let map = map
            .as_slice::<f32>()
            .expect("weights are f32")
            .chunks_exact(width);
        for ((found, expected), sentence) in found.iter().zip(map).zip(&sentences) {
            assert_close(found, &expected[..sentence.len()]);
        }
    }
}

#[test]
fn nan_in_a_weight_makes_all_logits_of_the_row_nan() {
    let model = random_model(&configs()[0]);
    let model = weights::rewrite(model, |_, entry| vec![f32::NAN; entry.values.len()]);
    for precision in ComputePrecision::ALL {
        let packed = PackedTransformer::of(&model, precision);
        let logits = decode(&packed, &sentences(), 1).concat();
        assert!(logits.iter().all(|logit| logit.is_nan()), "{precision}");
    }
}

#[test]
fn one_nan_in_a_matrix_makes_logits_nan_in_every_precision() {
    let model = weights::rewrite(random_model(&configs()[0]), |_, mut entry| {
        if entry.shape.len() == 2 {
            let middle = entry.values.len() / 2 + 1;
            entry.values[middle] = f32::NAN;
        }
        entry.values
    });
    for precision in ComputePrecision::ALL {
        let packed = PackedTransformer::of(&model, precision);
        let logits = decode(&packed, &sentences(), 1).concat();
        assert!(logits.iter().any(|logit| logit.is_nan()), "{precision}");
    }
}

#[test]
#[should_panic(expected = "the source has the id 50, which is not in its vocabulary of 50 tokens")]
fn an_id_outside_of_the_vocabulary_is_refused() {
    let packed = PackedTransformer::of(&random_model(&configs()[0]), ComputePrecision::F32);
    let _ = packed.begin(&[[50, EOS]], &mut Workspace::new());
}

#[test]
#[should_panic(expected = "a sequence of 31 tokens exceeds the 30 learned positions")]
fn a_sentence_beyond_the_learned_positions_is_refused() {
    let packed = PackedTransformer::of(&random_model(&configs()[2]), ComputePrecision::F32);
    let _ = packed.begin(&[[EOS; 31]], &mut Workspace::new());
}

/// Writes a model with the vocabulary of a small tokenizer, and its config after a change.
fn write_model(directory: &std::path::Path, change: impl FnOnce(&mut TransformerConfig)) {
    let tokenizer = Tokenizer::train(&TokenizerConfig::default(), ["ein Haus", "a house"]);
    let tokenizer = tokenizer.expect("there is text");
    let n_tokens = tokenizer.vocab_size();
    let mut config = TransformerConfig {
        src_vocab_size: n_tokens,
        tgt_vocab_size: n_tokens,
        ..configs().swap_remove(0)
    };
    let weights = random_model(&config).into_record().into_bytes();
    change(&mut config);
    let parts = ModelParts {
        config: &config,
        tokenizers: &Tokenizers::Joint(tokenizer),
        weights: &weights.expect("weights fit in memory"),
        training: serde_json::Value::Null,
    };
    ModelDirectory::write(directory, &parts).expect("the directory is writable");
}

#[test]
fn a_model_in_floats_is_rounded_as_quantize_rounds_it() {
    let folder = tempfile::tempdir().expect("the system has temporary directories");
    let (floats, integers) = (folder.path().join("floats"), folder.path().join("integers"));
    write_model(&floats, |_| ());
    let floats = ModelDirectory::open(&floats).expect("it was just written");
    let written = floats.write_quantized(&integers, Precision::Int8);
    written.expect("the directory is writable");
    let integers = ModelDirectory::open(&integers).expect("it was just written");
    let logits = |directory: &ModelDirectory, precision| {
        let model = directory.load_packed(precision).expect("the weights load");
        decode_ids(&model, &[[4, 6, EOS]], &[BOS, 5, 7])
    };
    let rounded = logits(&integers, None);
    assert_eq!(logits(&floats, Some(ComputePrecision::Int8)), rounded);
    assert_ne!(logits(&floats, None), rounded);
    // In floats, the stored integers are exact.
    let from_integers = logits(&integers, Some(ComputePrecision::F32));
    let module = integers.load(&cpu()).expect("the weights load");
    let of_module = PackedTransformer::of(&module, ComputePrecision::F32);
    let of_module = decode_ids(&of_module, &[[4, 6, EOS]], &[BOS, 5, 7]);
    assert_eq!(from_integers, of_module);
}

/// Returns the logits after each of the tokens.
fn decode_ids(model: &PackedTransformer, sentence: &[[u32; 3]], tokens: &[u32]) -> Vec<Vec<f32>> {
    let mut workspace = Workspace::new();
    let mut state = model.begin(sentence, &mut workspace);
    let steps = tokens
        .iter()
        .map(|token| model.step(&mut state, &[*token], &mut workspace).to_vec());
    steps.collect()
}

#[test]
fn a_directory_with_weights_that_the_config_does_not_have_is_refused() {
    let directory = tempfile::tempdir().expect("the system has temporary directories");
    write_model(directory.path(), |config| config.attention_bias = false);
    let opened = ModelDirectory::open(&directory).expect("it was just written");
    let refused = opened.load_packed(None).map(drop);
    assert!(matches!(
        refused,
        Err(LoadError::Unused { tensor, .. }) if tensor.ends_with("cross_attention.key.bias")
    ));
}
