//! The processes that train together, one on each machine or GPU, and their communication by MPI (feature `mpi`).

#[cfg(feature = "mpi")]
mod mpi;
#[cfg(not(feature = "mpi"))]
mod no_mpi;
mod rank;

#[cfg(feature = "mpi")]
use mpi as link;
#[cfg(not(feature = "mpi"))]
use no_mpi as link;

pub use rank::{Processes, Ranks};
