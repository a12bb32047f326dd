//! Kernels for `f32` tensors in CPU memory.
//!
//! Burn's autodiff decomposes a softmax into five operations and a layer normalization into nine, and as many again in
//! the backward pass, each a pass over the tensor. Each kernel here is one step of the autodiff graph with a gradient
//! in closed form. Without gradients, a decoding step has so few elements that calling an operation costs more than
//! computing it; a linear layer is one call here.
//!
//! The functions on tensors return `None` if they do not apply: for tensors in GPU memory, of other element types, or
//! with gradient checkpointing. The caller then uses Burn's operations; their fusion on GPUs has the same effect.

#[cfg_attr(
    not(all(target_arch = "x86_64", target_os = "linux")),
    path = "no_amx.rs"
)]
pub(crate) mod amx;
mod autodiff;
pub mod bf16;
mod dropout;
mod elements;
pub mod gemm;
mod instruction_set;
mod layer_norm;
mod linear;
mod log_softmax;
mod softmax;
pub(crate) mod tile;
mod vector;

pub use dropout::seed_dropout;
pub(crate) use dropout::{DropoutState, dropout};
pub(crate) use elements::contiguous_for_inference;
pub use elements::{supports, update_in_place};
pub(crate) use instruction_set::instruction_set;
pub(crate) use layer_norm::layer_norm;
pub(crate) use linear::{linear, linear_transposed};
pub use log_softmax::{LogitSummary, log_softmax, summarize_logits};
pub(crate) use softmax::softmax;
pub(crate) use vector::{exp, sum};
pub use vector::{max_and_sum, replace_by_exponentials};

#[cfg(test)]
pub(crate) use instruction_set::with_each_instruction_set;

#[cfg(test)]
mod instruction_set_tests;
#[cfg(test)]
mod tests;
