//! One training step: the model, its loss, and the threads, devices and processes that share it.

mod loss;
mod objective;
#[doc(hidden)]
pub mod ranks;
mod report;
mod sum;
mod threads;

pub(crate) use loss::chunk_len;
pub use loss::{LabelSmoothing, projected_loss, projected_loss_with_gradient};
#[doc(hidden)]
pub use loss::{LossSums, Projection};
pub(crate) use objective::Objective;
pub(crate) use report::{GradientNorm, Report};
pub(crate) use sum::WeightCheck;
#[doc(hidden)]
pub use threads::Threads;
pub(crate) use threads::{have_collectives, strategy};
