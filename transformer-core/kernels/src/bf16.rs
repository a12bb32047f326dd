//! Matrix products with factors in bfloat16 and sums in `f32`, by tile registers (`amx.rs`).

use std::cell::Cell;

use bytemuck::Zeroable;
use pulp::NullaryFnOnce;
use rayon::prelude::*;

use super::amx::{self, Tiles, round_columns, round_rows, transposed};
use super::gemm::{Matrix, Output, sizes};
use super::instruction_set;
use super::tile::{Block, Line, SIDE, Sums, Tile};

/// Number of elements of a line, which are products of one sum in one step.
const STEP: usize = size_of::<Line>() / 2;

/// Number of rows, and of columns, that are multiplied at once.
const SQUARE: usize = 2 * SIDE;

/// Maximum number of products of a sum before it is written: the rows of a square then stay in the first-level cache.
const MAX_DEPTH: usize = 16 * STEP;

/// Maximum number of columns that all rows are multiplied by before the next: a megabyte of tiles, which stays in the
/// second-level cache.
const MAX_COLUMNS: usize = 32 * SQUARE;

/// Number of tiles of columns that are packed together: their elements of a row are neighbors in memory.
const PANELS: usize = 8;

thread_local! {
    /// The packed factors of the last product, for the next one to overwrite.
    static PACKED: Cell<(Vec<Line>, Vec<Tile>)> = const { Cell::new((Vec::new(), Vec::new())) };
}

/// Returns whether this processor multiplies bfloat16 in tiles, and the system lets this process use them.
pub fn is_available() -> bool {
    amx::has_bf16()
}

/// Writes the product of two matrices in row-major order, on the current rayon pool, with the factors rounded to
/// bfloat16, to even if a tie. The order of the sums does not depend on the number of threads.
///
/// Magnitudes below 1e-38 count as zero.
///
/// # Shapes
///
/// - `left`: `[m, k]`
/// - `right`: `[k, n]`
/// - `product`: `[m, n]`
///
/// # Panics
///
/// Panics if the shapes do not match, or tiles are not [available](is_available).
pub fn multiply(left: Matrix<'_>, right: Matrix<'_>, product: &mut [f32], mut output: Output) {
    let [m, k, n] = sizes(left, right, product);
    if k == 0 && output == Output::Overwrite {
        product.fill(0.0);
    }
    if product.is_empty() {
        return;
    }
    let arch = instruction_set();
    let (mut lines, mut tiles) = PACKED.take();
    for start in (0..k).step_by(MAX_DEPTH) {
        let depth = MAX_DEPTH.min(k - start).div_ceil(STEP);
        // Rows at a distance of a power of two would share few lines of the processor's cache.
        let stride = depth + 1;
        let lines = resized(&mut lines, m.next_multiple_of(SQUARE) * stride);
        let tiles = resized(&mut tiles, n.next_multiple_of(SQUARE) / SIDE * depth);
        let rows = lines.par_chunks_mut(SQUARE * stride).enumerate();
        rows.for_each(|(square, lines)| {
            pack_rows(left, [square * SQUARE, start], stride, lines);
        });
        let panels = tiles.par_chunks_mut(PANELS * depth).enumerate();
        panels.for_each(|(group, tiles)| {
            let place = [group * PANELS * SIDE, start];
            pack_columns(right.transposed(), place, depth, tiles);
        });
        for (group, tiles) in tiles.chunks(MAX_COLUMNS / SIDE * depth).enumerate() {
            let lines = lines.par_chunks(SQUARE * stride);
            let products = product.par_chunks_mut(SQUARE * n);
            products.zip(lines).for_each(|(product, lines)| {
                let column = group * MAX_COLUMNS;
                arch.dispatch(MultiplySquares {
                    lines,
                    stride,
                    tiles,
                    depth,
                    product,
                    n,
                    column,
                    output,
                });
            });
        }
        output = Output::Accumulate;
    }
    PACKED.set((lines, tiles));
}

/// Returns the first `len` elements of a buffer, which grows if it is too short.
fn resized<T: Copy + Zeroable>(buffer: &mut Vec<T>, len: usize) -> &mut [T] {
    if buffer.len() < len {
        buffer.resize(len, T::zeroed());
    }
    &mut buffer[..len]
}

/// Rounds rows of a matrix, from a place on, and writes them to lines.
fn pack_rows(left: Matrix<'_>, [row, k]: [usize; 2], stride: usize, lines: &mut [Line]) {
    for (half, lines) in lines.chunks_exact_mut(SIDE * stride).enumerate() {
        for step in 0..stride - 1 {
            let place = [row + half * SIDE, k + step * STEP];
            for (row, pairs) in block(left, place, true).into_iter().enumerate() {
                lines[row * stride + step] = bytemuck::cast(pairs);
            }
        }
    }
}

/// Rounds columns of a matrix, given transposed, from a place on, and writes them to tiles.
fn pack_columns(right: Matrix<'_>, [column, k]: [usize; 2], depth: usize, tiles: &mut [Tile]) {
    let n_panels = tiles.len() / depth;
    for step in 0..depth {
        for panel in 0..n_panels {
            let place = [column + panel * SIDE, k + step * STEP];
            tiles[panel * depth + step] = bytemuck::cast(block(right, place, false));
        }
    }
}

/// Rounds [`SIDE`] rows of [`STEP`] elements from a place on: `[rows, pairs]`, or `[pairs, rows]`.
fn block(matrix: Matrix<'_>, [row, k]: [usize; 2], rows_first: bool) -> Block {
    let is_row_major = matrix.is_row_major();
    let block = match is_row_major {
        true => matrix.map_window([row, k], round_rows),
        false => matrix.transposed().map_window([k, row], round_columns),
    };
    match rows_first == is_row_major {
        true => block,
        false => transposed(block),
    }
}

struct MultiplySquares<'a> {
    lines: &'a [Line],
    stride: usize,
    tiles: &'a [Tile],
    depth: usize,
    product: &'a mut [f32],
    n: usize,
    column: usize,
    output: Output,
}

impl NullaryFnOnce for MultiplySquares<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let registers = Tiles::new(SIDE);
        let mut sums = Sums::zeroed();
        let columns = (self.column..self.n).step_by(SQUARE);
        let panels = self.tiles.chunks_exact(2 * self.depth);
        for (column, panels) in columns.zip(panels) {
            let (first, second) = panels.split_at(self.depth);
            registers.square_bf16(self.lines, self.stride, [first, second], &mut sums);
            let sums: &[[f32; SQUARE]; SQUARE] = bytemuck::cast_ref(&sums.0);
            for (row, sums) in self.product.chunks_exact_mut(self.n).zip(sums) {
                let row = &mut row[column..];
                match row.first_chunk_mut::<SQUARE>() {
                    Some(row) => write(row, sums, self.output),
                    None => write(row, sums, self.output),
                }
            }
        }
    }
}

/// Writes sums, or adds them, as far as there are elements.
#[inline(always)]
fn write(elements: &mut [f32], sums: &[f32; SQUARE], output: Output) {
    for (element, sum) in elements.iter_mut().zip(sums) {
        match output {
            Output::Overwrite => *element = *sum,
            Output::Accumulate => *element += *sum,
        }
    }
}

#[cfg(test)]
#[path = "bf16_tests.rs"]
mod tests;
