//! Numbers as 8-bit integers: weights with a scale per output feature, activations with one per row.

use pulp::{Arch, NullaryFnOnce};

/// The integer that stands for 0.
pub(super) const ZERO_POINT: u8 = 128;

/// The largest magnitude of an integer, relative to [`ZERO_POINT`].
const MAX: f32 = 127.0;

/// Which axis of a matrix is that of its output features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channels {
    /// Columns: the matrix is `[inputs, outputs]`.
    Columns,
    /// Rows: the matrix is `[outputs, inputs]`, like one with a row per token.
    Rows,
}

/// Rounds each element of a matrix to the nearest multiple of its channel's scale, the channel's
/// largest magnitude / 127. Returns the integers and the scales.
pub(crate) fn quantize_matrix(
    values: &[f32],
    [n_rows, n_columns]: [usize; 2],
    channels: Channels,
) -> (Vec<i8>, Vec<f32>) {
    let mut scales = vec![
        0.0_f32;
        match channels {
            Channels::Columns => n_columns,
            Channels::Rows => n_rows,
        }
    ];
    let mut integers = Vec::with_capacity(values.len());
    // A channel of zeros has the scale 0.
    let round = |value: f32, scale: f32| {
        let multiple = if scale > 0.0 { value / scale } else { 0.0 };
        multiple.round().clamp(-MAX, MAX) as i8
    };
    let rows = values.chunks_exact(n_columns);
    match channels {
        Channels::Columns => {
            for row in rows.clone() {
                for (scale, value) in scales.iter_mut().zip(row) {
                    *scale = scale.max(value.abs() / MAX);
                }
            }
            for row in rows {
                let row = row.iter().zip(&scales);
                integers.extend(row.map(|(value, scale)| round(*value, *scale)));
            }
        }
        Channels::Rows => {
            for (row, scale) in rows.zip(&mut scales) {
                *scale = row
                    .iter()
                    .fold(0.0, |scale: f32, value| scale.max(value.abs() / MAX));
                integers.extend(row.iter().map(|value| round(*value, *scale)));
            }
        }
    }
    (integers, scales)
}

/// Partial maxima, so that the compiler can vectorize them.
const LANES: usize = 32;

/// Rounds every row of `x` to multiples of its scale, the largest magnitude / 127, and writes the
/// integers, [`ZERO_POINT`] added, and the scales.
///
/// A row that contains NaN or an infinity gets the scale NaN, so that all products with it are NaN.
pub(super) fn quantize_rows(x: &[f32], width: usize, integers: &mut [u8], scales: &mut [f32]) {
    Arch::new().dispatch(QuantizeRows {
        x,
        width,
        integers,
        scales,
    });
}

struct QuantizeRows<'a> {
    x: &'a [f32],
    width: usize,
    integers: &'a mut [u8],
    scales: &'a mut [f32],
}

impl NullaryFnOnce for QuantizeRows<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let rows = self.x.chunks_exact(self.width);
        let rows = rows.zip(self.integers.chunks_exact_mut(self.width));
        for ((row, integers), scale) in rows.zip(self.scales) {
            *scale = quantize_row(row, integers);
        }
    }
}

#[inline(always)]
fn quantize_row(row: &[f32], integers: &mut [u8]) -> f32 {
    let (chunks, rest) = row.as_chunks::<LANES>();
    let mut maxima = [0.0_f32; LANES];
    for chunk in chunks {
        for (max, value) in maxima.iter_mut().zip(chunk) {
            // The magnitude's bits are ordered as the numbers are, and those of NaN are the largest.
            let magnitude = value.to_bits() & 0x7fff_ffff;
            *max = f32::from_bits(max.to_bits().max(magnitude));
        }
    }
    let rest = rest.iter().map(|value| value.to_bits() & 0x7fff_ffff);
    let bits = maxima.iter().map(|max| max.to_bits()).chain(rest).max();
    let max = f32::from_bits(bits.unwrap_or(0));
    if !max.is_finite() {
        integers.fill(ZERO_POINT);
        return f32::NAN;
    }
    let inverse = if max > 0.0 { MAX / max } else { 0.0 };
    // The inverse of a subnormal maximum may overflow.
    let inverse = if inverse.is_finite() { inverse } else { 0.0 };
    for (integer, value) in integers.iter_mut().zip(row) {
        let rounded = (value * inverse).round_ties_even() + f32::from(ZERO_POINT);
        *integer = rounded as i32 as u8;
    }
    max / MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_rounded_to_multiples_of_the_scale() {
        let row: Vec<f32> = (0..77)
            .map(|i| ((i * 37) % 101) as f32 / 7.0 - 6.0)
            .collect();
        let mut integers = [0; 77];
        let mut scales = [0.0];
        quantize_rows(&row, 77, &mut integers, &mut scales);
        let max = row.iter().fold(0.0, |max: f32, value| max.max(value.abs()));
        assert_eq!(scales[0], max / 127.0);
        for (value, integer) in row.iter().zip(integers) {
            let found = (f32::from(integer) - 128.0) * scales[0];
            assert!(
                (value - found).abs() <= scales[0] * 0.5001,
                "{value} {found}"
            );
        }
        assert!(integers.contains(&255) || integers.contains(&1));
    }

    #[test]
    fn zeros_have_the_scale_zero_and_nan_makes_the_scale_nan() {
        let mut integers = [0; 6];
        let mut scales = [1.0; 3];
        let x = [0.0, 0.0, f32::NAN, 1.0, 1.0, f32::INFINITY];
        quantize_rows(&x, 2, &mut integers, &mut scales);
        assert_eq!(scales[0], 0.0);
        assert_eq!(integers, [128; 6]);
        assert!(scales[1].is_nan() && scales[2].is_nan());
    }

    #[test]
    fn a_row_of_subnormal_numbers_is_finite() {
        let mut integers = [0; 2];
        let mut scales = [1.0];
        quantize_rows(&[1e-44, -1e-44], 2, &mut integers, &mut scales);
        assert!(scales[0].is_finite());
    }
}
