//! One training step: the model, its loss, and the threads, devices and processes that share it.

mod devices;
mod loss;
mod objective;
#[doc(hidden)]
pub mod ranks;
mod sum;
mod threads;
mod train_report;
mod weight_check;

pub(crate) use devices::{have_collectives, strategy};
pub(crate) use loss::chunk_len;
pub use loss::{LabelSmoothing, projected_loss, projected_loss_with_gradient};
#[doc(hidden)]
pub use loss::{LossSums, Projection};
pub(crate) use objective::Objective;
#[doc(hidden)]
pub use threads::Threads;
pub(crate) use train_report::{GradientNorm, HostScalars, Scalars, TrainReport};
pub(crate) use weight_check::WeightCheck;
