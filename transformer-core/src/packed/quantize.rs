//! Activations as 8-bit integers, with a scale for each row.

use pulp::{Arch, NullaryFnOnce};

/// The integer that stands for 0.
pub(super) const ZERO_POINT: u8 = 128;

/// The largest magnitude of an integer, relative to [`ZERO_POINT`].
const MAX: f32 = 127.0;

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
