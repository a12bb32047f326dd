//! The kernel of products with weights in panels.
//!
//! The sums of a block of rows with a panel are in registers from the first product to the last: with AVX-512, 8 rows
//! by 3 vectors, where each step has 24 products and reads 11 operands; with AVX2, 6 rows by 2 vectors. A panel is as wide
//! as these vectors, so that a block reads it in the order of memory. Few rows are multiplied by several panels at once,
//! because AVX2 needs 8 sums that do not wait for each other.
//!
//! Weights come from the third-level cache or memory, and mostly take longer to arrive than to multiply. So each block of
//! rows prefetches the weights that are used soon. Several panels at once leave that to the processor.

use std::array;
use std::ops::Range;
use std::sync::atomic::{Ordering, compiler_fence};

use pulp::{Simd, WithSimd};

use super::finish::Finish;
use super::fused::add_product;
use super::panel_product::{LINE, LINES, Line, PanelMatrix, WIDTH};
use super::prefetch::prefetch;

const MAX_ROWS: usize = 8;

/// Maximum number of rows of a block on processors with 16 registers. V8 writes each sum to another register than it read,
/// and with more than 8 sums it stores some in memory at every step: 4 rows by 2 vectors are 1.4 times as fast as 6 by 2.
const MAX_ROWS_OF_16_REGISTERS: usize = if cfg!(target_family = "wasm") { 4 } else { 6 };

/// Number of vectors of a tile of several rows on processors with 16 registers, for each panel: with more, the compiler
/// stores some of the sums in memory at every step.
const VECTORS_OF_16_REGISTERS: usize = 2;

/// Number of vectors of a line on processors with 16 registers.
const VECTORS_OF_A_LINE: usize = if cfg!(target_family = "wasm") { 4 } else { 2 };

/// Maximum number of panels that few rows are multiplied by at once, on processors with 16 registers.
const MAX_PANELS: usize = LINES;

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

/// Computes the number of lines of a row of a panel: as many as a tile has.
pub(super) struct LinesOfPanel;

impl WithSimd for LinesOfPanel {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        match has_32_registers::<S>() {
            false => 1,
            true => LINES,
        }
    }
}

impl WithSimd for PanelProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let [d_in, _] = self.matrix.shape();
        let n_rows = self.x.len() / d_in;
        let rows_at_once = (MAX_ELEMENTS / d_in).max(MAX_ROWS);
        let lines_of_panel = LinesOfPanel.with_simd(simd);
        assert_eq!(
            self.matrix.lines_of_panel(),
            lines_of_panel,
            "packed for other vectors"
        );
        let n_panels = match n_rows {
            _ if has_32_registers::<S>() => 1,
            1 | 2 => MAX_PANELS,
            3 => MAX_PANELS.min(2),
            _ => 1,
        };
        let width = n_panels * lines_of_panel * LINE;
        let mut sums = [[0.0; WIDTH]; MAX_ROWS];
        for start in (0..n_rows).step_by(rows_at_once) {
            let rows = start..n_rows.min(start + rows_at_once);
            for first in self.columns.clone().step_by(width) {
                let columns = first..self.columns.end.min(first + width);
                self.multiply_panels(simd, rows.clone(), columns, &mut sums);
            }
        }
    }
}

impl PanelProduct<'_> {
    /// Writes the product of rows with the columns of one panel, or of several if the rows are few.
    #[inline(always)]
    fn multiply_panels<S: Simd>(
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
            let ahead = Ahead::of_block(block, n_blocks, lines, [d_in, n_lines], is_first);
            let panels: &[f32] = bytemuck::cast_slice(&lines[..n_lines]);
            match (has_32_registers::<S>(), n_lines / d_in) {
                (_, 1) => multiply_block::<S, 1, 1, LINE>(simd, x, panels, ahead, sums),
                (true, 2) => multiply_block::<S, 1, 2, { 2 * LINE }>(simd, x, panels, ahead, sums),
                (true, _) => multiply_block::<S, 1, LINES, WIDTH>(simd, x, panels, ahead, sums),
                (false, 2) if MAX_PANELS > 2 => {
                    multiply_block::<S, 2, 1, LINE>(simd, x, panels, ahead, sums);
                }
                (false, _) => {
                    multiply_block::<S, MAX_PANELS, 1, LINE>(simd, x, panels, ahead, sums);
                }
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
        [d_in, n_lines]: [usize; 2],
        is_first: bool,
    ) -> Self {
        if n_blocks == 1 || (is_first && block == 0) {
            let end = match n_blocks {
                1 => lines.len(),
                _ => n_lines,
            };
            return Self {
                lines: &lines[DISTANCE.min(end)..end],
                per_step: n_lines / d_in,
            };
        }
        let (block, n_blocks) = match is_first {
            true => (block - 1, n_blocks - 1),
            false => (block, n_blocks),
        };
        let next = &lines[n_lines..];
        let lines_of_panel = n_lines / d_in;
        let per_step = lines_of_panel.div_ceil(n_blocks);
        let n_lines = match lines_of_panel {
            1 => n_lines.div_ceil(n_blocks),
            _ => d_in * per_step,
        };
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

/// Writes the sums of up to [`MAX_ROWS`] rows with panels of `N` lines, that is `COLUMNS` elements, for each row.
#[inline(always)]
fn multiply_block<S: Simd, const PANELS: usize, const N: usize, const COLUMNS: usize>(
    simd: S,
    x: &[f32],
    panels: &[f32],
    ahead: Ahead<'_>,
    sums: &mut Sums,
) {
    const V: usize = VECTORS_OF_16_REGISTERS;
    const L: usize = VECTORS_OF_A_LINE;
    let (panels, _) = panels.as_chunks::<COLUMNS>();
    let d_in = panels.len() / PANELS;
    let n_rows = x.len() / d_in;
    let is_wide = has_32_registers::<S>();
    let n_vectors = match (is_wide, n_rows) {
        (true, _) => N,
        (false, 1) => L,
        (false, _) => V,
    };
    let panels: [_; PANELS] = array::from_fn(
        #[inline(always)]
        |panel| &panels[panel * d_in..][..d_in],
    );
    for first in (0..COLUMNS).step_by(n_vectors * S::F32_LANES) {
        // The first tile prefetches for the whole panel.
        let lines = if first == 0 { ahead.lines } else { &[] };
        let tile = (panels, first, Ahead { lines, ..ahead });
        match (is_wide, n_rows) {
            (true, 1) => multiply_tile::<S, 1, N, PANELS, COLUMNS>(simd, x, tile, sums),
            (true, 2) => multiply_tile::<S, 2, N, PANELS, COLUMNS>(simd, x, tile, sums),
            (true, 3) => multiply_tile::<S, 3, N, PANELS, COLUMNS>(simd, x, tile, sums),
            (true, 4) => multiply_tile::<S, 4, N, PANELS, COLUMNS>(simd, x, tile, sums),
            (true, 5) => multiply_tile::<S, 5, N, PANELS, COLUMNS>(simd, x, tile, sums),
            (true, 6) => multiply_tile::<S, 6, N, PANELS, COLUMNS>(simd, x, tile, sums),
            (true, 7) => multiply_tile::<S, 7, N, PANELS, COLUMNS>(simd, x, tile, sums),
            (true, 8) => multiply_tile::<S, 8, N, PANELS, COLUMNS>(simd, x, tile, sums),
            (false, 1) => multiply_tile::<S, 1, L, PANELS, COLUMNS>(simd, x, tile, sums),
            (false, 2) => multiply_tile::<S, 2, V, PANELS, COLUMNS>(simd, x, tile, sums),
            (false, 3) => multiply_tile::<S, 3, V, PANELS, COLUMNS>(simd, x, tile, sums),
            (false, 4) => multiply_tile::<S, 4, V, PANELS, COLUMNS>(simd, x, tile, sums),
            (false, 5) => multiply_tile::<S, 5, V, PANELS, COLUMNS>(simd, x, tile, sums),
            (false, 6) => multiply_tile::<S, 6, V, PANELS, COLUMNS>(simd, x, tile, sums),
            _ => {}
        }
    }
}

/// The rows of panels, the first column of a tile in each, and weights to prefetch.
type Tile<'a, const PANELS: usize, const COLUMNS: usize> =
    ([&'a [[f32; COLUMNS]]; PANELS], usize, Ahead<'a>);

/// Writes the sums of `M` rows with `N` vectors of each row of the panels.
#[inline(always)]
fn multiply_tile<S, const M: usize, const N: usize, const PANELS: usize, const COLUMNS: usize>(
    simd: S,
    x: &[f32],
    (panels, first, ahead): Tile<'_, PANELS, COLUMNS>,
    sums: &mut Sums,
) where
    S: Simd,
{
    let d_in = panels[0].len();
    let columns = first..first + N * S::F32_LANES;
    let rows: [&[f32]; M] = array::from_fn(
        #[inline(always)]
        |row| &x[row * d_in..][..d_in],
    );
    let mut totals = [[[simd.splat_f32s(0.0); N]; PANELS]; M];
    let mut chunks = ahead.lines.chunks(ahead.per_step);
    for k in 0..d_in {
        // With AVX2, at most one line a step: the loop over several takes as long as the products.
        if !has_32_registers::<S>() {
            if PANELS == 1
                && let Some(line) = ahead.lines.get(k)
            {
                prefetch(line);
            }
        } else {
            for line in chunks.next().unwrap_or_default() {
                prefetch(line);
            }
        }
        for panel in 0..PANELS {
            let (weights, _) = S::as_simd_f32s(&panels[panel][k][columns.clone()]);
            let weights: [S::f32s; N] = array::from_fn(
                #[inline(always)]
                |vector| weights[vector],
            );
            for row in 0..M {
                if M > 2 && !has_32_registers::<S>() && cfg!(not(target_family = "wasm")) {
                    // Else the compiler reads the elements of all rows at first, which leaves too few registers for
                    // the sums, and stores some of them in memory at every step.
                    compiler_fence(Ordering::SeqCst);
                }
                let value = simd.splat_f32s(rows[row][k]);
                for vector in 0..N {
                    let total = totals[row][panel][vector];
                    totals[row][panel][vector] = add_product(simd, value, weights[vector], total);
                }
            }
        }
    }
    for row in 0..M {
        for panel in 0..PANELS {
            let sums = &mut sums[row][panel * COLUMNS..][columns.clone()];
            let (sums, _) = S::as_mut_simd_f32s(sums);
            #[expect(
                clippy::manual_memcpy,
                reason = "with a slice of totals, the compiler stores them in memory at every step"
            )]
            for vector in 0..N {
                sums[vector] = totals[row][panel][vector];
            }
        }
    }
}
