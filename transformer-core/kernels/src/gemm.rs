//! Matrix products into existing buffers, by the `gemm` crate, which flex uses too.

use std::ops::Range;

use gemm::Parallelism;
use rayon::prelude::*;

/// Minimum number of matrix elements per thread when a single row is multiplied by the matrix.
const ELEMENTS_PER_THREAD: usize = 1 << 17;

/// A view of a row-major matrix, or of its transpose.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    elements: &'a [f32],
    shape: [usize; 2],
    /// Distance between neighbors of a column, and of a row, in elements.
    strides: [usize; 2],
}

impl<'a> Matrix<'a> {
    /// Views elements in row-major order as a matrix of `shape`, rows and columns.
    ///
    /// # Panics
    ///
    /// Panics if the number of elements is not that of the shape.
    pub fn new(elements: &'a [f32], shape: [usize; 2]) -> Self {
        let [rows, columns] = shape;
        assert_eq!(
            Some(elements.len()),
            rows.checked_mul(columns),
            "the shape has as many elements as the slice"
        );
        Self {
            elements,
            shape,
            strides: [columns, 1],
        }
    }

    /// Returns the transposed view.
    #[must_use]
    pub fn transposed(self) -> Self {
        let [rows, columns] = self.shape;
        let [down, right] = self.strides;
        Self {
            shape: [columns, rows],
            strides: [right, down],
            ..self
        }
    }

    /// Returns a view of some columns.
    ///
    /// # Panics
    ///
    /// Panics if there are fewer columns.
    #[must_use]
    pub fn columns(self, columns: Range<usize>) -> Self {
        let [rows, n_columns] = self.shape;
        assert!(columns.end <= n_columns, "the columns exist");
        Self {
            elements: &self.elements[columns.start * self.strides[1]..],
            shape: [rows, columns.len()],
            ..self
        }
    }

    /// Applies a function to `ROWS` rows of `COLUMNS` elements that begin at a place; zeros stand for those outside.
    ///
    /// # Panics
    ///
    /// Panics if neighbors of a row are not neighbors in memory.
    #[inline(always)]
    pub(super) fn map_window<const ROWS: usize, const COLUMNS: usize, T>(
        self,
        [row, column]: [usize; 2],
        map: impl FnOnce([&[f32; COLUMNS]; ROWS]) -> T,
    ) -> T {
        assert!(
            self.is_row_major(),
            "neighbors of a row are neighbors in memory"
        );
        let [down, _] = self.strides;
        let [n_rows, n_columns] = self.shape;
        if row + ROWS <= n_rows && column + COLUMNS <= n_columns {
            let elements = &self.elements[row * down + column..];
            return map(std::array::from_fn(|row| {
                let row = elements[row * down..].first_chunk();
                row.expect("the window is within the matrix")
            }));
        }
        let mut window = [[0.0; COLUMNS]; ROWS];
        let column = column.min(n_columns);
        let n_columns = COLUMNS.min(n_columns - column);
        for (line, row) in window.iter_mut().zip(row..n_rows) {
            let start = row * down + column;
            line[..n_columns].copy_from_slice(&self.elements[start..start + n_columns]);
        }
        map(window.each_ref())
    }

    /// Returns the number of rows.
    pub fn n_rows(self) -> usize {
        self.shape[0]
    }

    /// Returns whether neighbors of a row are neighbors in memory.
    pub(super) fn is_row_major(self) -> bool {
        self.strides[1] == 1
    }

    /// Copies the columns with these numbers to a row-major matrix.
    ///
    /// # Panics
    ///
    /// Panics if a column does not exist.
    pub fn gathered_columns(self, columns: &[usize]) -> Vec<f32> {
        let [n_rows, n_columns] = self.shape;
        let outside = columns.iter().find(|column| **column >= n_columns);
        assert_eq!(outside, None, "the columns exist");
        let [down, right] = self.strides;
        let row = |row: usize| {
            columns
                .iter()
                .map(move |column| row * down + column * right)
        };
        (0..n_rows)
            .flat_map(row)
            .map(|index| self.elements[index])
            .collect()
    }

    /// Adds every row to `sums`.
    ///
    /// # Panics
    ///
    /// Panics if this is a transposed view, or `sums` is not as long as a row.
    pub fn add_rows_to(self, sums: &mut [f32]) {
        assert_eq!(
            (self.strides, self.shape[1]),
            ([sums.len(), 1], sums.len()),
            "`sums` is as long as a row, and the matrix is row-major"
        );
        for row in self.elements.chunks(sums.len().max(1)) {
            for (sum, element) in sums.iter_mut().zip(row) {
                *sum += element;
            }
        }
    }
}

/// The use of the output buffer: a product replaces its contents or is added to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Replace the contents.
    Overwrite,
    /// Add to the contents.
    Accumulate,
}

/// A function that multiplies matrices: [`multiply`], or [`bf16::multiply`](super::bf16::multiply()).
pub type Multiply = fn(Matrix<'_>, Matrix<'_>, &mut [f32], Output);

/// Writes the product of two matrices in row-major order, on the current rayon pool.
///
/// # Shapes
///
/// - `left`: `[m, k]`
/// - `right`: `[k, n]`
/// - `product`: `[m, n]`
///
/// # Panics
///
/// Panics if the shapes do not match.
pub fn multiply(left: Matrix<'_>, right: Matrix<'_>, product: &mut [f32], output: Output) {
    let [m, k, n] = sizes(left, right, product);
    // The gemm crate uses one thread for a single row.
    let n_parts = match m {
        1 => rayon::current_num_threads().min(k * n / ELEMENTS_PER_THREAD),
        _ => 1,
    };
    if n_parts < 2 {
        return multiply_at_once(left, right, product, output);
    }
    let width = n.div_ceil(n_parts);
    let parts = product.par_chunks_mut(width).enumerate();
    parts.for_each(|(part, product)| {
        let start = part * width;
        let columns = right.columns(start..start + product.len());
        multiply_at_once(left, columns, product, output);
    });
}

/// Checks the shapes of a product, and returns `m`, `k` and `n`.
pub(super) fn sizes(left: Matrix<'_>, right: Matrix<'_>, product: &[f32]) -> [usize; 3] {
    let ([m, k], [k_right, n]) = (left.shape, right.shape);
    assert_eq!(
        k, k_right,
        "the left matrix has as many columns as the right one has rows"
    );
    assert_eq!(
        Some(product.len()),
        m.checked_mul(n),
        "the buffer has as many elements as the product"
    );
    [m, k, n]
}

#[expect(
    unsafe_code,
    reason = "gemm, with which flex multiplies too, takes pointers and strides"
)]
fn multiply_at_once(left: Matrix<'_>, right: Matrix<'_>, product: &mut [f32], output: Output) {
    let ([m, k], [_, n]) = (left.shape, right.shape);
    let [left_down, left_right] = left.strides.map(|stride| stride as isize);
    let [right_down, right_right] = right.strides.map(|stride| stride as isize);
    // SAFETY: a `Matrix` has all elements that its shape and strides reach; the product is borrowed
    // mutably and has `m` rows of `n` elements.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            product.as_mut_ptr(),
            1,
            n as isize,
            output == Output::Accumulate,
            left.elements.as_ptr(),
            left_right,
            left_down,
            right.elements.as_ptr(),
            right_right,
            right_down,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::Rayon(0),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_transposed_views_equal_the_definition() {
        let left = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let right = [1.0, -1.0, 0.5, 2.0];
        let mut product = vec![1.0; 6];
        let [left, right] = [Matrix::new(&left, [2, 3]), Matrix::new(&right, [2, 2])];
        multiply(left.transposed(), right, &mut product, Output::Accumulate);
        assert_eq!(product, [4.0, 8.0, 5.5, 9.0, 7.0, 10.0]);
        multiply(left.transposed(), right, &mut product, Output::Overwrite);
        assert_eq!(product, [3.0, 7.0, 4.5, 8.0, 6.0, 9.0]);
    }

    #[test]
    fn several_threads_multiply_a_row_like_one() {
        let [k, n] = [512, 1031];
        let values = |n: usize, factor: usize| -> Vec<f32> {
            let value = |index: usize| ((index * factor) % 211) as f32 / 211.0 - 0.5;
            (0..n).map(value).collect()
        };
        let (row, matrix) = (values(k, 5), values(k * n, 13));
        let row = Matrix::new(&row, [1, k]);
        for right in [
            Matrix::new(&matrix, [k, n]),
            Matrix::new(&matrix, [n, k]).transposed(),
        ] {
            let mut expected = vec![0.5; n];
            multiply_at_once(row, right, &mut expected, Output::Accumulate);
            let mut found = vec![0.5; n];
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build();
            let pool = pool.expect("three threads can be started");
            pool.install(|| multiply(row, right, &mut found, Output::Accumulate));
            // Sums of 512 products, maybe in another order.
            let close = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-4;
            assert!(found.iter().zip(&expected).all(close));
        }
    }
}
