//! `cargo xtask bench-backends`: one benchmark built for each backend, and all of them side by side.
//!
//! `examples/bench_backend` measures. What it prints goes through [`Figures`]; a backend that cannot be built or
//! run here is a column that says why, and one that computes something else is an error, after all is written.

mod build;
mod chart;
mod compare;
mod figures;
mod files;
mod measure;
mod peers;
mod table;
mod verdict;

pub(crate) use build::environment;
pub(crate) use compare::{Backend, Flags, Preset, check_peers, compare, minutes, name, run};
pub(crate) use measure::{Trouble, wait};
