//! Import of PyTorch models, which `tests/fixtures/imports/generate_imports.py` wrote.

use std::path::{Path, PathBuf};

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{TensorData, Tolerance};
use serde::Deserialize;
use transformer_core::config::{Mixing, Positions, Tying};
use transformer_core::import::{
    ImportError, Misfit, Names, PytorchNames, StateDict, StateDictError,
};
use transformer_core::{Transformer, TransformerConfig};

use crate::loss::Labels;
use crate::model::{forward, relative_difference, test_device};
use crate::weights::{gradients, weights};

/// For float32 compared with float64, in units of the largest logit.
const TOLERANCE: f64 = 1e-5;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Golden {
    pub(crate) config: TransformerConfig,
    src: Vec<Vec<u32>>,
    tgt: Vec<Vec<u32>>,
    /// `[n_tokens, vocab]`, row by row of the batch, without padding.
    logits: Vec<Vec<f64>>,
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/imports")
        .join(name)
}

pub(crate) fn pytorch() -> Golden {
    let json = include_str!("../fixtures/imports/pytorch.json");
    serde_json::from_str(json).expect("the generator writes the fields above")
}

pub(crate) fn annotated() -> Golden {
    let json = include_str!("../fixtures/imports/annotated.json");
    serde_json::from_str(json).expect("the generator writes the fields above")
}

pub(crate) fn read(name: &str) -> StateDict {
    StateDict::read(fixture(name)).expect("PyTorch wrote the file")
}

pub(crate) fn pytorch_names() -> Names {
    Names::Pytorch(PytorchNames::default())
}

fn import(dict: &StateDict, config: &TransformerConfig, names: &Names) -> Transformer {
    let imported = dict.to_transformer(config, names, &test_device());
    imported.expect("the state dict is of this config")
}

pub(crate) fn misfits(dict: &StateDict, config: &TransformerConfig, names: &Names) -> Vec<Misfit> {
    match dict.to_transformer(config, names, &test_device()) {
        Ok(_) => Vec::new(),
        Err(ImportError::Misfits { misfits }) => misfits,
        Err(error) => panic!("{error}"),
    }
}

pub(crate) fn names_of(misfits: &[Misfit]) -> Vec<String> {
    misfits.iter().map(ToString::to_string).collect()
}

impl Golden {
    pub(crate) fn check(&self, dict: &StateDict, names: &Names) {
        let logits = forward(&import(dict, &self.config, names), &self.src, &self.tgt);
        let [_, tgt_len, vocab] = logits.dims();
        let all: Vec<f64> = logits.into_data().iter::<f64>().collect();
        let rows = self.tgt.iter().zip(all.chunks(tgt_len * vocab));
        let real = rows.flat_map(|(row, logits)| logits[..row.len() * vocab].to_vec());
        let real: Vec<f64> = real.collect();
        let found = relative_difference(&real, &self.logits.concat(), 1.0);
        assert!(found < TOLERANCE, "{found:e}");
    }
}

#[test]
fn a_pt_file_of_torch_nn_transformer_gives_equal_logits() {
    pytorch().check(&read("pytorch.pt"), &pytorch_names());
}

#[test]
fn a_safetensors_file_of_torch_nn_transformer_gives_equal_logits() {
    pytorch().check(&read("pytorch.safetensors"), &pytorch_names());
}

#[test]
fn a_checkpoint_of_the_annotated_transformer_gives_equal_logits() {
    annotated().check(&read("annotated.pt").under("model"), &Names::Annotated);
}

#[test]
fn a_safetensors_file_of_the_annotated_transformer_gives_equal_logits() {
    annotated().check(&read("annotated.safetensors"), &Names::Annotated);
}

#[test]
fn tensors_outside_of_the_layers_may_have_other_names() {
    let mut dict = StateDict::default();
    let file = read("pytorch.pt");
    for name in file.names() {
        let tensor = file.tensor(name).expect("the name is from the file");
        let name = name.replace("transformer.", "");
        let name = name.replace("src_embedding", "embed.in");
        dict.insert(name, tensor.clone());
    }
    let names = PytorchNames {
        prefix: String::new(),
        src_embedding: Some("embed.in.weight".to_owned()),
        ..PytorchNames::default()
    };
    pytorch().check(&dict, &Names::Pytorch(names));
}

#[test]
fn an_imported_model_can_be_trained() {
    let Golden { config, .. } = pytorch();
    let device = test_device().autodiff();
    let model = read("pytorch.pt").to_transformer(&config, &pytorch_names(), &device);
    let model = model.expect("the state dict is of this config");
    let logits = forward(&model, &[vec![5, 4]], &[vec![2, 6, 11]]);
    let labels = Labels::new(&[vec![Some(6), Some(11), Some(3)]], 13, 0.1);
    let loss = labels.loss(logits);
    // Panics if a parameter has no gradient.
    let all = gradients(
        &model,
        &GradientsParams::from_grads(loss.backward(), &model),
    );
    assert_eq!(all.len(), weights(&model.valid()).len());
}

#[test]
fn one_message_lists_all_differences() {
    let mut dict = read("pytorch.pt");
    dict.remove("transformer.decoder.norm.bias");
    dict.remove("transformer.encoder.layers.1.self_attn.in_proj_weight");
    dict.insert("transformer.extra", TensorData::from([[0.5; 3]; 2]));
    dict.insert("output.weight", TensorData::from([[0.5; 7]; 13]));
    let error = dict
        .to_transformer(&pytorch().config, &pytorch_names(), &test_device())
        .expect_err("four tensors are wrong");
    assert_eq!(
        error.to_string(),
        "the state dict and the config differ in 4 places:\
         \n  `output.weight` has the shape [13, 7]; expected [13, 6]\
         \n  `transformer.decoder.norm.bias` is missing; expected the shape [6]\
         \n  `transformer.encoder.layers.1.self_attn.in_proj_weight` is missing; expected the shape [18, 6]\
         \n  `transformer.extra` is left over; it has the shape [2, 3], and the model has no such tensor"
    );
}

#[test]
fn an_extra_layer_is_left_over() {
    let mut config = pytorch().config;
    config.n_encoder_layers = 1;
    let misfits = misfits(&read("pytorch.pt"), &config, &pytorch_names());
    let is_of_layer = |misfit: &Misfit| {
        matches!(misfit, Misfit::LeftOver { name, .. }
            if name.starts_with("transformer.encoder.layers.1."))
    };
    // Four tensors of attention, four of the feed-forward network, two of each normalization.
    assert_eq!(misfits.len(), 12, "{misfits:?}");
    assert!(misfits.iter().all(is_of_layer), "{misfits:?}");
}

#[test]
fn an_unexpected_output_bias_is_refused_unless_it_is_zero() {
    let mut dict = read("annotated.safetensors");
    let mut bias = [0.0_f32; 13];
    bias[4] = -0.25;
    dict.insert("generator.proj.bias", TensorData::from(bias));
    let config = TransformerConfig {
        output_bias: false,
        ..annotated().config
    };
    assert_eq!(
        names_of(&misfits(&dict, &config, &Names::Annotated)),
        [
            "`generator.proj.bias` is not zero (its largest magnitude is 0.25), but the config has \
             no output bias; choose `output_bias: true`"
        ]
    );
    dict.insert("generator.proj.bias", TensorData::from([0.0_f32; 13]));
    assert_eq!(misfits(&dict, &config, &Names::Annotated), []);
}

#[test]
fn a_missing_output_bias_is_reported() {
    let mut dict = read("annotated.safetensors");
    dict.remove("generator.proj.bias");
    assert_eq!(
        names_of(&misfits(&dict, &annotated().config, &Names::Annotated)),
        ["`generator.proj.bias` is missing; expected the shape [13]"]
    );
}

#[test]
fn tables_of_sinusoids_are_left_over_if_positions_are_not_sinusoidal() {
    let config = TransformerConfig {
        positions: Positions::None,
        ..annotated().config
    };
    let misfits = misfits(&read("annotated.safetensors"), &config, &Names::Annotated);
    assert_eq!(
        names_of(&misfits),
        [
            "`src_embed.1.pe` is left over; it has the shape [1, 9, 8], and the model has no such tensor",
            "`tgt_embed.1.pe` is left over; it has the shape [1, 9, 8], and the model has no such tensor"
        ]
    );
}

#[test]
fn a_recurrence_without_names_is_refused_in_one_line() {
    let config = TransformerConfig {
        decoder_mixing: Mixing::Ssru,
        ..annotated().config
    };
    for names in [
        Names::Annotated,
        Names::Marian,
        Names::Pytorch(PytorchNames::default()),
    ] {
        let misfits = misfits(&read("annotated.safetensors"), &config, &names);
        assert_eq!(
            names_of(&misfits),
            [
                "`decoder.layers.0.recurrence.candidate.weight` of the model has no name in the state dict; give one, or \
                 choose a config without it"
            ]
        );
    }
}

#[test]
fn a_parameter_without_a_name_is_reported() {
    let config = TransformerConfig {
        positions: Positions::Learned,
        max_positions: 9,
        ..pytorch().config
    };
    let names = PytorchNames {
        src_positions: Some("positions.pe".to_owned()),
        ..PytorchNames::default()
    };
    let misfits = misfits(&read("pytorch.pt"), &config, &Names::Pytorch(names));
    assert_eq!(
        names_of(&misfits),
        [
            "`positions.pe` has the shape [1, 9, 6]; expected [9, 6]",
            "`tgt_positions.learned` of the model has no name in the state dict; give one, or choose a \
             config without it"
        ]
    );
}

#[test]
fn tied_matrices_must_be_equal() {
    let config = TransformerConfig {
        tying: Tying::Decoder,
        ..pytorch().config
    };
    let mut dict = read("pytorch.pt");
    assert_eq!(
        names_of(&misfits(&dict, &config, &pytorch_names())),
        [
            "`output.weight` differs from `tgt_embedding.weight`, but the config ties them; choose another \
             `tying`"
        ]
    );
    let embedding = dict.tensor("tgt_embedding.weight").cloned();
    let embedding = embedding.expect("the file has it");
    dict.insert("output.weight", embedding);
    assert_eq!(misfits(&dict, &config, &pytorch_names()), []);
}

// Programs that save a shared matrix once choose any of its names.
#[test]
fn a_tied_matrix_may_have_any_of_its_names() {
    let mut dict = read("pytorch.pt");
    let output = dict.tensor("output.weight").cloned();
    let output = output.expect("the file has it");
    dict.remove("src_embedding.weight");
    dict.remove("tgt_embedding.weight");
    let config = TransformerConfig {
        src_vocab_size: 13,
        tying: Tying::All,
        ..pytorch().config
    };
    let model = import(&dict, &config, &pytorch_names());
    model.src_embedding().into_data().assert_eq(&output, true);
}

#[test]
fn all_float_types_of_a_pt_file_and_strided_views_are_read() {
    let dict = read("dtypes.pt");
    let values = TensorData::from([[1.5_f32, -2.0, 0.25], [3.0, 0.0, -0.75]]);
    for name in ["double", "single", "half", "brain"] {
        let tensor = dict.tensor(name).cloned().expect("the file has it");
        tensor.convert::<f32>().assert_eq(&values, true);
    }
    let transposed = TensorData::from([[1.5_f32, 3.0], [-2.0, 0.0], [0.25, -0.75]]);
    let view = dict.tensor("view").expect("the file has it");
    view.assert_eq(&transposed, true);
}

#[test]
fn a_huge_tensor_of_repeated_values_is_refused() {
    let refused = StateDict::read(fixture("expanded.pt"));
    let message = refused.expect_err("it would be 4 GB").to_string();
    assert!(message.contains("`mask` in `"), "{message}");
    assert!(
        message.contains("repeats its values to 4000000000 bytes"),
        "{message}"
    );
}

#[test]
fn all_float_types_of_a_safetensors_file_are_read() {
    use safetensors::{Dtype, serialize, tensor::TensorView};
    // 1.5 = 1.1 in binary: sign 0, biased exponent, then the first bit of the fraction.
    let stored: [(&str, Dtype, &[u8]); 3] = [
        ("half", Dtype::F16, &[0x00, 0x3e]),
        ("brain", Dtype::BF16, &[0xc0, 0x3f]),
        ("double", Dtype::F64, &[0, 0, 0, 0, 0, 0, 0xf8, 0x3f]),
    ];
    let views = stored.map(|(name, dtype, bytes)| {
        let view = TensorView::new(dtype, vec![1], bytes);
        (name, view.expect("one value has this many bytes"))
    });
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("values");
    let bytes = serialize(views, None).expect("three values fit in memory");
    std::fs::write(&path, bytes).expect("there is room");
    let dict = StateDict::read(&path).expect("the file was just written");
    let found: Vec<f32> = dict
        .names()
        .flat_map(|name| dict.tensor(name))
        .flat_map(|tensor| tensor.iter::<f32>().collect::<Vec<_>>())
        .collect();
    assert_eq!(found, [1.5; 3]);
}

#[test]
fn half_precision_weights_are_rounded_to_11_bits() {
    let mut dict = read("annotated.safetensors");
    let name = "encoder.layers.0.feed_forward.w_1.weight";
    let single = dict.tensor(name).cloned().expect("the file has it");
    let half = single.clone().convert_dtype(burn::tensor::DType::F16);
    dict.insert(name, half);
    let model = import(&dict, &annotated().config, &Names::Annotated);
    let ours = &weights(&model)["encoder.layers.0.feed_forward.inner.weight"];
    let ours = TensorData::new(ours.values.clone(), ours.shape.clone());
    let transposed: Vec<f32> = (0..8)
        .flat_map(|column| single.iter::<f32>().skip(column).step_by(8))
        .collect();
    // Half precision has a significand of 11 bits.
    ours.assert_approx_eq::<f32>(
        &TensorData::new(transposed, [8, 11]),
        Tolerance::rel_abs(5e-4, 1e-7),
    );
}

#[test]
fn rows_can_be_reordered() {
    let mut dict = StateDict::default();
    dict.insert(
        "m",
        TensorData::from([[1.0_f32, 2.0], [3.0, 4.0], [5.0, 6.0]]),
    );
    dict.select_rows("m", &[2, 0, 1, 0]);
    let expected = TensorData::from([[5.0_f32, 6.0], [1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]);
    dict.tensor("m")
        .expect("it is there")
        .assert_eq(&expected, true);
}

#[test]
fn the_error_names_a_file_of_neither_format() {
    let path = fixture("pytorch.json");
    let error = StateDict::read(&path).expect_err("it is JSON");
    assert!(matches!(error, StateDictError::Pytorch { .. }), "{error:?}");
    assert!(error.to_string().contains("pytorch.json"), "{error}");
}

#[test]
fn the_error_names_a_truncated_safetensors_file() {
    let bytes = std::fs::read(fixture("pytorch.safetensors")).expect("it is there");
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("cut.safetensors");
    std::fs::write(&path, &bytes[..bytes.len() - 4]).expect("there is room");
    let error = StateDict::read(&path).expect_err("four bytes are gone");
    assert!(
        matches!(error, StateDictError::Safetensors { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("cut.safetensors"), "{error}");
}

#[test]
fn the_error_names_a_truncated_pt_file() {
    let bytes = std::fs::read(fixture("pytorch.pt")).expect("it is there");
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("cut.pt");
    std::fs::write(&path, &bytes[..bytes.len() / 2]).expect("there is room");
    let error = StateDict::read(&path).expect_err("half of it is gone");
    assert!(error.to_string().contains("cut.pt"), "{error}");
}

#[test]
fn a_model_much_larger_than_its_file_is_refused_before_allocation() {
    let config = TransformerConfig {
        d_ff: 1 << 18,
        n_encoder_layers: 1000,
        ..TransformerConfig::base(100, 100)
    };
    let refused = StateDict::default().to_transformer(&config, &Names::Annotated, &test_device());
    assert!(
        matches!(refused, Err(ImportError::TooSmall { n_values: 0, .. })),
        "{refused:?}"
    );
}
