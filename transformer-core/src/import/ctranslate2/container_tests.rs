//! Tests of the container, on files that are written here.

use proptest::prelude::*;

use super::*;
use crate::directory::{ChannelAxis, quantize_matrix};

fn name(file: &mut Vec<u8>, text: &str) {
    file.extend((text.len() as u16 + 1).to_le_bytes());
    file.extend(text.bytes());
    file.push(0);
}

fn variable(file: &mut Vec<u8>, text: &str, shape: &[u32], dtype: DType, values: &[u8]) {
    name(file, text);
    file.push(shape.len() as u8);
    shape
        .iter()
        .for_each(|side| file.extend(side.to_le_bytes()));
    let number = TYPES.iter().position(|it| *it == dtype);
    file.push(number.expect("the format has the type") as u8);
    file.extend((values.len() as u32).to_le_bytes());
    file.extend(values);
}

/// Returns a file of today's version with these variables, and these aliases.
fn file(n_variables: u32, variables: &[u8], aliases: &[[&str; 2]]) -> Vec<u8> {
    let mut file = 6_u32.to_le_bytes().to_vec();
    name(&mut file, "TransformerSpec");
    file.extend(7_u32.to_le_bytes());
    file.extend(n_variables.to_le_bytes());
    file.extend(variables);
    file.extend((aliases.len() as u32).to_le_bytes());
    for text in aliases.as_flattened() {
        name(&mut file, text);
    }
    file
}

fn integers(values: &[i8]) -> Vec<u8> {
    values.iter().map(|value| value.cast_unsigned()).collect()
}

fn refusal(file: &[u8]) -> String {
    match Variables::read(file) {
        Ok(_) => panic!("the file is damaged"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn each_row_is_divided_by_its_scale() {
    let mut variables = Vec::new();
    let scales = [2.0_f32, 4.0].map(f32::to_le_bytes).concat();
    variable(
        &mut variables,
        "a/weight",
        &[2, 3],
        DType::I8,
        &integers(&[2, -4, 6, 2, -4, 6]),
    );
    variable(&mut variables, "a/weight_scale", &[2], DType::F32, &scales);
    let file = file(2, &variables, &[["b/weight", "a/weight"]]);
    let variables = Variables::read(&file[..]).expect("the file is valid");
    let expected = TensorData::new(vec![1.0_f32, -2.0, 3.0, 0.5, -1.0, 1.5], [2, 3]);
    for name in ["a/weight", "b/weight"] {
        assert_eq!(variables.tensor(name).expect("it has scales"), expected);
    }
}

#[test]
fn old_integers_of_16_bits_are_thousandths() {
    let mut variables = Vec::new();
    let values = [1500_i16, -250].map(i16::to_le_bytes).concat();
    variable(&mut variables, "a/weight", &[1, 2], DType::I16, &values);
    let file = file(1, &variables, &[]);
    let variables = Variables::read(&file[..]).expect("the file is valid");
    let found = variables.tensor("a/weight").expect("the scale is known");
    assert_eq!(found, TensorData::new(vec![1.5_f32, -0.25], [1, 2]));
}

#[test]
fn a_circle_of_aliases_is_refused() {
    let file = file(0, &[], &[["a", "b"], ["b", "a"]]);
    assert_eq!(
        refusal(&file),
        "`a` stands for `b`, which is not a variable or an alias before it; get the file again"
    );
}

#[test]
fn a_shape_that_overflows_is_refused() {
    let mut variables = Vec::new();
    variable(&mut variables, "a", &[u32::MAX; 3], DType::I8, &[0; 4]);
    let file = file(1, &variables, &[]);
    assert_eq!(
        refusal(&file),
        "`a` has the shape [4294967295, 4294967295, 4294967295], but the size 4; get the file again"
    );
}

#[test]
fn names_of_the_first_version_are_todays() {
    let names = [
        (
            "transformer/encoder/layer_0/multi_head/conv1d/kernel:0",
            "encoder/layer_0/self_attention/linear_0/weight",
        ),
        (
            "transformer/decoder/layer_1/masked_multi_head/conv1d_1/bias:0",
            "decoder/layer_1/self_attention/linear_1/bias",
        ),
        (
            "transformer/decoder/layer_1/multi_head/LayerNorm/gamma:0",
            "decoder/layer_1/attention/layer_norm/gamma",
        ),
        (
            "transformer/encoder/w_embs:0",
            "encoder/embeddings_0/weight",
        ),
        (
            "transformer/decoder/dense/kernel:0",
            "decoder/projection/weight",
        ),
    ];
    for (old, new) in names {
        assert_eq!(current_name(old, 1), new);
    }
}

proptest! {
    /// CTranslate2's scale of a row is 127 over the largest magnitude, so that one integer is ±127.
    #[test]
    fn integers_are_the_same_after_the_rounding_of_int8(
        row in proptest::collection::vec(-127_i8..=127, 1..40),
        largest in prop_oneof![Just(-127_i8), Just(127)],
        scale in 1e-3_f32..1e6,
    ) {
        let row = [&[largest], &row[..]].concat();
        let mut variables = Vec::new();
        let n_columns = row.len();
        variable(&mut variables, "a/weight", &[1, n_columns as u32], DType::I8, &integers(&row));
        variable(&mut variables, "a/weight_scale", &[1], DType::F32, &scale.to_le_bytes());
        let file = file(2, &variables, &[]);
        let tensor = Variables::read(&file[..]).and_then(|it| it.tensor("a/weight"));
        let tensor = tensor.expect("the file is valid");
        let values: Vec<f32> = tensor.iter::<f32>().collect();
        let (found, _) = quantize_matrix(&values, |it| it, [1, n_columns], ChannelAxis::Rows);
        prop_assert_eq!(found, row);
    }
}
