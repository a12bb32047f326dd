//! Sums of products of 8-bit integers by the VNNI instructions of AVX-512 and of AVX, in the layout of
//! [`tile`](crate::tile).

#![expect(unsafe_code, reason = "the processor is asked for the instructions")]

use std::arch::x86_64::{
    __m256i, __m512i, _mm256_dpbusd_avx_epi32, _mm256_set1_epi32, _mm512_dpbusd_epi32,
    _mm512_set1_epi32,
};

use super::tile::{DEPTH, Line, MAX_ROWS, SIDE, Sums, Tile, Vectors};

/// Number of panels that are multiplied at once.
const PANELS: usize = 4;

/// Returns whether this processor has the instructions.
pub(crate) fn exist(vectors: Vectors) -> bool {
    match vectors {
        Vectors::Of512Bits => {
            is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni")
        }
        Vectors::Of256Bits => {
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("avxvnni")
        }
    }
}

/// Writes the sums of the products of rows of unsigned integers with four panels of columns, and of `starts`.
///
/// # Shapes
///
/// - `rows`: at least `[n_rows, stride]`, and the stride
/// - `columns`: at most `stride` tiles, equally many for all
/// - `sums`: `[n_rows, 4 * SIDE]`
///
/// # Panics
///
/// Panics if there are more than [`MAX_ROWS`] rows, or a slice is too short, or if the instructions do not exist.
pub(crate) fn sum(
    vectors: Vectors,
    n_rows: usize,
    rows: (&[Line], usize),
    columns: [&[Tile]; PANELS],
    starts: [&[i32; SIDE]; PANELS],
    sums: &mut Sums,
) {
    match n_rows {
        1 => sum_rows::<1>(vectors, rows, columns, starts, sums),
        2 => sum_rows::<2>(vectors, rows, columns, starts, sums),
        3 => sum_rows::<3>(vectors, rows, columns, starts, sums),
        4 => sum_rows::<4>(vectors, rows, columns, starts, sums),
        5 => sum_rows::<5>(vectors, rows, columns, starts, sums),
        MAX_ROWS => sum_rows::<MAX_ROWS>(vectors, rows, columns, starts, sums),
        _ => panic!("{n_rows} rows are not multiplied at once"),
    }
}

fn sum_rows<const M: usize>(
    vectors: Vectors,
    (rows, stride): (&[Line], usize),
    columns: [&[Tile]; PANELS],
    starts: [&[i32; SIDE]; PANELS],
    sums: &mut Sums,
) {
    assert!(exist(vectors), "this processor has the instructions");
    let depth = columns[0].len();
    let rows = std::array::from_fn(|row| &rows[row * stride..][..depth]);
    let columns = columns.map(|panel| &panel[..depth]);
    let (sums, _) = sums.0.as_chunks_mut::<{ PANELS * SIDE }>();
    // SAFETY: the processor has the instructions.
    unsafe {
        match vectors {
            Vectors::Of512Bits => sum_by_avx512::<M>(rows, columns, starts, sums),
            Vectors::Of256Bits => sum_by_avx::<M>(rows, columns, starts, sums),
        }
    }
}

#[target_feature(enable = "avx512f,avx512vnni")]
fn sum_by_avx512<const M: usize>(
    rows: [&[Line]; M],
    columns: [&[Tile]; PANELS],
    starts: [&[i32; SIDE]; PANELS],
    sums: &mut [[i32; PANELS * SIDE]],
) {
    let starts: [__m512i; PANELS] = starts.map(|start| bytemuck::cast(*start));
    let mut totals = [starts; M];
    for step in 0..columns[0].len() {
        let activations: [&[i32; DEPTH / 4]; M] =
            std::array::from_fn(|row| bytemuck::cast_ref(&rows[row][step]));
        let weights: [&[__m512i; DEPTH / 4]; PANELS] =
            std::array::from_fn(|panel| bytemuck::cast_ref(&columns[panel][step]));
        for k in 0..DEPTH / 4 {
            for row in 0..M {
                let activation = _mm512_set1_epi32(activations[row][k]);
                for panel in 0..PANELS {
                    totals[row][panel] =
                        _mm512_dpbusd_epi32(totals[row][panel], activation, weights[panel][k]);
                }
            }
        }
    }
    for (sums, totals) in sums.iter_mut().zip(totals) {
        *sums = bytemuck::cast(totals);
    }
}

#[target_feature(enable = "avx2,avxvnni")]
fn sum_by_avx<const M: usize>(
    rows: [&[Line]; M],
    columns: [&[Tile]; PANELS],
    starts: [&[i32; SIDE]; PANELS],
    sums: &mut [[i32; PANELS * SIDE]],
) {
    for (panel, start) in starts.into_iter().enumerate() {
        let start: [__m256i; 2] = bytemuck::cast(*start);
        let mut totals = [start; M];
        for (step, tile) in columns[panel].iter().enumerate() {
            let activations: [&[i32; DEPTH / 4]; M] =
                std::array::from_fn(|row| bytemuck::cast_ref(&rows[row][step]));
            let weights: &[[__m256i; 2]; DEPTH / 4] = bytemuck::cast_ref(tile);
            for k in 0..DEPTH / 4 {
                for row in 0..M {
                    let activation = _mm256_set1_epi32(activations[row][k]);
                    for half in 0..2 {
                        totals[row][half] = _mm256_dpbusd_avx_epi32(
                            totals[row][half],
                            activation,
                            weights[k][half],
                        );
                    }
                }
            }
        }
        for (sums, totals) in sums.iter_mut().zip(totals) {
            let totals: [i32; SIDE] = bytemuck::cast(totals);
            sums[panel * SIDE..][..SIDE].copy_from_slice(&totals);
        }
    }
}
