//! Linear layers on packed weights.

use super::finish::Finish;
use super::products::{Kernels, PackedMatrix};
use crate::config::Activation;

/// One linear layer, or several with the same input as one.
#[derive(Debug)]
pub(super) struct PackedLinear {
    matrix: PackedMatrix,
    /// `[d_out]`; empty without a bias.
    bias: Vec<f32>,
    d_in: usize,
    d_out: usize,
}

impl PackedLinear {
    /// # Panics
    ///
    /// Panics if the bias is neither empty nor as long as a row of the output.
    pub(super) fn new(matrix: PackedMatrix, bias: Vec<f32>, [d_in, d_out]: [usize; 2]) -> Self {
        assert!(
            bias.is_empty() || bias.len() == d_out,
            "one bias for each output feature"
        );
        Self {
            matrix,
            bias,
            d_in,
            d_out,
        }
    }

    /// Writes `x·W + b`.
    ///
    /// # Shapes
    ///
    /// - `x`: `[rows, d_in]`
    /// - `output`: resized to `[rows, d_out]`
    pub(super) fn forward(&self, kernels: &mut Kernels, x: &[f32], output: &mut Vec<f32>) {
        self.forward_activated(kernels, x, None, output);
    }

    /// Writes `activation(x·W + b)`, with the shapes of [`forward`](Self::forward).
    pub(super) fn forward_activated(
        &self,
        kernels: &mut Kernels,
        x: &[f32],
        activation: Option<Activation>,
        output: &mut Vec<f32>,
    ) {
        output.resize(x.len() / self.d_in * self.d_out, 0.0);
        self.write(kernels, x, activation, output);
    }

    /// Writes `activation(x·W + b)` into a slice.
    ///
    /// # Shapes
    ///
    /// - `x`: `[rows, d_in]`
    /// - `output`: `[rows, d_out]`
    pub(super) fn write(
        &self,
        kernels: &mut Kernels,
        x: &[f32],
        activation: Option<Activation>,
        output: &mut [f32],
    ) {
        let sizes = [self.d_in, self.d_out];
        let finish = Finish {
            bias: &self.bias,
            activation,
        };
        kernels.multiply(x, sizes, &self.matrix, finish, output);
    }
}
