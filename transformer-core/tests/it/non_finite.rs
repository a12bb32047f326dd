//! Imports refuse weights that are NaN or infinite.

use burn::tensor::TensorData;
use transformer_core::import::{Names, StateDict};

use crate::import::{Golden, annotated, misfits, names_of, pytorch, pytorch_names, read};

/// Replaces a value of a tensor of single precision.
fn with_value(dict: &StateDict, name: &str, index: usize, value: f32) -> StateDict {
    let mut changed = dict.clone();
    let tensor = dict.tensor(name).expect("the file has the tensor");
    let shape: Vec<usize> = tensor.shape().iter().copied().collect();
    let mut values: Vec<f32> = tensor.iter::<f32>().collect();
    values[index] = value;
    changed.insert(name, TensorData::new(values, shape));
    changed
}

#[test]
fn a_weight_that_is_nan_or_infinite_is_refused_with_its_tensor_and_position() {
    let Golden { config, .. } = pytorch();
    let name = "transformer.encoder.layers.0.linear1.weight";
    let dict = read("pytorch.safetensors");
    let columns = dict.tensor(name).expect("the file has it").shape()[1];
    for (value, spelling) in [
        (f32::NAN, "NaN"),
        (f32::INFINITY, "inf"),
        (f32::NEG_INFINITY, "-inf"),
    ] {
        let broken = with_value(&dict, name, 2 * columns + 1, value);
        let misfits = names_of(&misfits(&broken, &config, &pytorch_names()));
        assert_eq!(
            misfits,
            [format!(
                "`{name}` is {spelling} at [2, 1], in single precision; every weight must be finite: get the file \
                 again, or a checkpoint from before its training diverged"
            )]
        );
    }
}

#[test]
fn a_weight_that_makes_sums_overflow_is_refused() {
    let Golden { config, .. } = pytorch();
    let name = "transformer.encoder.layers.0.linear1.bias";
    let broken = with_value(&read("pytorch.safetensors"), name, 1, -2.5e38);
    let misfits = names_of(&misfits(&broken, &config, &pytorch_names()));
    assert_eq!(
        misfits,
        [format!(
            "`{name}` is -2.5e38 at [1]; with a weight beyond 1e15 a model can compute NaN: get the file again, or a \
             checkpoint from before its training diverged"
        )]
    );
}

#[test]
fn a_weight_beyond_single_precision_is_refused() {
    let Golden { config, .. } = pytorch();
    let name = "transformer.encoder.layers.0.linear1.bias";
    let mut dict = read("pytorch.pt");
    let tensor = dict.tensor(name).expect("the file has the tensor");
    let mut values: Vec<f64> = tensor.iter::<f64>().collect();
    values[3] = -1e39;
    let len = values.len();
    dict.insert(name, TensorData::new(values, [len]));
    let misfits = names_of(&misfits(&dict, &config, &pytorch_names()));
    assert_eq!(misfits.len(), 1);
    assert!(misfits[0].starts_with(&format!("`{name}` is -inf at [3], in single precision;")));
}

#[test]
fn a_tensor_that_the_model_does_not_use_may_have_nan() {
    let dict = read("annotated.pt");
    let unused = dict.names().find(|name| !name.starts_with("model."));
    let unused = unused
        .expect("a checkpoint has more than weights")
        .to_owned();
    let broken = with_value(&dict, &unused, 0, f32::NAN);
    annotated().check(&broken.under("model"), &Names::Annotated);
}
