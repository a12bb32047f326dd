//! [`Processes`] that an MPI launcher has started, and the [`Ranks`] of this one among those that train together.

use super::link::{self, Link};
use crate::error::TrainError;

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
    /// Returns a [`TrainError`] if MPI cannot be used, or if there are other processes and the program is built without
    /// the feature `mpi`.
    pub fn join() -> Result<Self, TrainError> {
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

/// The rank of this process among those that train together. The default is a process that trains alone.
///
/// As in MPI, the process of rank 0 reports, validates and saves. Every other computes its share of each update and of
/// each validation, and keeps its own weights and moments, which stay equal to those of rank 0.
///
/// All methods that communicate are collective: every process must call them in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    rank: usize,
    n_ranks: usize,
}

impl Default for Ranks {
    fn default() -> Self {
        Self {
            rank: 0,
            n_ranks: 1,
        }
    }
}

impl Ranks {
    pub(super) const fn new(rank: usize, n_ranks: usize) -> Self {
        Self { rank, n_ranks }
    }

    /// Returns the number of this process, from 0.
    pub const fn rank(self) -> usize {
        self.rank
    }

    /// Returns the number of processes.
    pub const fn n_ranks(self) -> usize {
        self.n_ranks
    }

    /// Returns whether this process is the one that reports, validates and saves.
    pub const fn is_first(self) -> bool {
        self.rank == 0
    }

    /// Returns whether there is no other process.
    pub const fn is_alone(self) -> bool {
        self.n_ranks == 1
    }

    /// Waits until every process is here.
    pub fn wait_for_all(self) {
        if !self.is_alone() {
            link::wait_for_all();
        }
    }

    /// Ends all processes on all machines with an exit code. Called when one of them cannot continue: the others would
    /// wait for it forever.
    pub fn end_all(self, exit_code: u8) -> ! {
        link::end_all(exit_code)
    }

    /// Returns the sums of values over all processes; all of them get the same bits.
    pub(crate) fn summed(self, values: Vec<f32>) -> Vec<f32> {
        match self.is_alone() {
            true => values,
            false => link::summed(&values),
        }
    }

    pub(crate) fn sum_doubles<const N: usize>(self, mut values: [f64; N]) -> [f64; N] {
        if !self.is_alone() {
            link::sum_f64(&mut values);
        }
        values
    }

    pub(crate) fn any(self, is_so: bool) -> bool {
        let mut values = [u64::from(is_so)];
        if !self.is_alone() {
            link::largest(&mut values);
        }
        values[0] == 1
    }

    pub(crate) fn agree_on(self, value: u64) -> bool {
        // The smallest value is the complement of the largest complement.
        let mut values = [value, !value];
        if !self.is_alone() {
            link::largest(&mut values);
        }
        values[0] == !values[1]
    }

    /// Returns the text of the first process, on every process; `text` is called on the first one only.
    pub(crate) fn broadcast(self, text: impl FnOnce() -> String) -> String {
        let own = match self.is_first() {
            true => text(),
            false => String::new(),
        };
        match self.is_alone() {
            true => own,
            false => String::from_utf8_lossy(&link::broadcast(own.into_bytes())).into_owned(),
        }
    }

    pub(crate) fn send_to_first(self, text: &str) {
        link::send_to_first(text.as_bytes());
    }

    pub(crate) fn receive(self, rank: usize) -> String {
        String::from_utf8_lossy(&link::receive_from(rank)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_alone_agrees_with_itself_and_keeps_its_values() {
        let alone = Ranks::default();
        assert_eq!(alone.summed(vec![1.0, 2.0]), [1.0, 2.0]);
        assert_eq!(alone.sum_doubles([3.0]), [3.0]);
        assert!(alone.agree_on(u64::MAX) && alone.agree_on(0));
        assert!(alone.any(true) && !alone.any(false));
        assert_eq!(alone.broadcast(|| "text".to_owned()), "text");
    }
}
