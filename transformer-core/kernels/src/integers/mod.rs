//! Products of 8-bit integers with weights in panels, for processors on which `rten-gemm` has no exact or no fast sums:
//! x86 without AVX-512 VNNI, and WebAssembly.
//!
//! Activations of a row are taken in groups of [`GROUP`], as many as one element of an instruction's second operand has.

#[cfg_attr(
    not(any(target_family = "wasm", target_arch = "x86_64")),
    path = "portable.rs"
)]
#[cfg_attr(target_arch = "x86_64", path = "avx2.rs")]
#[cfg_attr(
    all(target_family = "wasm", not(feature = "relaxed-simd")),
    path = "wasm.rs"
)]
#[cfg_attr(
    all(target_family = "wasm", feature = "relaxed-simd"),
    path = "relaxed_wasm.rs"
)]
mod kernel;
#[cfg_attr(
    not(any(
        target_arch = "x86_64",
        all(target_family = "wasm", feature = "relaxed-simd")
    )),
    expect(dead_code, reason = "only some kernels need it")
)]
mod pairs;
#[cfg(target_arch = "x86_64")]
mod portable;

use kernel::{GROUP, Kernel, MAX_ROWS};
use pairs::Rest;

use crate::rten;

/// Number of columns of a panel.
const WIDTH: usize = 16;

/// Number of groups that are multiplied by all panels before the next ones: a quarter of a megabyte, a second-level cache.
const MAX_GROUPS: usize = 1 << 16;

/// [`GROUP`] rows of a panel: the weights of a column are neighbors.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct Step([i8; GROUP * WIDTH]);

/// The sums of the products of up to [`MAX_ROWS`] rows with a panel.
type Sums = [[i32; WIDTH]; MAX_ROWS];

/// Rows of integers, as the kernel takes them; a buffer of [`IntegerMatrix::multiply`].
#[derive(Default)]
pub(crate) struct Activations {
    /// The groups of each row.
    groups: Vec<i32>,
    /// The part of each row that is not in its groups, if the kernel has such parts.
    rests: Vec<Rest>,
    /// The groups of all rows that are multiplied apart, each with the index of its step.
    apart: Vec<(usize, i32)>,
}

/// Sums of products of 8-bit integers.
trait SumIntegers: Copy {
    /// Returns what is added to activations.
    fn added(self) -> u8 {
        0
    }

    /// Returns a weight as it is packed.
    fn weight(self, weight: i8) -> i8 {
        weight
    }

    fn group(self, group: &[i8]) -> i32;

    /// Divides a row into groups.
    fn push_row(self, row: &[i8], activations: &mut Activations) {
        self.push_groups(row, activations);
    }

    /// Divides a row into groups and no rest.
    fn push_groups(self, row: &[i8], activations: &mut Activations) {
        let groups = row.chunks(GROUP).map(|group| self.group(group));
        activations.groups.extend(groups);
    }

    /// Runs a function that calls the methods below, and [`push_row`](Self::push_row).
    fn run(self, function: impl FnOnce());

    /// Returns `start` plus the products of rows of groups with a panel.
    fn sum(self, panel: &[Step], start: &[i32; WIDTH], rows: &[i32]) -> Sums;

    /// Adds the rest of a row to its sums.
    fn add_rest(self, _: &[Step], _: &Activations, _row: usize, _: &mut [i32; WIDTH]) {}
}

/// A matrix of integers `[d_in, d_out]`, panel after panel, filled with zeros.
pub(crate) struct IntegerMatrix {
    kernel: Kernel,
    steps: Vec<Step>,
    /// For each panel, the sums before the first product: minus the products of what the kernel adds to activations.
    starts: Vec<[i32; WIDTH]>,
    shape: [usize; 2],
}

impl IntegerMatrix {
    /// Packs a matrix, given with the strides of its rows and columns; `None` where `rten-gemm` has exact and fast sums.
    pub(crate) fn new(values: &[i8], shape: [usize; 2], strides: [usize; 2]) -> Option<Self> {
        (!rten::sums_are_exact()).then(|| Self::pack(values, shape, strides))
    }

    pub(crate) fn pack(values: &[i8], shape: [usize; 2], strides: [usize; 2]) -> Self {
        Self::pack_for(Kernel::new(), values, shape, strides)
    }

    fn pack_for(kernel: Kernel, values: &[i8], shape: [usize; 2], strides: [usize; 2]) -> Self {
        let [d_in, d_out] = shape;
        let n_steps = d_in.div_ceil(GROUP);
        let n_panels = d_out.div_ceil(WIDTH);
        let mut steps = vec![Step([0; GROUP * WIDTH]); n_steps * n_panels];
        let mut starts = vec![[0; WIDTH]; n_panels];
        let added = i32::from(kernel.added());
        let panels = steps.chunks_exact_mut(n_steps).zip(&mut starts);
        for (panel, (steps, start)) in panels.enumerate() {
            let n_columns = WIDTH.min(d_out - panel * WIDTH);
            for (first, Step(step)) in (0..d_in).step_by(GROUP).zip(steps) {
                let mut rows = [[0; WIDTH]; GROUP];
                for (row, k) in rows.iter_mut().zip(first..d_in) {
                    let row = &mut row[..n_columns];
                    let values = &values[k * strides[0] + panel * WIDTH * strides[1]..];
                    match strides[1] {
                        1 => row.copy_from_slice(&values[..n_columns]),
                        stride => {
                            let values = values.iter().step_by(stride);
                            row.iter_mut()
                                .zip(values)
                                .for_each(|(to, from)| *to = *from);
                        }
                    }
                }
                for column in 0..WIDTH {
                    for (index, row) in rows.iter().enumerate() {
                        step[GROUP * column + index] = kernel.weight(row[column]);
                        start[column] -= added * i32::from(row[column]);
                    }
                }
            }
        }
        Self {
            kernel,
            steps,
            starts,
            shape,
        }
    }

    pub(crate) fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// Writes the sums of the products of rows of integers.
    pub(crate) fn multiply(&self, rows: &[i8], activations: &mut Activations, sums: &mut [i32]) {
        let ([d_in, d_out], kernel) = (self.shape, self.kernel);
        let n_steps = d_in.div_ceil(GROUP);
        activations.groups.clear();
        activations.rests.clear();
        activations.apart.clear();
        let rows_at_once = (MAX_GROUPS / n_steps / MAX_ROWS).max(1) * MAX_ROWS;
        kernel.run(
            #[inline(always)]
            || {
                for row in rows.chunks_exact(d_in) {
                    kernel.push_row(row, activations);
                }
                let sums = sums.chunks_mut(rows_at_once * d_out);
                for (first, sums) in (0..).step_by(rows_at_once).zip(sums) {
                    self.sum_rows(activations, first, sums);
                }
            },
        );
    }

    /// Writes the sums of as many rows as `sums` has, from the row `first` on.
    #[inline(always)]
    fn sum_rows(&self, activations: &Activations, first: usize, sums: &mut [i32]) {
        let ([d_in, d_out], kernel) = (self.shape, self.kernel);
        let n_steps = d_in.div_ceil(GROUP);
        let panels = self.steps.chunks_exact(n_steps).zip(&self.starts);
        for (index, (panel, start)) in panels.enumerate() {
            let columns = index * WIDTH..d_out.min((index + 1) * WIDTH);
            let blocks = activations.groups[first * n_steps..].chunks(MAX_ROWS * n_steps);
            let mut rows = first..;
            for (groups, sums) in blocks.zip(sums.chunks_mut(MAX_ROWS * d_out)) {
                let mut found = kernel.sum(panel, start, groups);
                let sums = sums.chunks_exact_mut(d_out).zip(&mut found);
                for ((sums, found), row) in sums.zip(&mut rows) {
                    kernel.add_rest(panel, activations, row, found);
                    let sums = &mut sums[columns.clone()];
                    match sums.first_chunk_mut() {
                        Some(all) => *all = *found,
                        None => sums.copy_from_slice(&found[..columns.len()]),
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use transformer_text::random::SplitMix64;

    use super::*;

    /// Shapes with an odd number of inputs, with part of a panel, and with more groups than are multiplied at once.
    const SHAPES: [[usize; 2]; 5] = [[1, 1], [300, 37], [1027, 16], [64, 65], [40_000, 3]];

    /// Packs a matrix for each kernel that this processor has.
    fn pack(weights: &[i8], shape: [usize; 2], strides: [usize; 2]) -> Vec<IntegerMatrix> {
        let kernels = [
            Kernel::new(),
            #[cfg(target_arch = "x86_64")]
            Kernel::portable(),
        ];
        let pack = |kernel| IntegerMatrix::pack_for(kernel, weights, shape, strides);
        kernels.map(pack).into()
    }

    #[test]
    fn sums_are_exact_with_the_largest_integers() {
        let mut random = SplitMix64::new(3);
        let mut activations = Activations::default();
        let mut integer = || match random.below(4) {
            0 => 127,
            1 => -127,
            _ => random.below(255) as i32 as i8,
        };
        for [d_in, d_out] in SHAPES {
            let weights: Vec<i8> = (0..d_in * d_out).map(|_| integer()).collect();
            // Weights of which each column is contiguous.
            let matrices = pack(&weights, [d_in, d_out], [1, d_in]);
            for n_rows in [1, 2, 3, 4, 9] {
                let rows: Vec<i8> = (0..n_rows * d_in).map(|_| integer()).collect();
                let sum = |index: usize| -> i32 {
                    let (row, column) = (index / d_out, index % d_out);
                    let product =
                        |k| i32::from(rows[row * d_in + k]) * i32::from(weights[column * d_in + k]);
                    (0..d_in).map(product).sum()
                };
                let expected: Vec<i32> = (0..n_rows * d_out).map(sum).collect();
                for matrix in &matrices {
                    let mut sums = vec![7; n_rows * d_out];
                    matrix.multiply(&rows, &mut activations, &mut sums);
                    let kernel = matrix.kernel;
                    assert_eq!(sums, expected, "{n_rows} rows of {d_in}, {kernel:?}");
                }
            }
        }
    }
}
