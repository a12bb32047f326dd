//! One training step: the model, its loss, and the threads, devices and processes that share it.

mod devices;
mod loss;
mod objective;
#[doc(hidden)]
pub mod ranks;
mod report;
mod sum;
mod threads;
mod weight_check;

pub(crate) use devices::{have_collectives, strategy};
pub(crate) use loss::chunk_len;
pub use loss::{LabelSmoothing, projected_loss, projected_loss_with_gradient};
#[doc(hidden)]
pub use loss::{LossSums, Projection};
pub(crate) use objective::Objective;
pub(crate) use report::{GradientNorm, Report};
#[doc(hidden)]
pub use threads::Threads;
pub(crate) use weight_check::WeightCheck;
