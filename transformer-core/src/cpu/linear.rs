//! Linear layers with closed-form gradients.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use burn::backend::tensor::FloatTensor;
use burn::backend::{DispatchTensor, TensorMetadata};
use burn::tensor::{Shape, Tensor};
use transformer_kernels::gemm::{Matrix, Multiply, Output, multiply};

use super::autodiff::{primitive, primitive_and_node, record, run};
use crate::device::{CpuBackend, CpuOp, DispatchTo};

/// Applies a linear layer, `x·W + b`, with or without autodiff; `None`: fall back to Burn. `multiply` computes its
/// product, and the two of the backward pass.
///
/// The product is accumulated onto the bias in the output's own memory. Flex copies a product once more, and libtorch's
/// MKL does not use all vector instructions of some processors.
///
/// # Shapes
///
/// - `x`: `[n, d_in]`
/// - `weight`: `[d_in, d_out]`
/// - `bias`: `[d_out]`
/// - returns: `[n, d_out]`
pub(crate) fn linear(
    x: &Tensor<2>,
    weight: &Tensor<2>,
    bias: Option<&Tensor<1>>,
    multiply: Multiply,
) -> Option<Tensor<2>> {
    run(x, || Linear {
        x: x.clone(),
        weight: weight.clone(),
        bias: bias.cloned(),
        multiply,
    })
}

/// Multiplies by the transpose of a matrix, `x·Wᵀ`, without autodiff; `None`: fall back to Burn.
///
/// # Shapes
///
/// - `x`: `[n, d_in]`
/// - `weight`: `[d_out, d_in]`
/// - returns: `[n, d_out]`
pub(crate) fn linear_transposed(x: &Tensor<2>, weight: &Tensor<2>) -> Option<Tensor<2>> {
    run(x, || LinearTransposed {
        x: x.clone(),
        weight: weight.clone(),
    })
}

struct LinearTransposed {
    x: Tensor<2>,
    weight: Tensor<2>,
}

impl CpuOp for LinearTransposed {
    type Output = Option<Tensor<2>>;

    fn run<B: CpuBackend>(self) -> Option<Tensor<2>>
    where
        DispatchTensor: DispatchTo<B>,
    {
        let [d_out, d_in] = self.weight.dims();
        let (x, weight) = (primitive::<B, 2>(self.x)?, primitive::<B, 2>(self.weight)?);
        let weight = B::values(&weight);
        let weight = Matrix::new(&weight, [d_out, d_in]).transposed();
        let output = affine::<B>(&x, weight, d_out, None, multiply);
        Some(Tensor::from_primitive::<B>(output))
    }
}

struct Linear {
    x: Tensor<2>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
    multiply: Multiply,
}

impl CpuOp for Linear {
    type Output = Option<Tensor<2>>;

    fn run<B: CpuBackend>(self) -> Option<Tensor<2>>
    where
        DispatchTensor: DispatchTo<B>,
    {
        let multiply = self.multiply;
        if !self.x.device().is_autodiff() {
            let (x, weight) = (primitive::<B, 2>(self.x)?, primitive::<B, 2>(self.weight)?);
            let bias = match self.bias {
                Some(bias) => Some(primitive::<B, 1>(bias)?),
                None => None,
            };
            let state = State::<B> {
                x,
                weight,
                multiply,
            };
            let output = state.output(bias.as_ref());
            return Some(Tensor::from_primitive::<B>(output));
        }
        let (x, x_node) = primitive_and_node::<B, 2>(self.x)?;
        let (weight, weight_node) = primitive_and_node::<B, 2>(self.weight)?;
        let state = State::<B> {
            x,
            weight,
            multiply,
        };
        Some(match self.bias {
            Some(bias) => {
                let (bias, bias_node) = primitive_and_node::<B, 1>(bias)?;
                let output = state.output(Some(&bias));
                let nodes = [x_node, weight_node, bias_node];
                record(LinearBackward, nodes, state, output)
            }
            None => {
                let output = state.output(None);
                record(LinearBackward, [x_node, weight_node], state, output)
            }
        })
    }
}

/// The backward pass: `∂x = ∂y·Wᵀ`, `∂W = xᵀ·∂y`, `∂b = Σ ∂y`.
#[derive(Debug)]
struct LinearBackward;

#[derive(Clone, Debug)]
struct State<B: CpuBackend> {
    /// `[n, d_in]`.
    x: FloatTensor<B>,
    /// `[d_in, d_out]`.
    weight: FloatTensor<B>,
    multiply: Multiply,
}

impl<B: CpuBackend> State<B> {
    fn sizes(&self) -> [usize; 3] {
        let (x, weight) = (self.x.shape(), self.weight.shape());
        assert_eq!(
            x[1], weight[0],
            "`x` needs as many columns as `weight` has rows"
        );
        [x[0], x[1], weight[1]]
    }

    fn output(&self, bias: Option<&FloatTensor<B>>) -> FloatTensor<B> {
        let [_, d_in, d_out] = self.sizes();
        let weight = B::values(&self.weight);
        let weight = Matrix::new(&weight, [d_in, d_out]);
        affine::<B>(&self.x, weight, d_out, bias, self.multiply)
    }
}

/// Returns `x·W + b`.
///
/// # Shapes
///
/// - `x`: `[n, d_in]`
/// - `weight`: `[d_in, d_out]`
/// - `bias`: `[d_out]`
/// - returns: `[n, d_out]`
fn affine<B: CpuBackend>(
    x: &FloatTensor<B>,
    weight: Matrix<'_>,
    d_out: usize,
    bias: Option<&FloatTensor<B>>,
    multiply: Multiply,
) -> FloatTensor<B> {
    let shape = x.shape();
    let x = B::values(x);
    let x = Matrix::new(&x, [shape[0], shape[1]]);
    B::create(Shape::from([shape[0], d_out]), |output| {
        let Some(bias) = bias else {
            return multiply(x, weight, output, Output::Overwrite);
        };
        let bias = B::values(bias);
        for row in output.chunks_mut(d_out) {
            row.copy_from_slice(&bias);
        }
        multiply(x, weight, output, Output::Accumulate);
    })
}

impl<B: CpuBackend, const N: usize> Backward<B, N> for LinearBackward {
    type State = State<B>;

    fn backward(self, ops: Ops<State<B>, N>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let [n, d_in, d_out] = ops.state.sizes();
        let multiply = ops.state.multiply;
        let d_output = gradients.consume::<B>(&ops.node);
        let inputs = [&ops.state.x, &ops.state.weight, &d_output].map(B::values);
        let [x, weight, d_output] = &inputs;
        let x = Matrix::new(x, [n, d_in]);
        let weight = Matrix::new(weight, [d_in, d_out]);
        let d_output = Matrix::new(d_output, [n, d_out]);
        for (input, parent) in ops.parents.into_iter().enumerate() {
            let Some(parent) = parent else { continue };
            let gradient = match input {
                0 => B::create(Shape::from([n, d_in]), |d_x| {
                    multiply(d_output, weight.transposed(), d_x, Output::Overwrite);
                }),
                1 => B::create(Shape::from([d_in, d_out]), |d_weight| {
                    multiply(x.transposed(), d_output, d_weight, Output::Overwrite);
                }),
                _ => B::create(Shape::from([d_out]), |d_bias| {
                    d_bias.fill(0.0);
                    d_output.add_rows_to(d_bias);
                }),
            };
            gradients.register::<B>(parent.id, gradient);
        }
    }
}
