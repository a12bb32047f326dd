//! Operations that Burn has by parts, each at once.
//!
//! Flex and libtorch compute a softmax and a layer normalization at once where no gradient is wanted; where one is, Burn
//! 0.22 puts them on its tape by parts: five steps for a softmax and nine for a normalization, forward, and more of them
//! back, each a pass over the tensor. Their gradients are known in closed form, in one pass over rows. Where none is wanted,
//! a step of decoding has so few numbers that to call an operation costs more than to compute it. Where the numbers
//! lie in the computer's memory, in single precision, the operation is ours; elsewhere it is Burn's, whose fusion joins
//! the parts.

mod attention;
mod autodiff;
mod dropout;
pub mod gemm;
mod layer_norm;
mod linear;
mod log_softmax;
mod softmax;
mod vector;

pub(crate) use attention::attention;
pub(crate) use dropout::{DropoutMask, dropout};
pub(crate) use layer_norm::layer_norm;
pub(crate) use linear::{linear, linear_by_rows};
pub use log_softmax::{Normalizer, log_softmax, normalizers};
pub(crate) use softmax::softmax;
pub use vector::{max_and_sum, replace_by_exponentials};

#[cfg(test)]
mod tests;
