//! [`RanksError`]: errors of processes that train together.

/// Error of processes that train together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RanksError {
    /// MPI has started several processes of a program built without it.
    #[error(
        "MPI has started {n_ranks} processes of this program, which is built without MPI, so each would train alone; \
         build it with `--features mpi`"
    )]
    NotBuilt {
        /// Number of processes.
        n_ranks: usize,
    },
    /// MPI was started already, in this process.
    #[error("MPI is in use already; start it once, before anything else in the program does")]
    Started,
    /// The MPI library does not allow communication from the training thread.
    #[error(
        "the MPI library supports threads only at the level {found}, and training needs `serialized`; install one that \
         is built with threads, for example Open MPI of your distribution"
    )]
    Threads {
        /// The supported level.
        found: String,
    },
}
