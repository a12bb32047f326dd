//! Threads that the operating system may refuse to start, because of a limit of processes or of address space.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{env, fs, io, thread};

use rayon::ThreadPoolBuilder;

/// The stack of a thread that only tests whether it can be started, in bytes.
const STACK_BYTES: usize = 1 << 16;

/// The interval at which the end of threads is polled, and how often.
const WAIT: Duration = Duration::from_millis(1);
const MOST_WAITS: usize = 1000;

/// The system starts fewer threads than the program needs.
#[derive(Debug, thiserror::Error)]
#[error(
    "the system starts only {n_started} of the {n_needed} threads that are needed; use --threads 1, or raise the limit \
     of processes (`ulimit -u`, or that of the container) or of memory"
)]
pub struct ThreadsError {
    n_started: usize,
    n_needed: usize,
    source: io::Error,
}

/// Starts rayon's global pool: one thread per core, or as many as the system starts besides `n_more` other threads.
///
/// The number of threads does not change any result. Without this, rayon starts the pool on first use, and panics if it
/// cannot.
///
/// # Errors
///
/// Returns a [`ThreadsError`] if the system cannot start `n_more` threads and one for the pool.
pub fn start_global_pool(n_more: usize) -> Result<(), ThreadsError> {
    let n_cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    // Rayon's own variable.
    let requested = env::var("RAYON_NUM_THREADS").ok();
    let requested = requested.and_then(|number| number.parse().ok());
    let n_pool: usize = requested
        .filter(|number| *number > 0)
        .unwrap_or(n_cores)
        .min(rayon::max_num_threads());
    let (n_started, refusal) = count_startable(n_pool.saturating_add(n_more));
    let n_pool = match &refusal {
        None => n_pool,
        Some(_) => n_started.saturating_sub(n_more),
    };
    let failed = |source| ThreadsError {
        n_started,
        n_needed: n_more + 1,
        source,
    };
    if n_pool == 0 {
        return Err(failed(
            refusal.unwrap_or_else(|| io::ErrorKind::WouldBlock.into()),
        ));
    }
    let pool = ThreadPoolBuilder::new().num_threads(n_pool);
    pool.build_global()
        .map_err(|error| failed(io::Error::other(error)))
}

/// Waits until no more threads run than these: the system counts a thread for a moment after it has ended.
fn wait_for(n_threads: usize) {
    for _ in 0..MOST_WAITS {
        if n_running() <= n_threads {
            return;
        }
        thread::sleep(WAIT);
    }
}

/// Returns the number of threads of this process, on Linux; 0 elsewhere.
fn n_running() -> usize {
    fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

/// Returns how many of `n` threads the system starts at the same time, and the error that stopped it. They have ended.
fn count_startable(n: usize) -> (usize, Option<io::Error>) {
    let gate = Mutex::new(());
    let wait = || drop(gate.lock());
    let mut n_others = 0;
    let counted = thread::scope(|scope| {
        let _closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
        for n_started in 0..n {
            let thread = thread::Builder::new().stack_size(STACK_BYTES);
            if let Err(refusal) = thread.spawn_scoped(scope, wait) {
                n_others = n_running().saturating_sub(n_started);
                return (n_started, Some(refusal));
            }
        }
        (n, None)
    });
    if counted.1.is_some() {
        wait_for(n_others);
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_the_system_starts_are_counted() {
        let (n_started, refusal) = count_startable(5);
        assert_eq!(n_started, 5);
        assert!(refusal.is_none());
    }

    #[test]
    fn the_error_has_both_numbers_and_the_remedies() {
        let error = ThreadsError {
            n_started: 2,
            n_needed: 9,
            source: io::ErrorKind::WouldBlock.into(),
        };
        let message = error.to_string();
        assert!(message.starts_with("the system starts only 2 of the 9 threads"));
        assert!(message.contains("--threads 1") && message.contains("ulimit -u"));
    }
}
