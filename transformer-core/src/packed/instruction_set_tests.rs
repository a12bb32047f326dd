//! Packed models with every instruction set.
//!
//! Vectors of 8 and of 16 lanes give the same bits: each sum has an order that does not depend on
//! the lanes, and products are fused with sums. So processors with AVX2 and with AVX-512 give the
//! same translations. The scalar code does not fuse: without the instruction, a fused product is a
//! call of a function. Its scores differ by rounding, in attention alone.

use transformer_kernels::{quantize_rows, with_each_instruction_set};

use super::tests::{assert_close, configs, decode, random_model, sentences};
use super::*;
use crate::text::BOS;

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn vectors_of_every_length_give_the_same_logits_to_the_last_bit() {
    for config in configs() {
        let model = random_model(&config);
        for precision in ComputePrecision::ALL {
            let packed = PackedTransformer::of(&model, precision);
            let (_, vectors) =
                with_each_instruction_set(|| decode(&packed, &sentences(), 20).concat());
            for pair in vectors.windows(2) {
                let [(narrow, expected), (wide, found)] = pair else {
                    unreachable!("windows have two elements");
                };
                assert_eq!(bits(found), bits(expected), "{narrow:?} {wide:?}");
            }
        }
    }
}

#[test]
fn vectors_of_every_length_give_the_same_attention_to_the_last_bit() {
    for config in configs() {
        let packed = PackedTransformer::of(&random_model(&config), ComputePrecision::F32);
        let (_, vectors) = with_each_instruction_set(|| {
            let mut workspace = Workspace::new();
            let mut state = packed.begin(&sentences(), &mut workspace);
            let last = vec![BOS; sentences().len()];
            let (_, weights) = packed.step_with_attention(&mut state, &last, &mut workspace);
            bits(&weights.concat())
        });
        for pair in vectors.windows(2) {
            assert_eq!(pair[0].1, pair[1].1);
        }
    }
}

#[test]
fn the_scalar_code_gives_the_logits_of_vectors_up_to_rounding() {
    for config in configs() {
        let packed = PackedTransformer::of(&random_model(&config), ComputePrecision::F32);
        let (scalar, vectors) =
            with_each_instruction_set(|| decode(&packed, &sentences(), 20).concat());
        for (_, found) in vectors {
            assert_close(&found, &scalar);
        }
    }
}

#[test]
fn integers_and_scales_are_the_same_with_every_instruction_set() {
    let special = [f32::NAN, f32::INFINITY, -0.0, f32::MIN_POSITIVE / 4.0, 3e38];
    for width in [1, 5, 16, 37, 513] {
        for value in special {
            for index in [0, width / 2, width - 1] {
                let value_at = |at: usize| match at % width == index && at >= width {
                    true => value,
                    // Ties, which are rounded to even.
                    false => ((at * 31) % 255) as f32 / 2.0 - 63.5,
                };
                let x: Vec<f32> = (0..3 * width).map(value_at).collect();
                let (expected, vectors) = with_each_instruction_set(|| {
                    let (mut integers, mut scales) = (vec![0; x.len()], vec![0.0; 3]);
                    quantize_rows(&x, [width; 2], 128, &mut integers, &mut scales);
                    let scales = scales.iter().map(|it| (it.is_nan(), it.max(0.0).to_bits()));
                    (integers, scales.collect::<Vec<_>>())
                });
                for (arch, found) in vectors {
                    assert_eq!(found, expected, "{arch:?}, {width}, {value} at {index}");
                }
            }
        }
    }
}
