//! Symmetric 8-bit quantization of a matrix, with a scale per output channel.

use burn::tensor::{DType, TensorData};
use rayon::prelude::*;

/// The largest integer. −128 is not used, so the range is symmetric.
const MAX: f32 = 127.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChannelAxis {
    /// Columns: the matrix is `[inputs, outputs]`.
    Columns,
    /// Rows: the matrix is `[outputs, inputs]`, like a vocabulary matrix with a row per token.
    Rows,
}

/// A quantized matrix, with the value `values · scales`.
#[derive(Clone, Debug)]
pub(super) struct Int8Matrix {
    /// `[rows, columns]`, of type `i8`.
    pub(super) values: TensorData,
    /// `[rows, 1]` or `[1, columns]`, of type `f32`: the channel's largest magnitude / 127.
    pub(super) scales: TensorData,
}

impl Int8Matrix {
    /// Rounds each value to the nearest multiple of its channel's scale.
    pub(super) fn quantize(
        values: &[f32],
        [n_rows, n_columns]: [usize; 2],
        channels: ChannelAxis,
    ) -> Self {
        let shape = [n_rows, n_columns];
        let (integers, scales) = quantize_matrix(values, |value| value, shape, channels);
        Self {
            values: TensorData::new(integers, shape),
            scales: TensorData::new(scales, Self::scales_shape(shape, channels)),
        }
    }

    pub(super) const fn scales_shape(
        [n_rows, n_columns]: [usize; 2],
        channels: ChannelAxis,
    ) -> [usize; 2] {
        match channels {
            ChannelAxis::Columns => [1, n_columns],
            ChannelAxis::Rows => [n_rows, 1],
        }
    }

    /// Returns whether the types and shapes of the parts are those of a matrix with these channels.
    pub(super) fn is_valid(
        values: &TensorData,
        scales: &TensorData,
        channels: ChannelAxis,
    ) -> bool {
        let &[n_rows, n_columns] = &values.shape()[..] else {
            return false;
        };
        values.dtype() == DType::I8
            && scales.dtype() == DType::F32
            && scales.shape()[..] == Self::scales_shape([n_rows, n_columns], channels)
    }

    /// Returns the values of the matrix; `None` if its parts are not [valid](Self::is_valid).
    pub(super) fn to_f32(&self, channels: ChannelAxis) -> Option<TensorData> {
        if !Self::is_valid(&self.values, &self.scales, channels) {
            return None;
        }
        let integers = self.values.as_slice::<i8>().ok()?;
        let scales = self.scales.as_slice::<f32>().ok()?;
        let n_columns = self.values.shape()[1];
        let mut values = vec![0.0; integers.len()];
        // An empty row is not a chunk.
        let rows = values.par_chunks_mut(n_columns.max(1));
        let rows = rows.zip(integers.par_chunks(n_columns.max(1))).enumerate();
        rows.for_each(|(row, (values, integers))| {
            let pairs = values.iter_mut().zip(integers);
            match channels {
                ChannelAxis::Columns => pairs.zip(scales).for_each(|((value, integer), scale)| {
                    *value = f32::from(*integer) * scale;
                }),
                ChannelAxis::Rows => pairs.for_each(|(value, integer)| {
                    *value = f32::from(*integer) * scales[row];
                }),
            }
        });
        Some(TensorData::new(values, self.values.shape().clone()))
    }
}

/// Rounds each element of a matrix in row-major order, converted by `to_f32`, to the nearest multiple of its channel's
/// scale.
///
/// Returns the integers, from −127 to 127, and one scale for each channel: its largest magnitude / 127.
/// NaN makes the scale of its channel NaN, so that it is not lost.
pub(crate) fn quantize_matrix<T: Copy>(
    values: &[T],
    to_f32: impl Fn(T) -> f32,
    [n_rows, n_columns]: [usize; 2],
    channels: ChannelAxis,
) -> (Vec<i8>, Vec<f32>) {
    let n_channels = match channels {
        ChannelAxis::Columns => n_columns,
        ChannelAxis::Rows => n_rows,
    };
    let mut scales = vec![0.0_f32; n_channels];
    let mut integers = Vec::with_capacity(values.len());
    // A channel of zeros has the scale 0.
    let round = |value: f32, scale: f32| {
        let multiple = if scale > 0.0 { value / scale } else { 0.0 };
        multiple.round().clamp(-MAX, MAX) as i8
    };
    // An empty row is not a chunk.
    let rows = values.chunks_exact(n_columns.max(1));
    match channels {
        ChannelAxis::Columns => {
            for row in rows.clone() {
                for (scale, value) in scales.iter_mut().zip(row) {
                    *scale = larger(*scale, to_f32(*value).abs() / MAX);
                }
            }
            for row in rows {
                let row = row.iter().zip(&scales);
                integers.extend(row.map(|(value, scale)| round(to_f32(*value), *scale)));
            }
        }
        ChannelAxis::Rows => {
            for (row, scale) in rows.zip(&mut scales) {
                let magnitudes = row.iter().map(|value| to_f32(*value).abs() / MAX);
                *scale = magnitudes.fold(0.0, larger);
                integers.extend(row.iter().map(|value| round(to_f32(*value), *scale)));
            }
        }
    }
    (integers, scales)
}

/// Returns the larger of two magnitudes, or NaN if one is NaN.
fn larger(a: f32, b: f32) -> f32 {
    if b <= a || a.is_nan() { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values_of(data: &TensorData) -> Vec<f32> {
        data.iter::<f32>().collect()
    }

    #[test]
    fn each_column_has_the_scale_of_its_largest_magnitude() {
        // Scales 1/127 and 100/127; 0.5 is 63.5 times the first, 49 is 62.23 times the second.
        let matrix = Int8Matrix::quantize(&[1.0, 100.0, 0.5, -49.0], [2, 2], ChannelAxis::Columns);
        assert_eq!(values_of(&matrix.values), [127.0, 127.0, 64.0, -62.0]);
        assert_eq!(values_of(&matrix.scales), [1.0 / 127.0, 100.0 / 127.0]);
        assert_eq!(&matrix.scales.shape()[..], [1, 2]);
    }

    #[test]
    fn each_row_has_a_scale_where_rows_are_channels() {
        let matrix = Int8Matrix::quantize(&[127.0, -3.0, 12.7, 0.0], [2, 2], ChannelAxis::Rows);
        assert_eq!(values_of(&matrix.values), [127.0, -3.0, 127.0, 0.0]);
        assert_eq!(&matrix.scales.shape()[..], [2, 1]);
    }

    #[test]
    fn the_rounding_error_is_at_most_half_a_scale() {
        let (n_rows, n_columns) = (7, 5);
        let value = |index: usize| ((index * 37 + 11) % 101) as f32 / 17.0 - 2.9;
        let values: Vec<f32> = (0..n_rows * n_columns).map(value).collect();
        for channels in [ChannelAxis::Columns, ChannelAxis::Rows] {
            let matrix = Int8Matrix::quantize(&values, [n_rows, n_columns], channels);
            let restored = matrix.to_f32(channels).expect("the parts match");
            let scales = values_of(&matrix.scales);
            for (index, (before, after)) in values.iter().zip(values_of(&restored)).enumerate() {
                let scale = match channels {
                    ChannelAxis::Columns => scales[index % n_columns],
                    ChannelAxis::Rows => scales[index / n_columns],
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
    fn a_channel_with_nan_has_the_scale_nan() {
        let values = [1.0, f32::NAN, 2.0, 3.0, 1.0, 4.0];
        let (_, scales) = quantize_matrix(&values, |it| it, [3, 2], ChannelAxis::Columns);
        assert!(scales[0].is_finite() && scales[1].is_nan());
        let (_, scales) = quantize_matrix(&values, |it| it, [3, 2], ChannelAxis::Rows);
        assert!(scales[0].is_nan() && scales[1..].iter().all(|scale| scale.is_finite()));
    }

    #[test]
    fn zeros_stay_zeros() {
        let matrix = Int8Matrix::quantize(&[0.0; 6], [3, 2], ChannelAxis::Columns);
        let restored = matrix
            .to_f32(ChannelAxis::Columns)
            .expect("the parts match");
        assert_eq!(values_of(&restored), [0.0; 6]);
    }

    #[test]
    fn scales_of_the_other_axis_are_refused() {
        let matrix = Int8Matrix::quantize(&[1.0; 4], [2, 2], ChannelAxis::Columns);
        assert!(matrix.to_f32(ChannelAxis::Rows).is_none());
    }

    #[test]
    fn scales_of_another_matrix_are_refused() {
        let matrix = Int8Matrix::quantize(&[1.0; 6], [3, 2], ChannelAxis::Columns);
        let other = Int8Matrix::quantize(&[1.0; 12], [4, 3], ChannelAxis::Columns);
        let mixed = Int8Matrix {
            scales: other.scales,
            ..matrix
        };
        assert!(mixed.to_f32(ChannelAxis::Columns).is_none());
    }
}
