//! The steps after a product: scales, bias and activation function.

use std::ops::Range;

use pulp::NullaryFnOnce;

use super::activation::{gelu, relu, silu};
use crate::config::Activation;

/// The bias and the activation function after a product.
#[derive(Clone, Copy)]
pub(super) struct Finish<'a> {
    /// `[d_out]`; empty without a bias.
    pub(super) bias: &'a [f32],
    pub(super) activation: Option<Activation>,
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
