//! Activation functions in steps that the compiler vectorizes.

use crate::cpu::exp;

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
