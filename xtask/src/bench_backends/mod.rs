//! `cargo xtask bench-backends`: builds one benchmark for each backend and compares them.
//!
//! `examples/bench_backend` measures and prints figures. A backend that cannot be built or run here becomes a
//! note with the reason. Wrong results are an error, after all files are written.

mod build;
mod chart;
mod compare;
mod figures;
mod files;
mod measure;
mod peers;
mod redraw;
mod table;
mod verdict;

pub(crate) use build::environment;
pub(crate) use compare::{Backend, Flags, Preset, check_peers, compare, minutes, name, run};
pub(crate) use measure::{Trouble, wait};
