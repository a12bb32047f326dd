//! [`Processes`]: the processes that a launcher of MPI has started.

use super::link::Link;
use super::{Ranks, RanksError};

/// The processes that the launcher of MPI has started, for example `mpirun -n 4`. MPI ends when this is dropped.
pub struct Processes(Option<Link>);

impl std::fmt::Debug for Processes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Processes").field(&self.ranks()).finish()
    }
}

impl Processes {
    /// Joins the other processes, if a launcher of MPI has started this one.
    ///
    /// # Errors
    ///
    /// Returns a [`RanksError`] if MPI cannot be used, or if there are others and the program is built without the
    /// feature `mpi`.
    pub fn join() -> Result<Self, RanksError> {
        Ok(Self(Link::join()?))
    }

    /// Returns which of them this process is.
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
