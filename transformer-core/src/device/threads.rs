//! The threads that run a translation.

use std::sync::{Mutex, TryLockError};

use burn::tensor::Device;

use super::backend::is_backend;
use super::{Backend, is_cpu_memory, limit_libtorch_to_one_thread};

/// Runs `work` on a thread of the rayon pool if the device's tensors are in CPU memory, else on the
/// calling thread.
///
/// A decoding step is many small operations. Called from outside the pool, each operation that uses
/// several threads has to wake one first; inside the pool they are awake. On libtorch, the pool's
/// thread is then [limited to itself](limit_libtorch_to_one_thread). Only one call at a time uses
/// the pool: others run `work` on their own thread. A panic in `work` propagates to the caller.
///
/// # Example
///
/// ```
/// use burn::tensor::{Int, Tensor};
/// use transformer_core::text::{BOS, EOS};
/// use transformer_core::{Padded, TransformerConfig, device};
///
/// let (_, device) = device::choose(None)?;
/// let config = TransformerConfig { d_model: 16, d_ff: 32, ..TransformerConfig::tiny(11, 11) };
/// let model = config.init(&device)?;
/// let logits = device::in_thread_pool(&device, || {
///     let mut state = model.begin(&model.encode(&Padded::new(&[vec![7, EOS]], &device)));
///     model.decode(Tensor::<2, Int>::full([1, 1], BOS, &device), &mut state)
/// });
/// assert_eq!(logits.dims(), [1, 1, 11]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn in_thread_pool<R: Send>(device: &Device, work: impl FnOnce() -> R + Send) -> R {
    // A waiting thread of the pool takes other tasks of the pool: a second call could run nested in
    // the first.
    static IN_USE: Mutex<()> = Mutex::new(());
    if !is_cpu_memory(device) || rayon::current_thread_index().is_some() {
        return work();
    }
    let _guard = match IN_USE.try_lock() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(guard)) => guard.into_inner(),
        Err(TryLockError::WouldBlock) => return work(),
    };
    rayon::scope(|_| {
        if is_backend(device, Backend::Tch) {
            limit_libtorch_to_one_thread();
        }
        work()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::device;

    fn is_in_pool() -> bool {
        rayon::current_thread_index().is_some()
    }

    #[test]
    fn one_call_runs_in_the_pool_and_concurrent_calls_run_outside() {
        let requested = std::env::var("BURN_DEVICE").ok();
        let (_, device) = device::choose(requested.as_deref()).expect("tests have a backend");
        let (begin, begun) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let device = &device;
            let first = scope.spawn(move || {
                in_thread_pool(device, move || {
                    begin.send(()).expect("the test waits for this message");
                    // The timeout ends the test if the second call waits for the first one.
                    let received = ended.recv_timeout(Duration::from_secs(60));
                    (
                        is_in_pool(),
                        in_thread_pool(device, is_in_pool),
                        received.is_ok(),
                    )
                })
            });
            begun.recv().expect("the first call begins");
            assert!(!in_thread_pool(device, is_in_pool));
            end.send(()).expect("the first call waits for this message");
            let (outer, inner, received) = first.join().expect("the first call ends");
            let expected = is_cpu_memory(device);
            assert_eq!((outer, inner), (expected, expected));
            assert!(received);
        });
    }
}
