//! Products of 8-bit integers by the tile registers of [`amx`](crate::amx).

use std::ops::Range;

use bytemuck::Zeroable;
use pulp::NullaryFnOnce;

use super::amx::Tiles;
use super::finish::Finish;
use super::instruction_set;
use super::quantize::quantize_rows;
use super::tile::{DEPTH, Line, SIDE, Sums, Tile};

/// The integer that stands for 0: tiles multiply signed integers.
const ZERO_POINT: u8 = 0;

/// Number of tiles of columns that are multiplied together.
const GROUP: usize = 4;

/// A matrix of integers `[d_in, d_out]` in tiles.
pub(super) struct TiledMatrix {
    /// `[panels, depth]`: panels of [`SIDE`] columns, one after the other, padded with zeros.
    tiles: Vec<Tile>,
    /// Number of tiles of a panel.
    depth: usize,
    shape: [usize; 2],
}

#[derive(Default)]
pub(super) struct TiledRows {
    /// `[rows, stride]`. Elements after the activations of a row are multiplied by zeros, and sums of rows after the
    /// last are not read.
    lines: Vec<Line>,
    scales: Vec<f32>,
}

impl TiledMatrix {
    pub(super) fn new(integers: &[i8], shape: [usize; 2], strides: [usize; 2]) -> Self {
        let [d_in, d_out] = shape;
        let depth = d_in.div_ceil(DEPTH);
        let mut tiles = vec![Tile::zeroed(); d_out.div_ceil(SIDE) * depth];
        for (index, tile) in tiles.iter_mut().enumerate() {
            let (panel, step) = (index / depth, index % depth);
            let columns = panel * SIDE..d_out.min((panel + 1) * SIDE);
            let inputs = step * DEPTH..d_in.min((step + 1) * DEPTH);
            for (k, input) in inputs.enumerate() {
                for (n, column) in columns.clone().enumerate() {
                    tile.0[k / 4 * 4 * SIDE + n * 4 + k % 4] =
                        integers[input * strides[0] + column * strides[1]];
                }
            }
        }
        Self {
            tiles,
            depth,
            shape,
        }
    }

    pub(super) fn shape(&self) -> [usize; 2] {
        self.shape
    }

    fn panel(&self, index: usize) -> &[Tile] {
        &self.tiles[index * self.depth..(index + 1) * self.depth]
    }
}

impl TiledRows {
    /// Writes `activation(x·W + b)`, with the sums of integers times the scales of row and column as `x·W`.
    ///
    /// # Shapes
    ///
    /// - `x`: `[rows, d_in]`
    /// - `scales`: `[d_out]`
    /// - `product`: `[rows, d_out]`
    pub(super) fn multiply(
        &mut self,
        x: &[f32],
        matrix: &TiledMatrix,
        scales: &[f32],
        finish: Finish<'_>,
        product: &mut [f32],
    ) {
        let [d_in, d_out] = matrix.shape;
        let n_rows = x.len() / d_in;
        if n_rows == 0 {
            return;
        }
        // Rows at a distance of a power of two would share few lines of the processor's cache.
        let stride = matrix.depth + 1;
        self.scales.resize(n_rows, 0.0);
        let n_lines = n_rows.next_multiple_of(SIDE) * stride;
        self.lines.resize(n_lines, Line::zeroed());
        let integers: &mut [u8] = bytemuck::cast_slice_mut(&mut self.lines);
        let widths = [d_in, stride * DEPTH];
        quantize_rows(x, widths, ZERO_POINT, integers, &mut self.scales);
        instruction_set().dispatch(MultiplyTiles {
            rows: self,
            stride,
            matrix,
            scales,
            finish,
            product,
            d_out,
        });
    }
}

struct MultiplyTiles<'a> {
    rows: &'a TiledRows,
    stride: usize,
    matrix: &'a TiledMatrix,
    scales: &'a [f32],
    finish: Finish<'a>,
    product: &'a mut [f32],
    d_out: usize,
}

impl NullaryFnOnce for MultiplyTiles<'_> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        let n_rows = self.rows.scales.len();
        let tiles = Tiles::new(n_rows.min(SIDE));
        let mut sums = Sums::zeroed();
        let n_panels = self.d_out.div_ceil(SIDE);
        for first in (0..n_panels).step_by(GROUP) {
            // Beyond the last panel, that panel is repeated, and its sums are not read.
            let panels: [&[Tile]; GROUP] =
                std::array::from_fn(|index| self.matrix.panel((first + index).min(n_panels - 1)));
            let columns = first * SIDE..self.d_out.min((first + GROUP) * SIDE);
            let mut row = 0;
            while n_rows - row > SIDE {
                let lines = &self.rows.lines[row * self.stride..];
                let end = n_rows.min(row + 2 * SIDE);
                for half in 0..2 {
                    let columns = columns.start + half * 2 * SIDE..columns.end;
                    if columns.is_empty() {
                        break;
                    }
                    let columns = columns.start..columns.end.min(columns.start + 2 * SIDE);
                    let panels = [panels[2 * half], panels[2 * half + 1]];
                    tiles.square(lines, self.stride, panels, &mut sums);
                    self.finish(row..end, columns, &sums.0, 2 * SIDE);
                }
                row = end;
            }
            if row < n_rows {
                let lines = &self.rows.lines[row * self.stride..];
                tiles.wide(lines, self.stride, panels, &mut sums);
                self.finish(row..n_rows, columns, &sums.0, GROUP * SIDE);
            }
        }
    }
}

impl MultiplyTiles<'_> {
    /// Turns sums, in rows of `width`, into the output of the layer.
    #[inline(always)]
    fn finish(&mut self, rows: Range<usize>, columns: Range<usize>, sums: &[i32], width: usize) {
        let finish = self.finish.of_columns(columns.clone());
        let scales = &self.scales[columns.clone()];
        let sums = sums.chunks_exact(width);
        let outputs = self.product[rows.start * self.d_out..].chunks_exact_mut(self.d_out);
        for ((row, sums), output) in rows.zip(sums).zip(outputs) {
            let output = &mut output[columns.clone()];
            finish.write(sums, self.rows.scales[row], scales, output);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns whether tests can use tiles; prints the reason if not.
    #[expect(clippy::print_stderr, reason = "a skipped test prints its reason")]
    pub(crate) fn tiles_exist() -> bool {
        let exist = crate::amx::available();
        if !exist {
            eprintln!("skipped: this processor or system has no AMX");
        }
        exist
    }

    /// Integers from −127 to 127; every row of `width` begins with 127, so that its scale is 1.
    fn integers(n: usize, width: usize, factor: usize) -> Vec<i8> {
        let integer = |index: usize| match index % width {
            0 => 127,
            _ => ((index * factor) % 255) as i32 - 127,
        };
        (0..n).map(|index| integer(index) as i8).collect()
    }

    /// Asserts that the product has the sums of the definition, rounded to a float.
    fn assert_exact(x: &[i8], weights: &[i8], shape: [usize; 2], strides: [usize; 2]) {
        let [d_in, d_out] = shape;
        let n_rows = x.len() / d_in;
        let matrix = TiledMatrix::new(weights, shape, strides);
        let floats: Vec<f32> = x.iter().copied().map(f32::from).collect();
        let mut product = vec![f32::NAN; n_rows * d_out];
        let finish = Finish {
            bias: &[],
            activation: None,
        };
        let scales = vec![1.0; d_out];
        TiledRows::default().multiply(&floats, &matrix, &scales, finish, &mut product);
        for (index, found) in product.iter().enumerate() {
            let (row, column) = (index / d_out, index % d_out);
            let terms = (0..d_in).map(|k| {
                let weight = weights[k * strides[0] + column * strides[1]];
                i32::from(x[row * d_in + k]) * i32::from(weight)
            });
            let expected: i32 = terms.sum();
            assert_eq!(
                *found, expected as f32,
                "row {row} of {n_rows}, column {column}, {shape:?}"
            );
        }
    }

    #[test]
    fn sums_are_exact_for_every_number_of_rows() {
        if !tiles_exist() {
            return;
        }
        for [d_in, d_out] in [[67, 37], [130, 81]] {
            let weights = integers(d_in * d_out, d_out, 37);
            for n_rows in 1..=70 {
                let x = integers(n_rows * d_in, d_in, 41);
                assert_exact(&x, &weights, [d_in, d_out], [d_out, 1]);
            }
        }
    }

    #[test]
    fn sums_are_exact_at_the_edges_of_tiles() {
        if !tiles_exist() {
            return;
        }
        for d_in in [1, 3, 63, 64, 65, 1027] {
            for d_out in [1, 15, 16, 17, 31, 33, 48, 64, 65, 129] {
                let weights = integers(d_in * d_out, d_out, 53);
                for n_rows in [1, 16, 17, 33] {
                    let x = integers(n_rows * d_in, d_in, 29);
                    assert_exact(&x, &weights, [d_in, d_out], [d_out, 1]);
                }
            }
        }
    }

    #[test]
    fn the_largest_sums_are_exact() {
        if !tiles_exist() {
            return;
        }
        let shape = [2050, 33];
        for (activation, weight) in [(127, 127), (127, -127), (-127, -127)] {
            let x = vec![activation; 35 * shape[0]];
            let weights = vec![weight; shape[0] * shape[1]];
            assert_exact(&x, &weights, shape, [shape[1], 1]);
        }
    }

    #[test]
    fn a_transposed_matrix_has_the_sums_of_its_transpose() {
        if !tiles_exist() {
            return;
        }
        let shape = [70, 50];
        let weights = integers(70 * 50, 70, 31);
        assert_exact(&integers(20 * 70, 70, 43), &weights, shape, [1, 70]);
    }

    #[test]
    fn a_smaller_batch_after_a_larger_one_is_exact() {
        if !tiles_exist() {
            return;
        }
        let mut rows = TiledRows::default();
        let finish = Finish {
            bias: &[0.5],
            activation: None,
        };
        for (d_in, n_rows) in [(300, 40), (70, 3)] {
            let matrix = TiledMatrix::new(&vec![1; d_in], [d_in, 1], [1, 1]);
            let mut product = vec![0.0; n_rows];
            let x = vec![127.0; n_rows * d_in];
            rows.multiply(&x, &matrix, &[1.0], finish, &mut product);
            assert_eq!(product, vec![(127 * d_in) as f32 + 0.5; n_rows]);
        }
    }
}
