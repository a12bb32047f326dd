//! Threads that share an update: each computes a shard of it, on a pool of its own.

use std::fmt;
use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder};
use transformer_core::device::stay_on_this_thread;

/// Runs as many tasks at once as it has threads.
///
/// Every thread is a rayon pool of one. The backends split their larger operations over the rayon pool
/// that they find themselves in; there they find one thread, and do not wait for each other. Libtorch, which has threads of
/// its own, is told to use none.
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
    /// Makes the threads; `None` where there would be only one, or the system gives no more.
    pub fn new(n_threads: usize) -> Option<Self> {
        if n_threads <= 1 {
            return None;
        }
        let pool = |_| ThreadPoolBuilder::new().num_threads(1).build();
        let pools: Result<Vec<_>, _> = (0..n_threads).map(pool).collect();
        let pools = pools.ok()?;
        for pool in &pools {
            pool.install(stay_on_this_thread);
        }
        Some(Self(pools.into()))
    }

    /// Returns how many threads there are.
    pub fn n_threads(&self) -> usize {
        self.0.len()
    }

    /// Runs `task` on every input, each on its own thread, and returns the results in order.
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
    fn results_come_in_the_order_of_their_inputs() {
        let threads = Threads::new(2).expect("the system gives two threads");
        assert_eq!(threads.run(vec![1, 2, 3], |n| n * n), [1, 4, 9]);
    }

    #[test]
    fn one_thread_needs_no_pool() {
        assert!(Threads::new(1).is_none());
    }
}
