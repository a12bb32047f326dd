//! Threads that share an update: each computes one shard, in a thread pool of its own.

use std::fmt;
use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder};
use transformer_core::device::limit_libtorch_to_one_thread;

/// A set of threads for data parallelism on the CPU.
///
/// Each thread is a rayon pool of size one. The backends parallelize large operations over the
/// current rayon pool, so here every operation stays on its own thread, and shards do not wait for
/// each other. Libtorch has a thread pool of its own, which is limited to the calling thread as
/// well.
///
/// # Example
///
/// ```
/// use transformer_train::step::Threads;
///
/// if let Some(threads) = Threads::new(2) {
///     assert_eq!(threads.run(vec![1, 2, 3], |n| n * n), [1, 4, 9]);
/// }
/// ```
#[derive(Clone)]
pub struct Threads(Arc<[ThreadPool]>);

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Threads({})", self.0.len())
    }
}

impl Threads {
    /// Starts the threads. Returns `None` if `n_threads` is 0 or 1, or the system cannot start
    /// them.
    pub fn new(n_threads: usize) -> Option<Self> {
        if n_threads <= 1 {
            return None;
        }
        let pool = |_| ThreadPoolBuilder::new().num_threads(1).build();
        let pools: Result<Vec<_>, _> = (0..n_threads).map(pool).collect();
        let pools = pools.ok()?;
        for pool in &pools {
            pool.install(limit_libtorch_to_one_thread);
        }
        Some(Self(pools.into()))
    }

    /// Returns the number of threads.
    pub fn n_threads(&self) -> usize {
        self.0.len()
    }

    /// Runs `task` on every input, assigned to the threads in turn, and returns the results in the
    /// order of the inputs.
    ///
    /// # Panics
    ///
    /// Panics if a task does.
    pub fn run<I: Send, O: Send>(&self, inputs: Vec<I>, task: impl Fn(I) -> O + Sync) -> Vec<O> {
        let task = &task;
        std::thread::scope(|scope| {
            let running: Vec<_> = inputs
                .into_iter()
                .zip(self.0.iter().cycle())
                .map(|(input, pool)| scope.spawn(move || pool.install(|| task(input))))
                .collect();
            let joined = running.into_iter().map(std::thread::ScopedJoinHandle::join);
            joined
                .map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_the_inputs() {
        let threads = Threads::new(2).expect("the system gives two threads");
        assert_eq!(threads.run(vec![1, 2, 3], |n| n * n), [1, 4, 9]);
    }

    #[test]
    fn a_single_thread_has_no_pool() {
        assert!(Threads::new(1).is_none());
    }
}
