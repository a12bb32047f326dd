//! The kernel of products with weights in panels.
//!
//! The sums of a block of rows with a panel are in registers from the first product to the last: with AVX-512, 8 rows
//! by 3 vectors, where each step has 24 products and reads 11 operands; with AVX2, 6 rows by 2 vectors, one line of the
//! panel. Most products are limited by the time to read
//! the weights from the third-level cache or memory, so each block of rows prefetches weights that are used soon.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::finish::Finish;
use super::fused::add_product;
use super::panel_product::{LINE, LINES, Line, PanelMatrix, WIDTH};
use super::prefetch::prefetch;

const MAX_ROWS: usize = 8;

/// Maximum number of rows of a block on processors with 16 registers. V8 writes each sum to another register than it read,
/// and with more than 8 sums it stores some in memory at every step: 4 rows by 2 vectors are 1.4 times as fast as 6 by 2.
const MAX_ROWS_OF_16_REGISTERS: usize = if cfg!(target_family = "wasm") { 4 } else { 6 };

/// Number of vectors of a tile of several rows on processors with 16 registers: with more, the compiler stores some of the
/// sums in memory at every step.
const VECTORS_OF_16_REGISTERS: usize = 2;

/// Number of vectors of a line on processors with 16 registers.
const VECTORS_OF_A_LINE: usize = if cfg!(target_family = "wasm") { 4 } else { 2 };

/// Number of elements of `x` that are multiplied by all panels before the next ones: half a second-level cache, 1 MiB.
const MAX_ELEMENTS: usize = 1 << 18;

/// Number of lines between the weights in use and those prefetched: 6 KiB, which take as long as a read of memory.
const DISTANCE: usize = 96;

/// Sums of a block of rows with a panel.
type Sums = [[f32; WIDTH]; MAX_ROWS];

/// The product of rows with some columns of a matrix, and the steps after it.
pub(super) struct PanelProduct<'a> {
    /// `[rows, d_in]`.
    pub(super) x: &'a [f32],
    /// `[d_in, d_out]`.
    pub(super) matrix: &'a PanelMatrix,
    pub(super) finish: Finish<'a>,
    /// Whole panels.
    pub(super) columns: Range<usize>,
    /// `[rows, columns]`.
    pub(super) product: &'a mut [f32],
}

/// Weights that are used soon.
#[derive(Clone, Copy)]
struct Ahead<'a> {
    lines: &'a [Line],
    /// Number of lines to prefetch with each row of the panel.
    per_step: usize,
}

impl WithSimd for PanelProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let [d_in, _] = self.matrix.shape();
        let n_rows = self.x.len() / d_in;
        let rows_at_once = (MAX_ELEMENTS / d_in).max(MAX_ROWS);
        let mut sums = [[0.0; WIDTH]; MAX_ROWS];
        for start in (0..n_rows).step_by(rows_at_once) {
            let rows = start..n_rows.min(start + rows_at_once);
            for first in self.columns.clone().step_by(WIDTH) {
                let columns = first..self.columns.end.min(first + WIDTH);
                self.multiply_panel(simd, rows.clone(), columns, &mut sums);
            }
        }
    }
}

impl PanelProduct<'_> {
    /// Writes the product of rows with the columns of one panel.
    #[inline(always)]
    fn multiply_panel<S: Simd>(
        &mut self,
        simd: S,
        rows: Range<usize>,
        columns: Range<usize>,
        sums: &mut Sums,
    ) {
        let [d_in, _] = self.matrix.shape();
        let max_rows = match has_32_registers::<S>() {
            false => MAX_ROWS_OF_16_REGISTERS,
            true => MAX_ROWS,
        };
        let lines = self.matrix.lines_from(columns.start);
        let n_lines = d_in * columns.len().div_ceil(LINE);
        let is_first = columns.start == self.columns.start;
        let n_blocks = rows.len().div_ceil(max_rows);
        let mut row = rows.start;
        for block in 0..n_blocks {
            let n_rows = (rows.end - row).div_ceil(n_blocks - block);
            let x = &self.x[row * d_in..(row + n_rows) * d_in];
            let ahead = Ahead::of_block(block, n_blocks, lines, n_lines, is_first);
            let panel: &[f32] = bytemuck::cast_slice(&lines[..n_lines]);
            match (LINES, n_lines / d_in) {
                (1, _) | (_, 1) => {
                    multiply_block::<S, 1, VECTORS_OF_A_LINE, LINE>(simd, x, panel, ahead, sums);
                }
                (_, 2) => multiply_block::<S, 2, 4, { 2 * LINE }>(simd, x, panel, ahead, sums),
                _ => multiply_block::<S, LINES, 6, WIDTH>(simd, x, panel, ahead, sums),
            }
            self.finish_block(row..row + n_rows, columns.clone(), sums);
            row += n_rows;
        }
    }

    /// Turns sums into the output of the layer.
    #[inline(always)]
    fn finish_block(&mut self, rows: Range<usize>, columns: Range<usize>, sums: &Sums) {
        let finish = self.finish.of_columns(columns.clone());
        let width = self.columns.len();
        let outputs = self.product[rows.start * width..].chunks_exact_mut(width);
        let columns = columns.start - self.columns.start..columns.end - self.columns.start;
        for ((_, sums), output) in rows.zip(sums).zip(outputs) {
            let output = &mut output[columns.clone()];
            output.copy_from_slice(&sums[..columns.len()]);
            finish.apply(output);
        }
    }
}

impl<'a> Ahead<'a> {
    /// Returns the lines to prefetch while a block of rows is multiplied by a panel.
    ///
    /// `lines` begin with the `n_lines` of the panel. A single block prefetches the lines that it uses itself. Of
    /// several blocks, each prefetches a part of the next panel; but the first block of the first panel prefetches its
    /// own, because no block before it did.
    #[inline(always)]
    fn of_block(
        block: usize,
        n_blocks: usize,
        lines: &'a [Line],
        n_lines: usize,
        is_first: bool,
    ) -> Self {
        if n_blocks == 1 || (is_first && block == 0) {
            let end = match n_blocks {
                1 => lines.len(),
                _ => n_lines,
            };
            return Self {
                lines: &lines[DISTANCE.min(end)..end],
                per_step: LINES,
            };
        }
        let (block, n_blocks) = match is_first {
            true => (block - 1, n_blocks - 1),
            false => (block, n_blocks),
        };
        let next = &lines[n_lines..];
        let per_step = LINES.div_ceil(n_blocks);
        let n_lines = n_lines / LINES * per_step;
        let start = next.len().min(block * n_lines);
        Self {
            lines: &next[start..next.len().min(start + n_lines)],
            per_step,
        }
    }
}

/// Returns whether sums can be in 32 registers. WebAssembly has as many as the processor, which may be 16.
#[inline(always)]
fn has_32_registers<S: Simd>() -> bool {
    S::REGISTER_COUNT >= 32 && cfg!(not(target_family = "wasm"))
}

/// Writes the sums of up to [`MAX_ROWS`] rows with a panel of `N` lines, that is `COLUMNS` elements, for each row.
/// With 16 registers, a single row has `OF_ONE_ROW` vectors at once.
#[inline(always)]
fn multiply_block<S: Simd, const N: usize, const OF_ONE_ROW: usize, const COLUMNS: usize>(
    simd: S,
    x: &[f32],
    panel: &[f32],
    ahead: Ahead<'_>,
    sums: &mut Sums,
) {
    const V: usize = VECTORS_OF_16_REGISTERS;
    let (panel, _) = panel.as_chunks::<COLUMNS>();
    let n_rows = x.len() / panel.len();
    let is_wide = has_32_registers::<S>();
    let n_vectors = match (is_wide, n_rows) {
        (true, _) => N,
        (false, 1) => OF_ONE_ROW,
        (false, _) => V,
    };
    for first in (0..COLUMNS).step_by(n_vectors * S::F32_LANES) {
        // The first tile prefetches for the whole panel.
        let ahead = match first {
            0 => ahead,
            _ => Ahead {
                lines: &[],
                ..ahead
            },
        };
        let tile = (panel, first, ahead);
        match (is_wide, n_rows) {
            (true, 1) => multiply_tile::<S, 1, N, COLUMNS>(simd, x, tile, sums),
            (true, 2) => multiply_tile::<S, 2, N, COLUMNS>(simd, x, tile, sums),
            (true, 3) => multiply_tile::<S, 3, N, COLUMNS>(simd, x, tile, sums),
            (true, 4) => multiply_tile::<S, 4, N, COLUMNS>(simd, x, tile, sums),
            (true, 5) => multiply_tile::<S, 5, N, COLUMNS>(simd, x, tile, sums),
            (true, 6) => multiply_tile::<S, 6, N, COLUMNS>(simd, x, tile, sums),
            (true, 7) => multiply_tile::<S, 7, N, COLUMNS>(simd, x, tile, sums),
            (true, 8) => multiply_tile::<S, 8, N, COLUMNS>(simd, x, tile, sums),
            (false, 1) => multiply_tile::<S, 1, OF_ONE_ROW, COLUMNS>(simd, x, tile, sums),
            (false, 2) => multiply_tile::<S, 2, V, COLUMNS>(simd, x, tile, sums),
            (false, 3) => multiply_tile::<S, 3, V, COLUMNS>(simd, x, tile, sums),
            (false, 4) => multiply_tile::<S, 4, V, COLUMNS>(simd, x, tile, sums),
            (false, 5) => multiply_tile::<S, 5, V, COLUMNS>(simd, x, tile, sums),
            (false, 6) => multiply_tile::<S, 6, V, COLUMNS>(simd, x, tile, sums),
            _ => {}
        }
    }
}

/// Writes the sums of `M` rows with `N` vectors of each row of the panel, from the column `first` on.
#[inline(always)]
fn multiply_tile<S: Simd, const M: usize, const N: usize, const COLUMNS: usize>(
    simd: S,
    x: &[f32],
    (panel, first, ahead): (&[[f32; COLUMNS]], usize, Ahead<'_>),
    sums: &mut Sums,
) {
    let d_in = panel.len();
    let columns = first..first + N * S::F32_LANES;
    let rows: [&[f32]; M] = std::array::from_fn(
        #[inline(always)]
        |row| &x[row * d_in..][..d_in],
    );
    let mut totals = [[simd.splat_f32s(0.0); N]; M];
    let mut ahead = ahead.lines.chunks(ahead.per_step);
    for (k, weights) in (0..d_in).zip(panel) {
        for line in ahead.next().unwrap_or_default() {
            prefetch(line);
        }
        let (weights, _) = S::as_simd_f32s(&weights[columns.clone()]);
        for row in 0..M {
            let value = simd.splat_f32s(rows[row][k]);
            for vector in 0..N {
                totals[row][vector] =
                    add_product(simd, value, weights[vector], totals[row][vector]);
            }
        }
    }
    for row in 0..M {
        let (sums, _) = S::as_mut_simd_f32s(&mut sums[row][columns.clone()]);
        #[expect(
            clippy::manual_memcpy,
            reason = "with a slice of totals, the compiler stores them in memory at every step"
        )]
        for vector in 0..N {
            sums[vector] = totals[row][vector];
        }
    }
}
