//! `cargo xtask gpu`: everything that needs a GPU, here or from an archive on another machine.

mod output;
mod pack;
mod parity;
mod run;

pub(crate) use run::{Flags, run};
