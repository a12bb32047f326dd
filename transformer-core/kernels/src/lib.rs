//! Arithmetic on slices with the vector instructions of the processor: matrix products, attention, normalization, and
//! what follows them. Nothing here knows tensors, or a model; [`transformer-core`](https://docs.rs/transformer-core)
//! has both, and is where programs use it.
//!
//! This is a separate package because Cargo sets the optimization level per package: kernels are optimized for speed even in
//! a program that is optimized for size. Kernels are marked `#[inline(never)]`, because code that is inlined gets the level
//! of the caller's package. `sum` and `max_and_sum` are inlined, for kernels in other packages.

#![doc(hidden)]

#[cfg_attr(
    not(all(target_arch = "x86_64", target_os = "linux")),
    path = "no_amx.rs"
)]
mod amx;
pub mod attention;
pub mod bf16;
mod finish;
mod fused;
pub mod gemm;
mod instruction_set;
mod integers;
mod log_softmax;
mod norm;
mod panel_kernel;
mod panel_product;
mod prefetch;
mod products;
mod quantize;
mod recurrence;
#[cfg_attr(target_family = "wasm", path = "no_rten.rs")]
mod rten;
mod tile;
mod tiled;
mod vector;
#[cfg_attr(not(target_arch = "x86_64"), path = "no_vnni.rs")]
mod vnni;

pub use finish::{Activation, Finish};
pub use instruction_set::instruction_set;
#[cfg(not(target_family = "wasm"))]
pub use instruction_set::with_each_instruction_set;
pub use log_softmax::{LogitSummary, log_softmax, summarize_logits};
pub use norm::{Norm, add_and_normalize};
pub use products::{Kernels, PackedMatrix};
pub use quantize::quantize_rows;
pub use recurrence::recur;
pub use vector::{BLOCK, block_len, max_and_sum, replace_by_exponentials, sum};
