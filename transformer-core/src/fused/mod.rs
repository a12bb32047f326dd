//! Operations that Burn has by parts, each at once.
//!
//! Flex and libtorch compute a softmax and a layer normalization at once where no gradient is wanted; where one is, Burn
//! 0.22 puts them on its tape by parts: five steps for a softmax and nine for a normalization, forward, and more of them
//! back, each a pass over the tensor. Their gradients are known in closed form, in one pass over rows. Where none is wanted,
//! a step of decoding has so few numbers that to call an operation costs more than to compute it. Where the numbers
//! lie in the computer's memory, in single precision, the operation is ours; elsewhere it is Burn's, whose fusion joins
//! the parts.

mod attention;
mod dropout;
mod linear;
mod norm;
mod rows;
mod softmax;
mod step;

pub(crate) use attention::attention;
pub(crate) use dropout::{DropoutMask, dropout, mix};
pub(crate) use linear::{linear, linear_by_rows};
pub(crate) use norm::layer_norm;
pub(crate) use softmax::softmax;

#[cfg(test)]
mod tests;
