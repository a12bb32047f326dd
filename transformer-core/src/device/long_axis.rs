//! Reductions along long axes, in two short steps.
//!
//! Without its autotuning, CubeCL computes each result of a reduction in one thread, one element after the other
//! (cubek-reduce 0.3.1, `UnitStrategy`): a GPU's sum of a long axis takes longer than a product of matrices.

use burn::tensor::Tensor;

/// Splits a length into two factors, as near to each other as its divisors allow; the smaller one is first.
pub(crate) fn near_factors(len: usize) -> [usize; 2] {
    let mut divisors = (1..=len.isqrt()).rev();
    let first = divisors.find(|it| len.is_multiple_of(*it)).unwrap_or(1);
    [first, len / first]
}

/// Reduces every row by `reduce`, which reduces one axis of a tensor to the length 1 and gives the same result in any
/// order and in parts, as sums and maxima do.
///
/// # Shapes
///
/// - `x`: `[n, width]`
/// - returns: `[n, 1]`
pub fn reduce_rows(x: Tensor<2>, reduce: impl Fn(Tensor<3>, usize) -> Tensor<3>) -> Tensor<2> {
    let [n, width] = x.dims();
    let [a, b] = near_factors(width);
    // Neighboring threads read neighboring elements in the first step.
    let parts = reduce(x.reshape([n, a, b]), 1);
    reduce(parts, 2).reshape([n, 1])
}

/// Adds all rows.
///
/// # Shapes
///
/// - `x`: `[n, width]`
/// - returns: `[width]`
pub fn sum_of_rows(x: Tensor<2>) -> Tensor<1> {
    let [n, width] = x.dims();
    let [a, b] = near_factors(n);
    let parts = x.reshape([a, b, width]).sum_dim(0);
    parts.sum_dim(1).reshape([width])
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::device;

    #[test]
    fn factors_are_near_and_have_the_length_as_product() {
        let found = [1, 2, 12, 13, 8000, 8192].map(near_factors);
        let expected = [[1, 1], [1, 2], [3, 4], [1, 13], [80, 100], [64, 128]];
        assert_eq!(found, expected);
    }

    #[test]
    fn rows_are_reduced_whatever_their_length() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        for width in [1, 7, 12, 30] {
            let values: Vec<f32> = (0..3 * width).map(|it| (it * 7 % 11) as f32).collect();
            let expected = |fold: fn(f32, f32) -> f32| -> Vec<f32> {
                let rows = values.chunks(width).map(|row| row.iter().copied());
                rows.map(|row| row.reduce(fold).expect("not empty"))
                    .collect()
            };
            let data = TensorData::new(values.clone(), [3, width]);
            let x = Tensor::<2>::from_data(data, &device);
            let read = |x: Tensor<2>| x.into_data().iter::<f32>().collect::<Vec<_>>();
            let sums = read(reduce_rows(x.clone(), Tensor::sum_dim));
            assert_eq!(sums, expected(|a, b| a + b));
            let maxima = read(reduce_rows(x.clone(), Tensor::max_dim));
            assert_eq!(maxima, expected(f32::max));
            let columns = sum_of_rows(x.transpose()).unsqueeze();
            assert_eq!(read(columns), expected(|a, b| a + b));
        }
    }
}
