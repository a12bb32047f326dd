//! Linear layers.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use burn::backend::tensor::FloatTensor;
use burn::backend::{DispatchTensor, TensorMetadata};
use burn::tensor::{Shape, Tensor};

use super::autodiff::{at_once, parts, plain, record};
use super::gemm::{Matrix, Sum, multiply};
use crate::device::{Host, OnHost, Reach};

/// Applies a linear layer to rows, `x·W + b`; `None` where Burn's own is to be taken.
///
/// Flex copies a product once more when it is there, and libtorch's library does not use all that some processors can
/// do; what is multiplied here is written where it stays, behind the bias.
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
) -> Option<Tensor<2>> {
    at_once(x, || Linear {
        x: x.clone(),
        weight: weight.clone(),
        bias: bias.cloned(),
    })
}

/// Multiplies rows with those of a matrix, `x·Wᵀ`, where no gradient is wanted; `None` where Burn's own is to be taken.
///
/// # Shapes
///
/// - `x`: `[n, d_in]`
/// - `weight`: `[d_out, d_in]`
/// - returns: `[n, d_out]`
pub(crate) fn linear_by_rows(x: &Tensor<2>, weight: &Tensor<2>) -> Option<Tensor<2>> {
    at_once(x, || ByRows {
        x: x.clone(),
        weight: weight.clone(),
    })
}

struct ByRows {
    x: Tensor<2>,
    weight: Tensor<2>,
}

impl OnHost for ByRows {
    type Output = Option<Tensor<2>>;

    fn call<B: Host>(self) -> Option<Tensor<2>>
    where
        DispatchTensor: Reach<B>,
    {
        let [d_out, d_in] = self.weight.dims();
        let (x, weight) = (plain::<B, 2>(self.x)?, plain::<B, 2>(self.weight)?);
        let weight = B::numbers(&weight);
        let weight = Matrix::new(&weight, [d_out, d_in]).transposed();
        let output = product::<B>(&x, weight, d_out, None);
        Some(Tensor::from_primitive::<B>(output))
    }
}

struct Linear {
    x: Tensor<2>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
}

impl OnHost for Linear {
    type Output = Option<Tensor<2>>;

    fn call<B: Host>(self) -> Option<Tensor<2>>
    where
        DispatchTensor: Reach<B>,
    {
        if !self.x.device().is_autodiff() {
            let (x, weight) = (plain::<B, 2>(self.x)?, plain::<B, 2>(self.weight)?);
            let bias = match self.bias {
                Some(bias) => Some(plain::<B, 1>(bias)?),
                None => None,
            };
            let output = State::<B> { x, weight }.output(bias.as_ref());
            return Some(Tensor::from_primitive::<B>(output));
        }
        let (x, of_x) = parts::<B, 2>(self.x)?;
        let (weight, of_weight) = parts::<B, 2>(self.weight)?;
        let state = State::<B> { x, weight };
        Some(match self.bias {
            Some(bias) => {
                let (bias, of_bias) = parts::<B, 1>(bias)?;
                let output = state.output(Some(&bias));
                record(Back, [of_x, of_weight, of_bias], state, output)
            }
            None => {
                let output = state.output(None);
                record(Back, [of_x, of_weight], state, output)
            }
        })
    }
}

/// The way back: `∂x = ∂y·Wᵀ`, `∂W = xᵀ·∂y`, `∂b = Σ ∂y`.
#[derive(Debug)]
struct Back;

/// Holds what it needs.
#[derive(Clone, Debug)]
struct State<B: Host> {
    /// `[n, d_in]`.
    x: FloatTensor<B>,
    /// `[d_in, d_out]`.
    weight: FloatTensor<B>,
}

impl<B: Host> State<B> {
    fn sizes(&self) -> [usize; 3] {
        let (x, weight) = (self.x.shape(), self.weight.shape());
        assert_eq!(x[1], weight[0], "a layer takes rows of its width");
        [x[0], x[1], weight[1]]
    }

    fn output(&self, bias: Option<&FloatTensor<B>>) -> FloatTensor<B> {
        let [_, d_in, d_out] = self.sizes();
        let weight = B::numbers(&self.weight);
        product::<B>(&self.x, Matrix::new(&weight, [d_in, d_out]), d_out, bias)
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
fn product<B: Host>(
    x: &FloatTensor<B>,
    weight: Matrix<'_>,
    d_out: usize,
    bias: Option<&FloatTensor<B>>,
) -> FloatTensor<B> {
    let shape = x.shape();
    let x = B::numbers(x);
    let x = Matrix::new(&x, [shape[0], shape[1]]);
    B::make(Shape::from([shape[0], d_out]), |output| {
        let Some(bias) = bias else {
            return multiply(x, weight, output, Sum::Begins);
        };
        let bias = B::numbers(bias);
        for row in output.chunks_mut(d_out) {
            row.copy_from_slice(&bias);
        }
        multiply(x, weight, output, Sum::GoesOn);
    })
}

impl<B: Host, const N: usize> Backward<B, N> for Back {
    type State = State<B>;

    fn backward(self, ops: Ops<State<B>, N>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let [n, d_in, d_out] = ops.state.sizes();
        let of_output = gradients.consume::<B>(&ops.node);
        let numbers = [&ops.state.x, &ops.state.weight, &of_output].map(B::numbers);
        let [x, weight, of_output] = &numbers;
        let x = Matrix::new(x, [n, d_in]);
        let weight = Matrix::new(weight, [d_in, d_out]);
        let of_output = Matrix::new(of_output, [n, d_out]);
        for (place, parent) in ops.parents.into_iter().enumerate() {
            let Some(parent) = parent else { continue };
            let gradient = match place {
                0 => B::make(Shape::from([n, d_in]), |of_x| {
                    multiply(of_output, weight.transposed(), of_x, Sum::Begins);
                }),
                1 => B::make(Shape::from([d_in, d_out]), |of_weight| {
                    multiply(x.transposed(), of_output, of_weight, Sum::Begins);
                }),
                _ => B::make(Shape::from([d_out]), |of_bias| {
                    of_bias.fill(0.0);
                    of_output.add_rows_to(of_bias);
                }),
            };
            gradients.register::<B>(parent.id, gradient);
        }
    }
}
