//! The training loss: label smoothing (§5.4) fused with the projection onto the vocabulary (§3.4).
//!
//! - `label_smoothing.rs`: the formulas of loss and gradient.
//! - `projected.rs`: the two entry points.
//! - `tensors.rs`: the formulas computed with tensor operations, on any device.
//! - `cpu.rs`: the same in one buffer of CPU memory.

mod cpu;
mod inputs;
mod label_smoothing;
mod projected;
mod tensors;

pub(crate) use inputs::chunk_len;
pub use inputs::{LossSums, Projection};
pub use label_smoothing::LabelSmoothing;
pub use projected::{projected_loss, projected_loss_with_gradient};

#[cfg(test)]
mod tests;
