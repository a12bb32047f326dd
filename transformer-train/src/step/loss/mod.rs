//! The training loss: label smoothing (§5.4) fused with the projection onto the vocabulary (§3.4).
//!
//! - `label_smoothing.rs`: the formulas of loss and gradient.
//! - `projected.rs`: the two entry points.
//! - `slices.rs`, `cpu.rs`: the formulas computed by tensor operations, and in CPU memory.

mod cpu;
mod inputs;
mod label_smoothing;
mod projected;
mod slices;

pub(crate) use inputs::slice_len;
pub use inputs::{LossSums, Projection};
pub use label_smoothing::LabelSmoothing;
pub use projected::{projected_loss, projected_loss_with_gradient};

#[cfg(test)]
mod tests;
