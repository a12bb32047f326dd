//! Products of bfloat16, compared with double precision.

use half::bf16;

use super::*;
use crate::gemm;

/// Returns whether tests can use tiles; prints the reason if not.
#[expect(clippy::print_stderr, reason = "a skipped test prints its reason")]
fn tiles_exist() -> bool {
    let exist = is_available();
    if !exist {
        eprintln!("skipped: this processor or system has no AMX for bfloat16");
    }
    exist
}

/// Values from −2 to 2, of which some are halfway between two bfloat16.
fn values(n: usize, factor: usize) -> Vec<f32> {
    let value = |index: usize| ((index * factor) % 2039) as f32 / 512.0 - 2.0;
    (0..n).map(value).collect()
}

fn at(matrix: &[f32], width: usize, [row, column]: [usize; 2], is_transposed: bool) -> f64 {
    let height = matrix.len() / width;
    let index = match is_transposed {
        true => column * height + row,
        false => row * width + column,
    };
    bf16::from_f32(matrix[index]).to_f64()
}

/// Compares products of all transpositions with those in double precision.
fn assert_close([m, k, n]: [usize; 3], output: Output) {
    let (left, right, start) = (values(m * k, 331), values(k * n, 577), values(m * n, 89));
    for (left_transposed, right_transposed) in
        [(false, false), (false, true), (true, false), (true, true)]
    {
        let view = |elements, shape: [usize; 2], is_transposed| match is_transposed {
            true => Matrix::new(elements, [shape[1], shape[0]]).transposed(),
            false => Matrix::new(elements, shape),
        };
        let mut found = start.clone();
        let left_view = view(&left, [m, k], left_transposed);
        multiply(
            left_view,
            view(&right, [k, n], right_transposed),
            &mut found,
            output,
        );
        for (index, found) in found.into_iter().enumerate() {
            let (row, column) = (index / n, index % n);
            let before = match output {
                Output::Overwrite => 0.0,
                Output::Accumulate => f64::from(start[index]),
            };
            let (mut sum, mut size) = (before, before.abs());
            for step in 0..k {
                let product = at(&left, k, [row, step], left_transposed)
                    * at(&right, n, [step, column], right_transposed);
                sum += product;
                size += product.abs();
            }
            // Every addition rounds to single precision.
            let bound = (k + 1) as f64 * f64::from(f32::EPSILON) / 2.0 * size;
            let difference = (f64::from(found) - sum).abs();
            assert!(
                difference <= bound,
                "[{m}, {k}, {n}] at {row}, {column}: {found} in place of {sum}"
            );
        }
    }
}

#[test]
fn products_are_those_of_rounded_factors_at_all_edges_of_tiles() {
    if !tiles_exist() {
        return;
    }
    for shape in [
        [1, 1, 1],
        [1, 33, 2],
        [3, 2, 70],
        [31, 32, 33],
        [32, 64, 32],
        [47, 31, 16],
        [70, 513, 17],
        [5, 1100, 130],
        [66, 3, 1031],
    ] {
        assert_close(shape, Output::Overwrite);
        assert_close(shape, Output::Accumulate);
    }
}

#[test]
fn a_product_without_terms_is_zero() {
    if !tiles_exist() {
        return;
    }
    let mut product = [1.0; 6];
    let (left, right) = (Matrix::new(&[], [2, 0]), Matrix::new(&[], [0, 3]));
    multiply(left, right, &mut product, Output::Accumulate);
    assert_eq!(product, [1.0; 6]);
    multiply(left, right, &mut product, Output::Overwrite);
    assert_eq!(product, [0.0; 6]);
}

#[test]
fn some_columns_of_a_matrix_are_multiplied_alone() {
    if !tiles_exist() {
        return;
    }
    let (left, right) = (values(40 * 50, 7), values(40 * 3, 13));
    let (left, right) = (Matrix::new(&left, [40, 50]), Matrix::new(&right, [40, 3]));
    let mut all = vec![0.0; 50 * 3];
    multiply(left.transposed(), right, &mut all, Output::Overwrite);
    let mut some = vec![0.0; 20 * 3];
    multiply(
        left.columns(30..50).transposed(),
        right,
        &mut some,
        Output::Overwrite,
    );
    assert_eq!(some, all[30 * 3..]);
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    if !tiles_exist() {
        return;
    }
    let [m, k, n] = [150, 1300, 1100];
    let (left, right) = (values(m * k, 331), values(k * n, 577));
    let with = |n_threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(n_threads)
            .build();
        let mut product = vec![0.5; m * n];
        let (left, right) = (Matrix::new(&left, [m, k]), Matrix::new(&right, [k, n]));
        let pool = pool.expect("three threads can be started");
        pool.install(|| multiply(left, right, &mut product, Output::Accumulate));
        product
    };
    assert_eq!(with(1), with(3));
}

/// All signs and exponents, with mantissas below, at and above the middle between two bfloat16.
fn all_exponents() -> Vec<f32> {
    let mantissas = [
        0, 1, 0x7fff, 0x8000, 0x8001, 0x1_7fff, 0x1_8000, 0x7f_8000, 0x7f_ffff,
    ];
    let bits = (0..512_u32).flat_map(|exponent| mantissas.map(|it| exponent << 23 | it));
    bits.map(f32::from_bits).collect()
}

/// Returns the bits of a number rounded by the `half` crate; zero for magnitudes below 1e-38.
fn rounded(number: f32) -> u16 {
    let number = match number.is_subnormal() {
        true => 0.0_f32.copysign(number),
        false => number,
    };
    bf16::from_f32(number).to_bits()
}

#[test]
fn numbers_are_rounded_as_by_the_half_crate() {
    if !tiles_exist() {
        return;
    }
    let numbers = all_exponents();
    for rows in numbers.as_chunks().0.as_chunks::<SIDE>().0 {
        let found: [[u16; STEP]; SIDE] = bytemuck::cast(round_rows(rows.each_ref()));
        assert_eq!(found, rows.map(|row| row.map(rounded)), "{rows:?}");
    }
    for rows in numbers.as_chunks().0.as_chunks::<STEP>().0 {
        let found: [[[u16; 2]; SIDE]; SIDE] = bytemuck::cast(round_columns(rows.each_ref()));
        for (found, [low, high]) in found.iter().zip(rows.as_chunks().0) {
            let expected = std::array::from_fn(|column| [low[column], high[column]].map(rounded));
            assert_eq!(*found, expected, "{low:?} {high:?}");
        }
    }
}

#[test]
fn blocks_are_transposed() {
    if !tiles_exist() {
        return;
    }
    let block: Block =
        std::array::from_fn(|row| std::array::from_fn(|column| (row << 8 | column) as u32));
    let expected =
        std::array::from_fn(|row| std::array::from_fn(|column| (column << 8 | row) as u32));
    assert_eq!(transposed(block), expected);
}

#[test]
fn infinite_and_missing_numbers_stay_what_they_are() {
    if !tiles_exist() {
        return;
    }
    let left = [f32::INFINITY, 1.0, f32::NAN, 1.0];
    let right = [1.0, 2.0];
    let mut product = [0.0; 2];
    let (left, right) = (Matrix::new(&left, [2, 2]), Matrix::new(&right, [2, 1]));
    multiply(left, right, &mut product, Output::Overwrite);
    assert!(
        product[0] == f32::INFINITY && product[1].is_nan(),
        "{product:?}"
    );
}

#[test]
fn factors_of_few_bits_have_the_product_of_single_precision() {
    if !tiles_exist() {
        return;
    }
    // Eighths up to 4: every sum of products has less than 24 bits.
    let values = |n: usize, factor: usize| -> Vec<f32> {
        (0..n)
            .map(|index| ((index * factor) % 61) as f32 / 8.0 - 4.0)
            .collect()
    };
    let [m, k, n] = [45, 600, 90];
    let (left, right) = (values(m * k, 7), values(k * n, 11));
    let (left, right) = (Matrix::new(&left, [m, k]), Matrix::new(&right, [k, n]));
    let products = [multiply, gemm::multiply].map(|multiply| {
        let mut product = vec![f32::NAN; m * n];
        multiply(left, right, &mut product, Output::Overwrite);
        product
    });
    assert_eq!(products[0], products[1]);
}
