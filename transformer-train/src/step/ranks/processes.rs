//! [`Processes`]: the processes that an MPI launcher has started.

use super::link::Link;
use super::{Ranks, RanksError};

/// The processes that an MPI launcher has started, for example `mpirun -n 4`. Dropping this ends MPI.
pub struct Processes(Option<Link>);

impl std::fmt::Debug for Processes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Processes").field(&self.ranks()).finish()
    }
}

impl Processes {
    /// Joins the other processes, if an MPI launcher has started this one.
    ///
    /// # Errors
    ///
    /// Returns a [`RanksError`] if MPI cannot be used, or if there are other processes and the program is built without
    /// the feature `mpi`.
    pub fn join() -> Result<Self, RanksError> {
        Ok(Self(Link::join()?))
    }

    /// Returns the rank of this process.
    pub fn ranks(&self) -> Ranks {
        match &self.0 {
            Some(link) => {
                let (rank, n_ranks) = link.rank_and_size();
                Ranks::new(rank, n_ranks)
            }
            None => Ranks::default(),
        }
    }
}
