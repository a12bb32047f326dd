//! The steps after a product: scales, bias, and activation functions, in steps that the compiler vectorizes.

use std::ops::Range;

use pulp::NullaryFnOnce;

use crate::vector::exp;

/// The non-linearity of a feed-forward network.
#[derive(Clone, Copy, Debug)]
pub enum Activation {
    /// `max(0, x)`.
    Relu,
    /// `x·Φ(x)`.
    Gelu,
    /// `x·σ(x)`.
    Silu,
}

/// The bias and the activation function after a product.
#[derive(Clone, Copy, Debug)]
pub struct Finish<'a> {
    /// `[d_out]`; empty without a bias.
    pub bias: &'a [f32],
    /// Applied after the bias.
    pub activation: Option<Activation>,
}

impl Finish<'_> {
    pub(super) fn is_empty(self) -> bool {
        self.bias.is_empty() && self.activation.is_none()
    }

    /// Returns the part for some columns of the product.
    #[inline(always)]
    pub(super) fn of_columns(self, columns: Range<usize>) -> Self {
        let bias = match self.bias.is_empty() {
            true => self.bias,
            false => &self.bias[columns],
        };
        Self { bias, ..self }
    }

    /// Adds the bias to a row of the product, and applies the activation function.
    #[inline(always)]
    pub(super) fn apply(self, row: &mut [f32]) {
        for (value, bias) in row.iter_mut().zip(self.bias) {
            *value += bias;
        }
        self.activate(row);
    }

    /// Writes sums of integers, multiplied by the scales of their row and columns, with bias and activation function.
    #[inline(always)]
    pub(super) fn write(self, sums: &[i32], row_scale: f32, scales: &[f32], row: &mut [f32]) {
        let values = row.iter_mut().zip(sums).zip(scales);
        if self.bias.is_empty() {
            for ((value, sum), scale) in values {
                *value = *sum as f32 * (row_scale * scale);
            }
        } else {
            for (((value, sum), scale), bias) in values.zip(self.bias) {
                *value = *sum as f32 * (row_scale * scale) + bias;
            }
        }
        self.activate(row);
    }

    #[inline(always)]
    fn activate(self, row: &mut [f32]) {
        match self.activation {
            None => {}
            Some(Activation::Relu) => row.iter_mut().for_each(
                #[inline(always)]
                |x| *x = relu(*x),
            ),
            Some(Activation::Gelu) => row.iter_mut().for_each(
                #[inline(always)]
                |x| *x = gelu(*x),
            ),
            Some(Activation::Silu) => row.iter_mut().for_each(
                #[inline(always)]
                |x| *x = silu(*x),
            ),
        }
    }
}

/// Turns sums into the output of a layer.
pub(super) struct FinishRows<'a> {
    pub(super) finish: Finish<'a>,
    /// The scales of rows and columns, if the bits of `product` are sums of integers.
    pub(super) scales: Option<(&'a [f32], &'a [f32])>,
    pub(super) product: &'a mut [f32],
    pub(super) d_out: usize,
}

impl NullaryFnOnce for FinishRows<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (index, row) in self.product.chunks_exact_mut(self.d_out).enumerate() {
            if let Some((row_scales, scales)) = self.scales {
                let row_scale = row_scales[index];
                for (value, scale) in row.iter_mut().zip(scales) {
                    let sum = value.to_bits() as i32;
                    *value = sum as f32 * (row_scale * scale);
                }
            }
            self.finish.apply(row);
        }
    }
}

/// `max(0, x)`.
#[inline(always)]
pub(super) fn relu(x: f32) -> f32 {
    // Not `f32::max`, which ignores NaN.
    if x < 0.0 { 0.0 } else { x }
}

/// `σ(x) = 1 / (1 + exp(−x))`.
#[inline(always)]
pub(super) fn sigmoid(x: f32) -> f32 {
    let small = exp(-x.abs());
    let numerator = if x < 0.0 { small } else { 1.0 };
    numerator / (1.0 + small)
}

/// `x·σ(x)`.
#[inline(always)]
pub(super) fn silu(x: f32) -> f32 {
    x * sigmoid(x)
}

/// `x·Φ(x)`.
///
/// The error function is formula 7.1.26 of Abramowitz and Stegun, *Handbook of Mathematical
/// Functions*, with an error of at most 1.5·10⁻⁷.
#[inline(always)]
pub(super) fn gelu(x: f32) -> f32 {
    const COEFFICIENTS: [f32; 5] = [
        1.061_405_4,
        -1.453_152_1,
        1.421_413_8,
        -0.284_496_72,
        0.254_829_6,
    ];
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let series = COEFFICIENTS
        .iter()
        .fold(0.0, |sum, coefficient| sum * t + coefficient);
    // 1 − erf(z), which is twice the probability of a number beyond |x| on one side.
    let tails = series * t * exp(-z * z);
    let doubled = if x < 0.0 { tails } else { 2.0 - tails };
    x * (0.5 * doubled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activations_equal_their_definitions() {
        // Φ(1) and Φ(−2), and σ(1) and σ(−2), from tables.
        for (x, phi, sigma) in [
            (0.0, 0.5, 0.5),
            (1.0, 0.841_344_7, 0.731_058_6),
            (-2.0, 0.022_750_13, 0.119_202_92),
            (9.0, 1.0, 0.999_876_6),
        ] {
            assert!((gelu(x) - x * phi).abs() < 1e-6, "{x}");
            assert!((silu(x) - x * sigma).abs() < 1e-6, "{x}");
        }
        assert!(gelu(f32::NAN).is_nan() && silu(f32::NAN).is_nan());
    }
}
