//! Activations as 8-bit integers, with a scale for each row.

use pulp::{Simd, WithSimd};

use super::instruction_set;

/// The largest magnitude of an integer, relative to the zero point.
const MAX: f32 = 127.0;

/// `1.5·2²³`: the sum of it, an even zero point and a number, rounded to the nearest integer, ties
/// to even, has that integer and the zero point in its lowest byte.
const SHIFT: f32 = 12_582_912.0;

/// Number of partial maxima, so that comparisons need not wait for each other.
const PARTS: usize = 2;

/// Rounds every row of `x` to multiples of its scale, the largest magnitude / 127, and writes the scales and the
/// integers with the zero point added.
///
/// `widths` are the widths of the rows of `x` and of `integers`; the latter may be longer. A row that contains NaN or
/// an infinity gets the scale NaN, so that all products with it are NaN.
#[inline(never)]
pub fn quantize_rows(
    x: &[f32],
    widths: [usize; 2],
    zero_point: u8,
    integers: &mut [u8],
    scales: &mut [f32],
) {
    instruction_set().dispatch(QuantizeRows {
        x,
        widths,
        zero_point,
        integers,
        scales,
    });
}

struct QuantizeRows<'a> {
    x: &'a [f32],
    widths: [usize; 2],
    zero_point: u8,
    integers: &'a mut [u8],
    scales: &'a mut [f32],
}

impl WithSimd for QuantizeRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let [width, stride] = self.widths;
        let rows = self.x.chunks_exact(width);
        let rows = rows.zip(self.integers.chunks_exact_mut(stride));
        for ((row, integers), scale) in rows.zip(self.scales) {
            *scale = quantize_row(simd, row, self.zero_point, &mut integers[..width]);
        }
    }
}

#[inline(always)]
fn quantize_row<S: Simd>(simd: S, row: &[f32], zero_point: u8, integers: &mut [u8]) -> f32 {
    let Some(max) = largest_magnitude(simd, row) else {
        integers.fill(zero_point);
        return f32::NAN;
    };
    let inverse = if max > 0.0 { MAX / max } else { 0.0 };
    // The inverse of a subnormal maximum may overflow.
    let inverse = if inverse.is_finite() { inverse } else { 0.0 };
    let shift = SHIFT + f32::from(zero_point);
    for (integer, value) in integers.iter_mut().zip(row) {
        *integer = (value * inverse + shift).to_bits() as u8;
    }
    max / MAX
}

/// Returns the largest magnitude; `None` if there is a NaN or an infinity.
#[inline(always)]
fn largest_magnitude<S: Simd>(simd: S, row: &[f32]) -> Option<f32> {
    let zero = simd.splat_f32s(0.0);
    let (vectors, rest) = S::as_simd_f32s(row);
    let (groups, singles) = vectors.as_chunks::<PARTS>();
    let mut maxima = [zero; PARTS];
    // `x · 0` is NaN for NaN and infinities, and 0 for all other numbers.
    let mut zeros = [zero; PARTS];
    for group in groups {
        for part in 0..PARTS {
            maxima[part] = simd.max_f32s(maxima[part], simd.abs_f32s(group[part]));
            zeros[part] = simd.mul_add_e_f32s(group[part], zero, zeros[part]);
        }
    }
    for single in singles {
        maxima[0] = simd.max_f32s(maxima[0], simd.abs_f32s(*single));
        zeros[0] = simd.mul_add_e_f32s(*single, zero, zeros[0]);
    }
    let mut max = 0.0_f32;
    let mut sum_of_zeros = 0.0;
    for part in 0..PARTS {
        max = max.max(simd.reduce_max_f32s(maxima[part]));
        sum_of_zeros += simd.reduce_sum_f32s(zeros[part]);
    }
    for value in rest {
        max = max.max(value.abs());
        sum_of_zeros += value * 0.0;
    }
    (sum_of_zeros == 0.0).then_some(max)
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
        quantize_rows(&row, [77; 2], 128, &mut integers, &mut scales);
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
        quantize_rows(&x, [2; 2], 128, &mut integers, &mut scales);
        assert_eq!(scales[0], 0.0);
        assert_eq!(integers, [128; 6]);
        assert!(scales[1].is_nan() && scales[2].is_nan());
    }

    #[test]
    fn a_row_of_subnormal_numbers_is_finite() {
        let mut integers = [0; 2];
        let mut scales = [1.0];
        quantize_rows(&[1e-44, -1e-44], [2; 2], 128, &mut integers, &mut scales);
        assert!(scales[0].is_finite());
    }
}
