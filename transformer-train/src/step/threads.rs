//! Threads and devices that share an update.

use std::sync::Arc;
use std::{fmt, io};

use burn::tensor::Device;
use burn::tensor::distributed::{DistributedConfig, ReduceOperation};
use burn_train::{ExecutionStrategy, MultiDeviceOptim};
use rayon::{ThreadPool, ThreadPoolBuilder};
use transformer_core::device::{self, limit_libtorch_to_one_thread};

/// A set of threads for data parallelism on the CPU.
///
/// Each thread is a rayon pool of size one. The backends parallelize large operations over the current rayon pool, so
/// here every operation stays on its thread, and shards do not wait for each other. Libtorch's own thread pool is
/// limited to the calling thread as well.
#[derive(Clone)]
pub struct Threads(Arc<[ThreadPool]>);

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Threads({})", self.0.len())
    }
}

impl Threads {
    /// Starts the threads. Returns `None` if `n_threads` is 0 or 1.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system if it does not start all of them. Fewer threads would train another
    /// model.
    pub fn new(n_threads: usize) -> io::Result<Option<Self>> {
        if n_threads <= 1 {
            return Ok(None);
        }
        let pool = |_| ThreadPoolBuilder::new().num_threads(1).build();
        let pools: Result<Vec<_>, _> = (0..n_threads).map(pool).collect();
        let pools = pools.map_err(io::Error::other)?;
        for pool in &pools {
            pool.install(limit_libtorch_to_one_thread);
        }
        Ok(Some(Self(pools.into())))
    }

    /// Returns the number of threads.
    pub fn n_threads(&self) -> usize {
        self.0.len()
    }

    /// Runs `task` on every input, assigned to the threads in turn, and returns the results in the order of the inputs.
    ///
    /// # Panics
    ///
    /// Panics if a task does.
    pub fn run<I: Send, O: Send>(&self, inputs: Vec<I>, task: impl Fn(I) -> O + Sync) -> Vec<O> {
        let mut outputs: Vec<Option<O>> = inputs.iter().map(|_| None).collect();
        let pools = self.0.iter().cycle();
        run_all(inputs.into_iter().zip(&mut outputs).zip(pools), &task);
        let outputs = outputs.into_iter();
        outputs
            .map(|output| output.expect("every task has run"))
            .collect()
    }
}

/// Starts the first task in its pool, then the others, and waits for all.
fn run_all<'a, I: Send, O: Send + 'a>(
    mut tasks: impl Iterator<Item = ((I, &'a mut Option<O>), &'a ThreadPool)>,
    task: &(impl Fn(I) -> O + Sync),
) {
    if let Some(((input, output), pool)) = tasks.next() {
        pool.in_place_scope(|scope| {
            scope.spawn(|_| *output = Some(task(input)));
            run_all(tasks, task);
        });
    }
}

/// Returns Burn's strategy for training on `devices`; the first one validates and saves.
///
/// The gradient of an update is the sum of the gradients of all devices. Each device divides its own by the number of
/// target tokens in the whole update.
///
/// With collective operations (DDP) every device has a copy of the weights and updates it with the summed gradients.
/// Otherwise the first device collects the gradients, updates the weights, and sends them to the others.
pub(crate) fn strategy(devices: &[Device]) -> ExecutionStrategy {
    match devices {
        [device] => ExecutionStrategy::single(device.clone()),
        devices if have_collectives(devices) => {
            let config = DistributedConfig {
                all_reduce_op: ReduceOperation::Sum,
            };
            ExecutionStrategy::ddp(devices.to_vec(), config)
        }
        devices => ExecutionStrategy::multi(devices.to_vec(), MultiDeviceOptim::OptimMainDevice),
    }
}

/// Returns whether the devices sum their gradients by a collective operation (all-reduce).
pub(crate) fn have_collectives(devices: &[Device]) -> bool {
    devices.len() > 1 && devices.iter().all(device::has_collectives)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_the_inputs() {
        let threads = Threads::new(2).expect("the system gives two threads");
        let threads = threads.expect("two are more than one");
        assert_eq!(threads.run(vec![1, 2, 3], |n| n * n), [1, 4, 9]);
    }

    #[test]
    fn a_single_thread_has_no_pool() {
        assert!(matches!(Threads::new(1), Ok(None)));
    }
}
