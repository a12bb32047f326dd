//! Kernels for `f32` tensors in CPU memory.
//!
//! Burn's autodiff decomposes a softmax into five operations and a layer normalization into nine, and as many again in
//! the backward pass, each a pass over the tensor. Each kernel here is one step of the autodiff graph with a gradient
//! in closed form. Without gradients, a decoding step has so few elements that calling an operation costs more than
//! computing it; a linear layer is one call here.
//!
//! The functions on tensors return `None` if they do not apply: for tensors in GPU memory, of other element types, or
//! with gradient checkpointing. The caller then uses Burn's operations; their fusion on GPUs has the same effect.

mod autodiff;
mod dropout;
mod elements;
mod layer_norm;
mod linear;
mod softmax;

pub use dropout::seed_dropout;
pub(crate) use dropout::{DropoutState, dropout};
pub(crate) use elements::contiguous_for_inference;
pub use elements::{supports, update_in_place};
pub(crate) use layer_norm::layer_norm;
pub(crate) use linear::{linear, linear_transposed};
pub(crate) use softmax::softmax;
#[cfg(not(target_family = "wasm"))]
pub use transformer_kernels::with_each_instruction_set;
pub use transformer_kernels::{LogitSummary, log_softmax, summarize_logits};
pub use transformer_kernels::{bf16, gemm, instruction_set, max_and_sum, replace_by_exponentials};

#[cfg(test)]
mod instruction_set_tests;
#[cfg(test)]
mod tests;
