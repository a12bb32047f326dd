//! Products of matrices in memory that is there already.

use gemm::Parallelism;

/// Holds a matrix row by row, or its transpose.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    numbers: &'a [f32],
    shape: [usize; 2],
    /// How far a number is from the next of its column, and of its row.
    strides: [usize; 2],
}

impl<'a> Matrix<'a> {
    pub(super) fn new(numbers: &'a [f32], shape: [usize; 2]) -> Self {
        let [rows, columns] = shape;
        assert_eq!(
            numbers.len(),
            rows * columns,
            "a matrix is as large as its shape"
        );
        Self {
            numbers,
            shape,
            strides: [columns, 1],
        }
    }

    pub(super) fn transposed(self) -> Self {
        let [rows, columns] = self.shape;
        let [down, right] = self.strides;
        Self {
            shape: [columns, rows],
            strides: [right, down],
            ..self
        }
    }

    /// Adds the rows of a matrix that is held row by row to what `sums` holds.
    pub(super) fn add_rows_to(self, sums: &mut [f32]) {
        for row in self.numbers.chunks(sums.len()) {
            for (sum, number) in sums.iter_mut().zip(row) {
                *sum += number;
            }
        }
    }
}

/// Says whether a product takes the place of what is there or is added to it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sum {
    Begins,
    GoesOn,
}

/// Writes the product of two matrices row by row.
#[expect(
    unsafe_code,
    reason = "gemm, with which flex multiplies too, takes pointers and strides"
)]
pub(super) fn multiply(left: Matrix<'_>, right: Matrix<'_>, product: &mut [f32], sum: Sum) {
    let ([m, k], [k_right, n]) = (left.shape, right.shape);
    assert_eq!(k, k_right, "the product of these matrices does not exist");
    assert_eq!(product.len(), m * n, "a product is as large as its shape");
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
}
