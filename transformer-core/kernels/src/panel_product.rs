//! Matrix products in 32-bit floats with weights in panels, on one thread or several.
//!
//! A panel is up to [`WIDTH`] columns of the weights, row after row, so that one step of the kernel reads contiguous memory.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::finish::Finish;
use super::fused::dispatch_to;
use super::instruction_set;
use super::panel_kernel::{LinesOfPanel, PanelProduct};

/// Number of elements of a line of the processor's cache, and of its longest vectors.
pub(super) const LINE: usize = 16;

/// Maximum number of lines of a row of a panel.
pub(super) const LINES: usize = if cfg!(target_family = "wasm") { 1 } else { 3 };

/// Maximum number of columns of a panel.
pub(super) const WIDTH: usize = LINES * LINE;

/// Neighboring elements of a row of a panel.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub(super) struct Line([f32; LINE]);

/// A matrix of floats `[d_in, d_out]` in panels.
pub(super) struct PanelMatrix {
    /// Panel after panel, each `[d_in, lines]`, filled with zeros.
    lines: Vec<Line>,
    shape: [usize; 2],
    /// Number of lines of a row of a panel; the last panel may have fewer.
    lines_of_panel: usize,
}

/// Returns whether the kernel fits this processor: with vectors of at least 8 elements, that is AVX2 or AVX-512, and in
/// WebAssembly. It was not measured with other vectors.
pub(super) fn fit() -> bool {
    struct HasLongVectors;

    impl WithSimd for HasLongVectors {
        type Output = bool;

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> bool {
            S::F32_LANES >= 8 || cfg!(target_family = "wasm")
        }
    }

    instruction_set().dispatch(HasLongVectors)
}

impl PanelMatrix {
    /// Packs a matrix, given with the strides of its rows and columns.
    pub(super) fn new(values: &[f32], shape: [usize; 2], strides: [usize; 2]) -> Self {
        let [d_in, d_out] = shape;
        let lines_of_panel = instruction_set().dispatch(LinesOfPanel);
        let mut lines = vec![Line::zeroed(); d_out.div_ceil(LINE) * d_in];
        let panels = lines.par_chunks_mut(lines_of_panel * d_in).enumerate();
        let width = lines_of_panel * LINE;
        panels.for_each(|(index, panel)| {
            let columns = index * width..d_out.min((index + 1) * width);
            let width = columns.len().next_multiple_of(LINE);
            let rows: &mut [f32] = bytemuck::cast_slice_mut(panel);
            for (k, row) in rows.chunks_exact_mut(width).enumerate() {
                for (value, column) in row.iter_mut().zip(columns.clone()) {
                    *value = values[k * strides[0] + column * strides[1]];
                }
            }
        });
        Self {
            lines,
            shape,
            lines_of_panel,
        }
    }

    pub(super) fn lines_of_panel(&self) -> usize {
        self.lines_of_panel
    }

    pub(super) fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// Returns the panel that begins with a column, and all that follow it.
    pub(super) fn lines_from(&self, column: usize) -> &[Line] {
        &self.lines[column / LINE * self.shape[0]..]
    }
}

/// Minimum number of elements of a matrix per thread, if it is multiplied by up to [`ROWS_AS_ONE`] rows.
const ELEMENTS_PER_THREAD: usize = 1 << 17;

/// Number of rows that take as long as one: the time is that of reading the matrix.
const ROWS_AS_ONE: usize = 8;

/// Writes `activation(x·W + b)`, on the current rayon pool.
///
/// Each element is summed in one order, from the first feature of `x` to the last, and each product is fused with its
/// addition, except in WebAssembly without `relaxed-simd`. So the bits depend neither on the other rows, nor on the number of
/// threads, nor on the processor's vectors.
///
/// # Shapes
///
/// - `x`: `[rows, d_in]`
/// - `product`: `[rows, d_out]`
/// - `buffer`: any; the results of threads are copied from it
pub(super) fn multiply(
    x: &[f32],
    matrix: &PanelMatrix,
    finish: Finish<'_>,
    product: &mut [f32],
    buffer: &mut Vec<f32>,
) {
    let [d_in, d_out] = matrix.shape();
    let n_rows = x.len() / d_in;
    let arch = instruction_set();
    let columns = columns_of_part(n_rows, matrix.shape(), rayon::current_num_threads());
    in_parts(
        [n_rows, d_out],
        columns,
        product,
        buffer,
        |columns, product| {
            let product = PanelProduct {
                x,
                matrix,
                finish,
                columns,
                product,
            };
            dispatch_to(arch, product);
        },
    );
}

/// Returns the number of columns that each thread computes: whole panels.
fn columns_of_part(n_rows: usize, shape: [usize; 2], n_threads: usize) -> usize {
    columns_per_thread(n_rows, shape, n_threads, [WIDTH, ELEMENTS_PER_THREAD])
}

/// Returns the number of columns of a product that each thread computes, a multiple of `width`, with at least so many
/// elements of the matrix for each thread.
pub(super) fn columns_per_thread(
    n_rows: usize,
    [d_in, d_out]: [usize; 2],
    n_threads: usize,
    [width, elements]: [usize; 2],
) -> usize {
    let work = d_in * d_out * n_rows.div_ceil(ROWS_AS_ONE);
    let n_parts = n_threads.min(work / elements).max(1);
    d_out.div_ceil(width).div_ceil(n_parts) * width
}

/// Writes a product `[rows, d_out]` in parts of so many columns, each on a thread of the current rayon pool.
///
/// `multiply` writes the part `[rows, columns]`; `buffer` is any.
pub(super) fn in_parts(
    [n_rows, d_out]: [usize; 2],
    columns_of_part: usize,
    product: &mut [f32],
    buffer: &mut Vec<f32>,
    multiply: impl Fn(Range<usize>, &mut [f32]) + Sync,
) {
    if columns_of_part >= d_out {
        return multiply(0..d_out, product);
    }
    let columns = |index: usize| index * columns_of_part..d_out.min((index + 1) * columns_of_part);
    let multiply_part = |(index, product): (usize, &mut [f32])| multiply(columns(index), product);
    if n_rows == 1 {
        let parts = product.par_chunks_mut(columns_of_part);
        return parts.enumerate().for_each(multiply_part);
    }
    buffer.resize(product.len(), 0.0);
    let len = n_rows * columns_of_part;
    let parts = buffer.par_chunks_mut(len).enumerate();
    parts.for_each(multiply_part);
    for (index, part) in buffer.chunks(len).enumerate() {
        let columns = columns(index);
        let rows = product.chunks_exact_mut(d_out);
        for (row, part) in rows.zip(part.chunks_exact(columns.len())) {
            row[columns.clone()].copy_from_slice(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use transformer_text::random::SplitMix64;

    use super::*;
    use crate::finish::Activation;
    use crate::with_each_instruction_set;

    const NOTHING: Finish<'_> = Finish {
        bias: &[],
        activation: None,
    };

    /// A product with its operands.
    #[derive(Debug)]
    struct Operands {
        x: Vec<f32>,
        weights: Vec<f32>,
        bias: Vec<f32>,
        n_rows: usize,
        shape: [usize; 2],
    }

    impl Operands {
        /// Draws operands from −1 to 1.
        fn random(n_rows: usize, shape: [usize; 2]) -> Self {
            let [d_in, d_out] = shape;
            let mut random = SplitMix64::new(7);
            let mut values = |n: usize| -> Vec<f32> {
                (0..n)
                    .map(|_| 2.0 * random.uniform() as f32 - 1.0)
                    .collect()
            };
            Self {
                x: values(n_rows * d_in),
                weights: values(d_in * d_out),
                bias: values(d_out),
                n_rows,
                shape,
            }
        }

        /// Returns the product with biases; the weights are stored by rows.
        fn multiply(&self) -> Vec<f32> {
            let matrix = PanelMatrix::new(&self.weights, self.shape, [self.shape[1], 1]);
            let finish = Finish {
                bias: &self.bias,
                activation: None,
            };
            self.multiply_by(&matrix, finish)
        }

        fn multiply_by(&self, matrix: &PanelMatrix, finish: Finish<'_>) -> Vec<f32> {
            let mut product = vec![f32::NAN; self.n_rows * self.shape[1]];
            multiply(&self.x, matrix, finish, &mut product, &mut Vec::new());
            product
        }

        /// Returns the bits of the product with biases by its definition: each sum from the first feature to the last,
        /// with fused products.
        fn expected(&self) -> Vec<u32> {
            let [d_in, d_out] = self.shape;
            let element = |index: usize| {
                let (row, column) = (index / d_out, index % d_out);
                let sum = (0..d_in).fold(0.0_f32, |sum, k| {
                    self.x[row * d_in + k].mul_add(self.weights[k * d_out + column], sum)
                });
                (sum + self.bias[column]).to_bits()
            };
            (0..self.n_rows * d_out).map(element).collect()
        }
    }

    fn bits(values: &[f32]) -> Vec<u32> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    fn in_pool<T: Send>(n_threads: usize, work: impl FnOnce() -> T + Send) -> T {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(n_threads)
            .build();
        pool.expect("threads can be started").install(work)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn products_have_the_bits_of_their_definition(
            n_rows in 1..40_usize,
            d_in in 1..70_usize,
            d_out in 1..200_usize,
        ) {
            let operands = Operands::random(n_rows, [d_in, d_out]);
            let expected = operands.expected();
            let (_, vectors) = with_each_instruction_set(|| operands.multiply());
            for (arch, found) in vectors {
                prop_assert_eq!(bits(&found), &expected[..], "{:?}", arch);
            }
        }
    }

    #[test]
    fn blocks_of_rows_have_the_bits_of_the_definition() {
        // 8 rows are multiplied by all panels before the next ones.
        let operands = Operands::random(19, [40_000, 17]);
        assert_eq!(bits(&operands.multiply()), operands.expected());
    }

    #[test]
    fn several_threads_have_the_bits_of_the_definition() {
        for n_rows in [1, 3, 17] {
            let operands = Operands::random(n_rows, [512, 1031]);
            for n_threads in [2, 3, 5] {
                let columns = columns_of_part(n_rows, operands.shape, n_threads);
                assert!(columns < 1031, "{n_rows} rows, {n_threads} threads");
                let found = in_pool(n_threads, || operands.multiply());
                assert_eq!(bits(&found), operands.expected(), "{n_rows}, {n_threads}");
            }
        }
    }

    #[test]
    fn the_scalar_code_is_as_exact_as_vectors() {
        let [d_in, d_out] = [300, 67];
        let operands = Operands::random(11, [d_in, d_out]);
        let (scalar, vectors) = with_each_instruction_set(|| operands.multiply());
        let all = std::iter::once(&scalar).chain(vectors.iter().map(|(_, found)| found));
        for found in all {
            for (index, found) in found.iter().enumerate() {
                let (row, column) = (index / d_out, index % d_out);
                let products = (0..d_in).map(|k| {
                    let x = f64::from(operands.x[row * d_in + k]);
                    x * f64::from(operands.weights[k * d_out + column])
                });
                let expected = products.sum::<f64>() + f64::from(operands.bias[column]);
                // The sums have up to 300 roundings, each of half a unit of at most 32.
                assert!((f64::from(*found) - expected).abs() < 300.0 * 1e-6);
            }
        }
    }

    #[test]
    fn a_transposed_matrix_has_the_product_of_its_transpose() {
        let [d_in, d_out] = [37, 110];
        let operands = Operands::random(6, [d_in, d_out]);
        let transposed: Vec<f32> = (0..d_in * d_out)
            .map(|index| operands.weights[index % d_in * d_out + index / d_in])
            .collect();
        let matrix = PanelMatrix::new(&transposed, operands.shape, [1, d_in]);
        let finish = Finish {
            bias: &operands.bias,
            activation: None,
        };
        assert_eq!(
            bits(&operands.multiply_by(&matrix, finish)),
            operands.expected()
        );
    }

    #[test]
    fn activations_follow_the_sums_and_biases() {
        let operands = Operands::random(5, [40, 60]);
        let matrix = PanelMatrix::new(&operands.weights, operands.shape, [60, 1]);
        let finish = Finish {
            bias: &operands.bias,
            activation: Some(Activation::Relu),
        };
        let found = operands.multiply_by(&matrix, finish);
        let expected: Vec<f32> = operands.multiply().iter().map(|it| it.max(0.0)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn values_that_are_not_finite_stay_in_their_row() {
        let mut operands = Operands::random(10, [20, 50]);
        operands.x[3 * 20] = f32::NAN;
        operands.x[4 * 20] = f32::INFINITY;
        let matrix = PanelMatrix::new(&operands.weights, operands.shape, [50, 1]);
        let found = operands.multiply_by(&matrix, NOTHING);
        for (row, found) in found.chunks_exact(50).enumerate() {
            assert!(match row {
                3 => found.iter().all(|it| it.is_nan()),
                4 => found.iter().all(|it| it.is_infinite()),
                _ => found.iter().all(|it| it.is_finite()),
            });
        }
    }

    #[test]
    fn no_rows_have_an_empty_product() {
        let operands = Operands::random(0, [20, 50]);
        assert!(operands.multiply().is_empty());
    }
}
