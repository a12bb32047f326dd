//! `cargo xtask bench-backends`: builds one benchmark for each backend and compares them.
//!
//! `examples/bench_backend` measures and prints figures. A backend that cannot be built or run here becomes a
//! note with the reason. Wrong results are an error, after all files are written.

mod chart;
mod compare;
mod contender;
#[path = "../../../examples/bench_backend/figures.rs"]
mod figures;
mod flags;
mod peers;
mod results;
mod table;

pub(crate) use compare::{compare, run};
pub(crate) use contender::environment;
pub(crate) use flags::{Flags, Plan, Preset, name};
pub(crate) use peers::Peers;
pub(crate) use results::{faults, troubles};
