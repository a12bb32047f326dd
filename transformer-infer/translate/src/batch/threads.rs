//! Batches in parallel, each on its own thread.

use std::iter;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// True in WebAssembly, where only rayon's global pool has threads.
const HAS_ONE_POOL: bool = cfg!(target_family = "wasm");

pub(crate) fn default_threads() -> usize {
    match HAS_ONE_POOL {
        true => rayon::current_num_threads(),
        false => thread::available_parallelism().map_or(1, NonZeroUsize::get),
    }
}

/// Computes every task on one of `n_threads` threads, and passes each result to `on_result` on the calling thread, in
/// the order in which tasks end. The first tasks start first. Panics if a task does.
///
/// Each task runs in a rayon pool of one thread. Otherwise operations that ask rayon for threads would share them with
/// other tasks, and a thread that waits for its part of one task would begin another one. If there are fewer tasks than
/// threads, the operations of each task share the threads that are left over. The calling thread waits outside of
/// rayon, so that it does not begin anything else either, even if it belongs to a pool. Any number of callers may do
/// this at once; the operating system shares the cores among them. In WebAssembly, tasks share the threads of rayon's global
/// pool instead.
pub(super) fn run<R: Send>(
    n_tasks: usize,
    n_threads: usize,
    task: impl Fn(usize) -> R + Sync,
    mut on_result: impl FnMut(usize, R),
) {
    let n_workers = n_threads.min(n_tasks).max(1);
    if HAS_ONE_POOL {
        return run_in_this_pool(n_tasks, n_workers, task, on_result);
    }
    let threads_per_worker = (n_threads / n_workers).max(1);
    let next = AtomicUsize::new(0);
    let (sender, results) = mpsc::channel();
    thread::scope(|scope| {
        let start = |_| {
            let (task, next, sender) = (&task, &next, sender.clone());
            let work = move || {
                in_pool(threads_per_worker, || {
                    for index in indices(next, n_tasks) {
                        if sender.send((index, task(index))).is_err() {
                            return;
                        }
                    }
                });
            };
            thread::Builder::new().spawn_scoped(scope, work).ok()
        };
        // If the system starts fewer threads, those do all tasks.
        let workers: Vec<_> = (0..n_workers).map_while(start).collect();
        drop(sender);
        if workers.is_empty() {
            (0..n_tasks).for_each(|index| on_result(index, task(index)));
            return;
        }
        for (index, result) in results {
            on_result(index, result);
        }
        for worker in workers {
            if let Err(panic) = worker.join() {
                resume_unwind(panic);
            }
        }
    });
}

/// Returns the indices of the tasks that this thread takes, as long as there are any.
fn indices(next: &AtomicUsize, n_tasks: usize) -> impl Iterator<Item = usize> {
    let take = || next.fetch_add(1, Ordering::Relaxed);
    iter::repeat_with(take).take_while(move |index| *index < n_tasks)
}

/// Computes every task on one of `n_workers` threads of this thread's pool, which share the operations of tasks. With several
/// workers, passes the results on when all tasks have ended.
fn run_in_this_pool<R: Send>(
    n_tasks: usize,
    n_workers: usize,
    task: impl Fn(usize) -> R + Sync,
    mut on_result: impl FnMut(usize, R),
) {
    if n_workers == 1 {
        return (0..n_tasks).for_each(|index| on_result(index, task(index)));
    }
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let work = || {
        for index in indices(&next, n_tasks) {
            let result = task(index);
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            results.push((index, result));
        }
    };
    rayon::in_place_scope(|scope| {
        for _ in 1..n_workers {
            scope.spawn(|_| work());
        }
        work();
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    for (index, result) in results {
        on_result(index, result);
    }
}

/// Unused pools, kept so that threads are not started for every translation.
static IDLE: Mutex<Vec<ThreadPool>> = Mutex::new(Vec::new());

/// Runs `work` in a pool of `n_threads` threads that no other call uses meanwhile.
pub(crate) fn in_pool(n_threads: usize, work: impl FnOnce() + Send) {
    let idle = {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        let has_threads = |pool: &ThreadPool| pool.current_num_threads() == n_threads;
        let found = idle.iter().position(has_threads);
        found.map(|index| idle.swap_remove(index))
    };
    let start = || ThreadPoolBuilder::new().num_threads(n_threads).build().ok();
    let Some(pool) = idle.or_else(start) else {
        // If no thread can be started, this one computes.
        return work();
    };
    pool.install(work);
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let n_idle: usize = idle.iter().map(ThreadPool::current_num_threads).sum();
    if n_idle + n_threads <= 2 * default_threads() {
        idle.push(pool);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_task_runs_once_and_alone_in_its_pool() {
        let mut found = Vec::new();
        let task = |index| (index * index, rayon::current_num_threads());
        run(20, 3, task, |index, result| found.push((index, result)));
        found.sort_unstable();
        let expected: Vec<_> = (0..20).map(|index| (index, (index * index, 1))).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_task_runs_once_in_this_pool() {
        let pool = ThreadPoolBuilder::new().num_threads(3).build();
        let pool = pool.expect("threads can be started");
        for n_tasks in [0, 1, 20] {
            let mut found = Vec::new();
            let task = |index| rayon::join(|| index * index, rayon::current_num_threads);
            pool.install(|| {
                run_in_this_pool(n_tasks, 3, task, |index, it| found.push((index, it)));
            });
            found.sort_unstable();
            let expected: Vec<_> = (0..n_tasks)
                .map(|index| (index, (index * index, 3)))
                .collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_single_task_gets_all_threads() {
        let mut found = Vec::new();
        run(
            1,
            4,
            |_| rayon::current_num_threads(),
            |_, n_threads| found.push(n_threads),
        );
        assert_eq!(found, [4]);
    }

    #[test]
    fn tasks_of_a_caller_inside_a_pool_run_side_by_side() {
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .expect("a thread can be started");
        let mut threads = BTreeSet::new();
        pool.install(|| {
            // Each task waits for the other: one thread alone would never end.
            let barrier = std::sync::Barrier::new(2);
            let task = |_| {
                barrier.wait();
                thread::current().id()
            };
            run(2, 2, task, |_, id| {
                threads.insert(format!("{id:?}"));
            });
        });
        assert_eq!(threads.len(), 2);
    }

    #[test]
    fn nothing_to_do_ends_at_once() {
        run(0, 2, |index| index, |_, _| unreachable!("there is no task"));
    }

    #[test]
    #[should_panic(expected = "task 1")]
    fn a_panic_of_a_task_ends_the_call() {
        run(3, 2, |index| assert_ne!(index, 1, "task 1"), |_, ()| ());
    }
}
