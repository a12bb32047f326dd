//! Conversion to bfloat16 by the vector instructions of the processors that multiply it in tiles.

#![expect(
    unsafe_code,
    reason = "the compiler does not know that a processor with tiles has these instructions"
)]

use std::arch::x86_64::{
    __m512, __m512bh, __m512i, _mm512_cvtne2ps_pbh, _mm512_permutex2var_epi32,
    _mm512_permutexvar_epi16,
};
use std::mem::transmute;

use super::has_bf16;
use crate::tile::{Block, SIDE};

/// Rounds rows: `[SIDE rows, SIDE pairs]`.
///
/// # Panics
///
/// Panics without [`has_bf16`].
pub(crate) fn round_rows(rows: [&[f32; 2 * SIDE]; SIDE]) -> Block {
    assert!(has_bf16(), "this processor does not round to bfloat16");
    // SAFETY: the processor has the instructions.
    unsafe { round_rows_by_vectors(rows) }
}

/// Rounds the columns of two rows at a time: `[SIDE pairs, SIDE columns]`.
///
/// # Panics
///
/// Panics without [`has_bf16`].
pub(crate) fn round_columns(rows: [&[f32; SIDE]; 2 * SIDE]) -> Block {
    assert!(has_bf16(), "this processor does not round to bfloat16");
    // SAFETY: the processor has the instructions.
    unsafe { round_columns_by_vectors(rows) }
}

/// Returns the transposed block.
///
/// # Panics
///
/// Panics without [`has_bf16`].
pub(crate) fn transposed(block: Block) -> Block {
    assert!(has_bf16(), "this processor has no wide vectors");
    // SAFETY: the processor has the instructions.
    unsafe { transposed_by_vectors(block) }
}

#[target_feature(enable = "avx512f,avx512bf16")]
fn round_rows_by_vectors(rows: [&[f32; 2 * SIDE]; SIDE]) -> Block {
    let mut block = Block::default();
    for (pairs, row) in block.iter_mut().zip(rows) {
        // SAFETY: all of them are 64 bytes, or twice as many, and have a meaning for any bits.
        *pairs = unsafe {
            let [low, high] = transmute::<[f32; 2 * SIDE], [__m512; 2]>(*row);
            transmute::<__m512bh, [u32; SIDE]>(_mm512_cvtne2ps_pbh(high, low))
        };
    }
    block
}

#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
fn round_columns_by_vectors(rows: [&[f32; SIDE]; 2 * SIDE]) -> Block {
    /// The first number of the lower half, the first of the upper half, the second of the lower half and so on.
    const TURNS: [u16; 2 * SIDE] = {
        let mut turns = [0; 2 * SIDE];
        let mut index = 0;
        while index < turns.len() {
            turns[index] = (index / 2 + index % 2 * SIDE) as u16;
            index += 1;
        }
        turns
    };
    let mut block = Block::default();
    for (pairs, [low, high]) in block.iter_mut().zip(rows.as_chunks().0) {
        // SAFETY: all of them are 64 bytes, and have a meaning for any bits.
        *pairs = unsafe {
            let [low, high] = [low, high].map(|row| transmute::<[f32; SIDE], __m512>(**row));
            let halves = transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(high, low));
            let turns = transmute::<[u16; 2 * SIDE], __m512i>(TURNS);
            transmute::<__m512i, [u32; SIDE]>(_mm512_permutexvar_epi16(turns, halves))
        };
    }
    block
}

/// Exchanges quarters of the block, of its quarters, and so on.
#[target_feature(enable = "avx512f")]
fn transposed_by_vectors(block: Block) -> Block {
    // SAFETY: a row is 64 bytes, and has a meaning for any bits.
    let mut rows = unsafe { transmute::<Block, [__m512i; SIDE]>(block) };
    for half in [8, 4, 2, 1] {
        let [upper, lower] = exchange(half);
        for row in (0..SIDE).filter(|row| row & half == 0) {
            let [above, below] = [rows[row], rows[row + half]];
            rows[row] = _mm512_permutex2var_epi32(above, upper, below);
            rows[row + half] = _mm512_permutex2var_epi32(above, lower, below);
        }
    }
    // SAFETY: as above.
    unsafe { transmute::<[__m512i; SIDE], Block>(rows) }
}

/// Returns the numbers of the elements that two rows get from both, for squares of twice this side.
#[inline(always)]
fn exchange(half: usize) -> [__m512i; 2] {
    let upper: [u32; SIDE] = std::array::from_fn(|column| match column & half {
        0 => column as u32,
        _ => (SIDE + column - half) as u32,
    });
    let lower = upper.map(|element| element + half as u32);
    // SAFETY: a row is 64 bytes, and has a meaning for any bits.
    [upper, lower].map(|elements| unsafe { transmute::<[u32; SIDE], __m512i>(elements) })
}
