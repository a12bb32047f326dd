//! Products of matrices in memory that is there already, by the library that flex multiplies with.

use gemm::Parallelism;
use rayon::prelude::*;

/// Fewest numbers of a matrix for which it pays to call another thread, where a single row is multiplied with it.
const NUMBERS_PER_THREAD: usize = 1 << 17;

/// Holds a matrix row by row, or its transpose.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    numbers: &'a [f32],
    shape: [usize; 2],
    /// How far a number is from the next of its column, and of its row.
    strides: [usize; 2],
}

impl<'a> Matrix<'a> {
    /// Takes numbers row by row.
    ///
    /// # Panics
    ///
    /// Panics if there are more or fewer than the shape, rows and columns, has.
    pub fn new(numbers: &'a [f32], shape: [usize; 2]) -> Self {
        let [rows, columns] = shape;
        assert_eq!(
            Some(numbers.len()),
            rows.checked_mul(columns),
            "a matrix is as large as its shape"
        );
        Self {
            numbers,
            shape,
            strides: [columns, 1],
        }
    }

    /// Returns it with rows and columns changed about.
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

    /// Returns so many of its columns.
    fn columns(self, start: usize, n_columns: usize) -> Self {
        let [rows, columns] = self.shape;
        assert!(start + n_columns <= columns, "there are these columns");
        Self {
            numbers: &self.numbers[start * self.strides[1]..],
            shape: [rows, n_columns],
            ..self
        }
    }

    /// Adds the rows of a matrix that is held row by row to what `sums` holds.
    ///
    /// # Panics
    ///
    /// Panics if it is a transpose, or `sums` is not as long as a row.
    pub fn add_rows_to(self, sums: &mut [f32]) {
        assert_eq!(
            (self.strides, self.shape[1]),
            ([sums.len(), 1], sums.len()),
            "rows are added to a row"
        );
        for row in self.numbers.chunks(sums.len().max(1)) {
            for (sum, number) in sums.iter_mut().zip(row) {
                *sum += number;
            }
        }
    }
}

/// Says whether a product takes the place of what is there or is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// It takes its place.
    Begins,
    /// It is added.
    GoesOn,
}

/// Writes the product of two matrices row by row, on the threads of the rayon pool that it is called in.
///
/// # Shapes
///
/// - `left`: `[m, k]`
/// - `right`: `[k, n]`
/// - `product`: `[m, n]`
///
/// # Panics
///
/// Panics if the shapes do not fit together.
///
/// # Example
///
/// ```
/// use transformer_core::cpu::gemm::{Matrix, Sum, multiply};
///
/// let (left, right) = ([1.0, 2.0], [3.0, 4.0]);
/// let mut product = [0.0];
/// multiply(Matrix::new(&left, [1, 2]), Matrix::new(&right, [2, 1]), &mut product, Sum::Begins);
/// assert_eq!(product, [11.0]);
/// ```
pub fn multiply(left: Matrix<'_>, right: Matrix<'_>, product: &mut [f32], sum: Sum) {
    let ([m, k], [k_right, n]) = (left.shape, right.shape);
    assert_eq!(k, k_right, "the product of these matrices does not exist");
    assert_eq!(
        Some(product.len()),
        m.checked_mul(n),
        "a product is as large as its shape"
    );
    // Gemm leaves a single row to one thread.
    let n_parts = match m {
        1 => rayon::current_num_threads().min(k * n / NUMBERS_PER_THREAD),
        _ => 1,
    };
    if n_parts < 2 {
        return multiply_at_once(left, right, product, sum);
    }
    let width = n.div_ceil(n_parts);
    let parts = product.par_chunks_mut(width).enumerate();
    parts.for_each(|(part, product)| {
        let columns = right.columns(part * width, product.len());
        multiply_at_once(left, columns, product, sum);
    });
}

/// Does so, given that the shapes fit together.
#[expect(
    unsafe_code,
    reason = "gemm, with which flex multiplies too, takes pointers and strides"
)]
fn multiply_at_once(left: Matrix<'_>, right: Matrix<'_>, product: &mut [f32], sum: Sum) {
    let ([m, k], [_, n]) = (left.shape, right.shape);
    let [left_down, left_right] = left.strides.map(|stride| stride as isize);
    let [right_down, right_right] = right.strides.map(|stride| stride as isize);
    // SAFETY: `Matrix` holds as many numbers as its shape and strides reach, and the product, which is borrowed
    // alone, has `m` rows of `n` numbers.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            product.as_mut_ptr(),
            1,
            n as isize,
            sum == Sum::GoesOn,
            left.numbers.as_ptr(),
            left_right,
            left_down,
            right.numbers.as_ptr(),
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
    fn products_of_transposes_are_those_of_definitions() {
        let left = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let right = [1.0, -1.0, 0.5, 2.0];
        let mut product = vec![1.0; 6];
        let [left, right] = [Matrix::new(&left, [2, 3]), Matrix::new(&right, [2, 2])];
        multiply(left.transposed(), right, &mut product, Sum::GoesOn);
        assert_eq!(product, [4.0, 8.0, 5.5, 9.0, 7.0, 10.0]);
        multiply(left.transposed(), right, &mut product, Sum::Begins);
        assert_eq!(product, [3.0, 7.0, 4.5, 8.0, 6.0, 9.0]);
    }

    #[test]
    fn a_row_is_multiplied_by_threads_as_by_one() {
        let [k, n] = [512, 1031];
        let numbers = |n: usize, factor: usize| -> Vec<f32> {
            let number = |place: usize| ((place * factor) % 211) as f32 / 211.0 - 0.5;
            (0..n).map(number).collect()
        };
        let (row, matrix) = (numbers(k, 5), numbers(k * n, 13));
        let row = Matrix::new(&row, [1, k]);
        for right in [
            Matrix::new(&matrix, [k, n]),
            Matrix::new(&matrix, [n, k]).transposed(),
        ] {
            let mut expected = vec![0.5; n];
            multiply_at_once(row, right, &mut expected, Sum::GoesOn);
            let mut found = vec![0.5; n];
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build();
            let pool = pool.expect("three threads can be started");
            pool.install(|| multiply(row, right, &mut found, Sum::GoesOn));
            // Sums of 512 products may be in another order.
            let close = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-4;
            assert!(found.iter().zip(&expected).all(close));
        }
    }
}
