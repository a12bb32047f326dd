//! Backends and the choice between them: the only folder that names one.
//!
//! A tensor of Burn carries its [`Device`](burn::tensor::Device), so one compiled program can hold several backends.

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
#[cfg(feature = "ndarray")]
mod ndarray;
mod probe;
mod threads;

pub use backend::Backend;
pub use choose::{choose, describe, has_collectives, several};
pub(crate) use cpu_memory::{Host, OnHost, Reach, on_host};
pub use cpu_memory::{is_host, is_in_memory};
pub use error::DeviceError;
pub use libtorch::{change_in_place, is_changeable, stay_on_this_thread};
pub use threads::on_threads;
