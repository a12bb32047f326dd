//! Products of 8-bit integers with weights in tiles, by the tile registers of [`amx`](crate::amx), or by
//! [`vnni`](crate::vnni).

use std::ops::Range;

use bytemuck::Zeroable;
use pulp::NullaryFnOnce;

use super::amx::{self, Tiles};
use super::finish::Finish;
use super::instruction_set;
use super::panel_product::{columns_per_thread, in_parts};
use super::quantize::quantize_rows;
use super::rten;
use super::tile::{DEPTH, Line, MAX_ROWS, SIDE, Sums, Tile, Vectors};
use super::vnni;

/// Number of tiles of columns that are multiplied together.
const GROUP: usize = 4;

/// The instructions that multiply tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instructions {
    Amx,
    Vnni(Vectors),
}

/// A matrix of integers `[d_in, d_out]` in tiles.
pub(super) struct TiledMatrix {
    /// `[panels, depth]`: panels of [`SIDE`] columns, one after the other, padded with zeros.
    tiles: Vec<Tile>,
    /// Number of tiles of a panel.
    depth: usize,
    shape: [usize; 2],
    instructions: Instructions,
    /// The sums of each panel before the first product: minus the products of the zero point.
    starts: Vec<[i32; SIDE]>,
}

#[derive(Default)]
pub(super) struct TiledRows {
    /// `[rows, stride]`. Elements after the activations of a row are multiplied by zeros, and sums of rows after the
    /// last are not read.
    lines: Vec<Line>,
    scales: Vec<f32>,
}

impl Instructions {
    /// All, the fastest first.
    const ALL: [Self; 3] = [
        Self::Amx,
        Self::Vnni(Vectors::Of512Bits),
        Self::Vnni(Vectors::Of256Bits),
    ];

    /// Returns those of this processor, if it has any.
    pub(super) fn of_processor() -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.exist())
    }

    /// Returns the minimum number of elements of a matrix per thread, if it is multiplied by few rows. Tiles are so fast
    /// that they use one thread.
    fn elements_per_thread(self) -> usize {
        match self {
            Self::Amx => usize::MAX,
            Self::Vnni(_) => 1 << 19,
        }
    }

    fn exist(self) -> bool {
        match self {
            Self::Amx => amx::available(),
            Self::Vnni(vectors) => vnni::exist(vectors),
        }
    }

    /// Returns the integer that stands for 0 in activations, which are signed for tiles and unsigned for VNNI.
    fn zero_point(self) -> u8 {
        match self {
            Self::Amx => 0,
            Self::Vnni(_) => rten::ZERO_POINT,
        }
    }
}

impl TiledMatrix {
    pub(super) fn new(
        instructions: Instructions,
        integers: &[i8],
        shape: [usize; 2],
        strides: [usize; 2],
    ) -> Self {
        let [d_in, d_out] = shape;
        let mut starts = vec![[0; SIDE]; d_out.div_ceil(SIDE)];
        let zero_point = i32::from(instructions.zero_point());
        let depth = d_in.div_ceil(DEPTH);
        let mut tiles = vec![Tile::zeroed(); d_out.div_ceil(SIDE) * depth];
        for (index, tile) in tiles.iter_mut().enumerate() {
            let (panel, step) = (index / depth, index % depth);
            let columns = panel * SIDE..d_out.min((panel + 1) * SIDE);
            let inputs = step * DEPTH..d_in.min((step + 1) * DEPTH);
            for (k, input) in inputs.enumerate() {
                for (n, column) in columns.clone().enumerate() {
                    let integer = integers[input * strides[0] + column * strides[1]];
                    tile.0[k / 4 * 4 * SIDE + n * 4 + k % 4] = integer;
                    starts[panel][n] -= zero_point * i32::from(integer);
                }
            }
        }
        Self {
            tiles,
            depth,
            shape,
            instructions,
            starts,
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
    /// - `buffer`: any; the results of threads are copied from it
    pub(super) fn multiply(
        &mut self,
        x: &[f32],
        (matrix, scales): (&TiledMatrix, &[f32]),
        finish: Finish<'_>,
        product: &mut [f32],
        buffer: &mut Vec<f32>,
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
        let zero_point = matrix.instructions.zero_point();
        quantize_rows(x, widths, zero_point, integers, &mut self.scales);
        let arch = instruction_set();
        let n_threads = rayon::current_num_threads();
        let widths = [GROUP * SIDE, matrix.instructions.elements_per_thread()];
        let columns = columns_per_thread(n_rows, matrix.shape, n_threads, widths);
        let rows = &*self;
        in_parts(
            [n_rows, d_out],
            columns,
            product,
            buffer,
            |columns, product| {
                arch.dispatch(MultiplyTiles {
                    rows,
                    stride,
                    matrix,
                    scales,
                    finish,
                    columns,
                    product,
                });
            },
        );
    }
}

struct MultiplyTiles<'a> {
    rows: &'a TiledRows,
    stride: usize,
    matrix: &'a TiledMatrix,
    scales: &'a [f32],
    finish: Finish<'a>,
    /// Whole groups of panels.
    columns: Range<usize>,
    /// `[rows, columns]`.
    product: &'a mut [f32],
}

impl NullaryFnOnce for MultiplyTiles<'_> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        match self.matrix.instructions {
            Instructions::Amx => {
                let tiles = Tiles::new(self.rows.scales.len().min(SIDE));
                self.for_each_group(
                    #[inline(always)]
                    |this, group, columns, sums| {
                        this.multiply_by_tiles(&tiles, group, columns, sums);
                    },
                );
            }
            Instructions::Vnni(vectors) => self.for_each_group(
                #[inline(always)]
                |this, group, columns, sums| {
                    this.multiply_by_vnni(vectors, group, columns, sums);
                },
            ),
        }
    }
}

impl MultiplyTiles<'_> {
    /// Calls a function with the numbers of panels that are multiplied together, and their columns.
    #[inline(always)]
    fn for_each_group(
        &mut self,
        mut multiply: impl FnMut(&mut Self, [usize; GROUP], Range<usize>, &mut Sums),
    ) {
        let mut sums = Sums::zeroed();
        let panels = self.columns.start / SIDE..self.columns.end.div_ceil(SIDE);
        for first in panels.clone().step_by(GROUP) {
            // Beyond the last panel, that panel is repeated, and its sums are not read.
            let group = std::array::from_fn(|index| (first + index).min(panels.end - 1));
            let columns = first * SIDE..self.columns.end.min((first + GROUP) * SIDE);
            multiply(self, group, columns, &mut sums);
        }
    }

    #[inline(always)]
    fn multiply_by_vnni(
        &mut self,
        vectors: Vectors,
        group: [usize; GROUP],
        columns: Range<usize>,
        sums: &mut Sums,
    ) {
        let panels = group.map(|panel| self.matrix.panel(panel));
        let starts = group.map(|panel| &self.matrix.starts[panel]);
        let n_rows = self.rows.scales.len();
        let n_blocks = n_rows.div_ceil(MAX_ROWS);
        let mut row = 0;
        for block in 0..n_blocks {
            let end = row + (n_rows - row).div_ceil(n_blocks - block);
            let lines = &self.rows.lines[row * self.stride..];
            let rows = (lines, self.stride);
            vnni::sum(vectors, end - row, rows, panels, starts, sums);
            self.finish(row..end, columns.clone(), &sums.0, GROUP * SIDE);
            row = end;
        }
    }

    #[inline(always)]
    fn multiply_by_tiles(
        &mut self,
        tiles: &Tiles,
        group: [usize; GROUP],
        columns: Range<usize>,
        sums: &mut Sums,
    ) {
        let panels = group.map(|panel| self.matrix.panel(panel));
        let n_rows = self.rows.scales.len();
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
                tiles.square(lines, self.stride, panels, sums);
                self.finish(row..end, columns, &sums.0, 2 * SIDE);
            }
            row = end;
        }
        if row < n_rows {
            let lines = &self.rows.lines[row * self.stride..];
            tiles.wide(lines, self.stride, panels, sums);
            self.finish(row..n_rows, columns, &sums.0, GROUP * SIDE);
        }
    }

    /// Turns sums, in rows of `width`, into the output of the layer.
    #[inline(always)]
    fn finish(&mut self, rows: Range<usize>, columns: Range<usize>, sums: &[i32], width: usize) {
        let finish = self.finish.of_columns(columns.clone());
        let scales = &self.scales[columns.clone()];
        let sums = sums.chunks_exact(width);
        let d_out = self.columns.len();
        let outputs = self.product[rows.start * d_out..].chunks_exact_mut(d_out);
        let columns = columns.start - self.columns.start..columns.end - self.columns.start;
        for ((row, sums), output) in rows.zip(sums).zip(outputs) {
            let output = &mut output[columns.clone()];
            finish.write(sums, self.rows.scales[row], scales, output);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns the instructions that tests can use; prints which others the processor or the system lacks.
    #[expect(clippy::print_stderr, reason = "a skipped test prints its reason")]
    pub(crate) fn instructions() -> Vec<Instructions> {
        let exists = |it: &Instructions| {
            if !it.exist() {
                eprintln!("skipped: this processor or system has no {it:?}");
            }
            it.exist()
        };
        Instructions::ALL.into_iter().filter(exists).collect()
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
        for instructions in instructions() {
            assert_exact_by(instructions, x, weights, shape, strides);
        }
    }

    fn assert_exact_by(
        instructions: Instructions,
        x: &[i8],
        weights: &[i8],
        shape: [usize; 2],
        strides: [usize; 2],
    ) {
        let [d_in, d_out] = shape;
        let n_rows = x.len() / d_in;
        let matrix = TiledMatrix::new(instructions, weights, shape, strides);
        let floats: Vec<f32> = x.iter().copied().map(f32::from).collect();
        let mut product = vec![f32::NAN; n_rows * d_out];
        let finish = Finish {
            bias: &[],
            activation: None,
        };
        let scales = vec![1.0; d_out];
        let matrix = (&matrix, &scales[..]);
        TiledRows::default().multiply(&floats, matrix, finish, &mut product, &mut Vec::new());
        for (index, found) in product.iter().enumerate() {
            let (row, column) = (index / d_out, index % d_out);
            let terms = (0..d_in).map(|k| {
                let weight = weights[k * strides[0] + column * strides[1]];
                i32::from(x[row * d_in + k]) * i32::from(weight)
            });
            let expected: i32 = terms.sum();
            assert_eq!(
                *found, expected as f32,
                "row {row} of {n_rows}, column {column}, {shape:?}, {instructions:?}"
            );
        }
    }

    #[test]
    fn sums_are_exact_for_every_number_of_rows() {
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
        let shape = [2050, 33];
        for (activation, weight) in [(127, 127), (127, -127), (-127, -127)] {
            let x = vec![activation; 35 * shape[0]];
            let weights = vec![weight; shape[0] * shape[1]];
            assert_exact(&x, &weights, shape, [shape[1], 1]);
        }
    }

    #[test]
    fn a_transposed_matrix_has_the_sums_of_its_transpose() {
        let shape = [70, 50];
        let weights = integers(70 * 50, 70, 31);
        assert_exact(&integers(20 * 70, 70, 43), &weights, shape, [1, 70]);
    }

    #[test]
    fn a_smaller_batch_after_a_larger_one_is_exact() {
        let finish = Finish {
            bias: &[0.5],
            activation: None,
        };
        for instructions in instructions() {
            let mut rows = TiledRows::default();
            for (d_in, n_rows) in [(300, 40), (70, 3)] {
                let matrix = TiledMatrix::new(instructions, &vec![1; d_in], [d_in, 1], [1, 1]);
                let mut product = vec![0.0; n_rows];
                let x = vec![127.0; n_rows * d_in];
                let matrix = (&matrix, &[1.0][..]);
                rows.multiply(&x, matrix, finish, &mut product, &mut Vec::new());
                assert_eq!(product, vec![(127 * d_in) as f32 + 0.5; n_rows]);
            }
        }
    }

    #[test]
    fn several_threads_have_the_sums_of_one() {
        let shape @ [d_in, d_out] = [1027, 1031];
        let weights = integers(d_in * d_out, d_out, 37);
        for n_threads in [2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads);
            let pool = pool.build().expect("threads can be started");
            for n_rows in [1, 3, 17] {
                let x = integers(n_rows * d_in, d_in, 41);
                pool.install(|| assert_exact(&x, &weights, shape, [d_out, 1]));
            }
        }
    }
}
