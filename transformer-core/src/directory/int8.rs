//! Matrices as 8-bit integers: symmetric, with a scale for each output channel.

use burn::tensor::{DType, TensorData};

/// The largest integer; −128 is not used, so that both signs reach equally far.
const LARGEST: f32 = 127.0;

/// Says what the output channels of a matrix are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channels {
    /// Of `[inputs, outputs]`.
    Columns,
    /// Of `[outputs, inputs]`, as a vocabulary matrix has a row for each token.
    Rows,
}

/// Holds a matrix as integers; `values · scales` is what it stands for.
#[derive(Clone, Debug)]
pub(crate) struct Int8Matrix {
    /// `[rows, columns]`, of type `i8`.
    pub(crate) values: TensorData,
    /// `[rows, 1]` or `[1, columns]`, of type `f32`: largest magnitude of the channel / 127.
    pub(crate) scales: TensorData,
}

impl Int8Matrix {
    /// Rounds each number to the nearest multiple of its channel's scale.
    pub(crate) fn of(numbers: &[f32], [n_rows, n_columns]: [usize; 2], channels: Channels) -> Self {
        let shape = match channels {
            Channels::Columns => [1, n_columns],
            Channels::Rows => [n_rows, 1],
        };
        let mut scales = vec![0.0_f32; shape[0] * shape[1]];
        let channel = |place| channel([n_rows, n_columns], shape, place);
        for (place, number) in numbers.iter().enumerate() {
            let scale = &mut scales[channel(place)];
            *scale = scale.max(number.abs() / LARGEST);
        }
        let round = |(place, number): (usize, &f32)| {
            let scale = scales[channel(place)];
            // A channel of zeros has the scale 0.
            let multiple = if scale > 0.0 { number / scale } else { 0.0 };
            multiple.round().clamp(-LARGEST, LARGEST) as i8
        };
        let values: Vec<i8> = numbers.iter().enumerate().map(round).collect();
        Self {
            values: TensorData::new(values, [n_rows, n_columns]),
            scales: TensorData::new(scales, shape),
        }
    }

    /// Returns the numbers that the matrix stands for; `None` if its parts do not fit together.
    pub(crate) fn to_f32(&self) -> Option<TensorData> {
        let &[n_rows, n_columns] = &self.values.shape()[..] else {
            return None;
        };
        let &[high, wide] = &self.scales.shape()[..] else {
            return None;
        };
        let fits = self.values.dtype() == DType::I8
            && self.scales.dtype() == DType::F32
            && (high == 1 || high == n_rows)
            && (wide == 1 || wide == n_columns);
        if !fits {
            return None;
        }
        let values = self.values.as_slice::<i8>().ok()?;
        let scales = self.scales.as_slice::<f32>().ok()?;
        let number = |(place, value): (usize, &i8)| {
            f32::from(*value) * scales[channel([n_rows, n_columns], [high, wide], place)]
        };
        let numbers: Vec<f32> = values.iter().enumerate().map(number).collect();
        Some(TensorData::new(numbers, [n_rows, n_columns]))
    }
}

/// Returns which of the scales, an array of this shape, belongs to a place in the matrix.
fn channel([_, n_columns]: [usize; 2], [high, wide]: [usize; 2], place: usize) -> usize {
    let (row, column) = (place / n_columns, place % n_columns);
    (row % high) * wide + column % wide
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers_of(data: &TensorData) -> Vec<f32> {
        data.iter::<f32>().collect()
    }

    #[test]
    fn each_column_is_as_fine_as_its_largest_number_allows() {
        // Scales 1/127 and 100/127; 0.5 is 63.5 of the first, 49 is 62.23 of the second.
        let matrix = Int8Matrix::of(&[1.0, 100.0, 0.5, -49.0], [2, 2], Channels::Columns);
        assert_eq!(numbers_of(&matrix.values), [127.0, 127.0, 64.0, -62.0]);
        assert_eq!(numbers_of(&matrix.scales), [1.0 / 127.0, 100.0 / 127.0]);
        assert_eq!(&matrix.scales.shape()[..], [1, 2]);
    }

    #[test]
    fn a_row_is_a_channel_where_rows_are_outputs() {
        let matrix = Int8Matrix::of(&[127.0, -3.0, 12.7, 0.0], [2, 2], Channels::Rows);
        assert_eq!(numbers_of(&matrix.values), [127.0, -3.0, 127.0, 0.0]);
        assert_eq!(&matrix.scales.shape()[..], [2, 1]);
    }

    #[test]
    fn no_number_moves_by_more_than_half_a_scale() {
        let (n_rows, n_columns) = (7, 5);
        let number = |place: usize| ((place * 37 + 11) % 101) as f32 / 17.0 - 2.9;
        let numbers: Vec<f32> = (0..n_rows * n_columns).map(number).collect();
        for channels in [Channels::Columns, Channels::Rows] {
            let matrix = Int8Matrix::of(&numbers, [n_rows, n_columns], channels);
            let back = matrix.to_f32().expect("the parts fit together");
            let scales = numbers_of(&matrix.scales);
            for (place, (before, after)) in numbers.iter().zip(numbers_of(&back)).enumerate() {
                let scale = match channels {
                    Channels::Columns => scales[place % n_columns],
                    Channels::Rows => scales[place / n_columns],
                };
                // Half a scale, and the rounding of the division and the product.
                assert!(
                    (before - after).abs() <= scale * 0.50001,
                    "{before} {after} {scale}"
                );
            }
        }
    }

    #[test]
    fn zeros_stay_zeros() {
        let matrix = Int8Matrix::of(&[0.0; 6], [3, 2], Channels::Columns);
        let back = matrix.to_f32().expect("the parts fit together");
        assert_eq!(numbers_of(&back), [0.0; 6]);
    }

    #[test]
    fn scales_of_another_matrix_do_not_fit() {
        let matrix = Int8Matrix::of(&[1.0; 6], [3, 2], Channels::Columns);
        let other = Int8Matrix::of(&[1.0; 12], [4, 3], Channels::Columns);
        let mixed = Int8Matrix {
            scales: other.scales,
            ..matrix
        };
        assert!(mixed.to_f32().is_none());
    }
}
