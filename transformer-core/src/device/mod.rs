//! Backends, devices, and the memory of a device's tensors.
//!
//! This is the only folder that names a backend. A tensor of Burn carries its
//! [`Device`](burn::tensor::Device), so one compiled program can have several backends.

mod backend;
mod choose;
mod cpu_memory;
mod error;
#[cfg(feature = "flex")]
mod flex;
#[cfg(feature = "tch")]
mod libtorch;
#[cfg(not(feature = "tch"))]
#[path = "no_libtorch.rs"]
mod libtorch;
mod long_axis;
#[cfg(feature = "ndarray")]
mod ndarray;

pub use backend::Backend;
pub use choose::{choose, describe, has_collectives, several};
pub(crate) use cpu_memory::{CpuBackend, CpuOp, DispatchTo, run_on_cpu};
#[doc(hidden)]
pub use cpu_memory::{is_cpu_memory, is_rust_cpu};
#[doc(hidden)]
pub use error::DeviceError;
#[doc(hidden)]
pub use libtorch::limit_libtorch_to_one_thread;
pub(crate) use libtorch::{is_libtorch_cpu, update_libtorch};
pub(crate) use long_axis::near_factors;
#[doc(hidden)]
pub use long_axis::{reduce_rows, sum_of_rows};
