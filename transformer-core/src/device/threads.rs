//! Which threads work.

use std::sync::{Mutex, TryLockError};

use burn::tensor::Device;

use super::backend::is_backend;
use super::{Backend, is_in_memory, stay_on_this_thread};

/// Works on a thread of the rayon pool, where the device's numbers lie in the computer's memory: a step of decoding is many
/// small operations, and finds the other threads of the pool awake there.
///
/// Who calls from elsewhere has a thread woken for each operation that threads share. On libtorch, that thread computes
/// alone from then on what libtorch computes, as by [`stay_on_this_thread`]. While one call is at work, others work on the
/// threads that call. What panics in there panics here.
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
/// let logits = device::on_threads(&device, || {
///     let mut state = model.begin(&model.encode(&Padded::new(&[vec![7, EOS]], &device)));
///     model.decode(Tensor::<2, Int>::full([1, 1], BOS, &device), &mut state)
/// });
/// assert_eq!(logits.dims(), [1, 1, 11]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn on_threads<R: Send>(device: &Device, work: impl FnOnce() -> R + Send) -> R {
    // A thread of the pool that waits takes up what waits for the pool: a second call would run inside the first.
    static INSIDE: Mutex<()> = Mutex::new(());
    if !is_in_memory(device) || rayon::current_thread_index().is_some() {
        return work();
    }
    let _inside = match INSIDE.try_lock() {
        Ok(inside) => inside,
        Err(TryLockError::Poisoned(inside)) => inside.into_inner(),
        Err(TryLockError::WouldBlock) => return work(),
    };
    rayon::scope(|_| {
        if is_backend(device, Backend::Tch) {
            stay_on_this_thread();
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

    fn is_inside() -> bool {
        rayon::current_thread_index().is_some()
    }

    #[test]
    fn one_call_works_inside_the_pool_and_those_beside_it_outside() {
        let named = std::env::var("BURN_DEVICE").ok();
        let (_, device) = device::choose(named.as_deref()).expect("tests have a backend");
        let (begin, begun) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let device = &device;
            let first = scope.spawn(move || {
                on_threads(device, move || {
                    begin.send(()).expect("somebody waits for it");
                    // If the second call waited for the first, it would go on, and the test end.
                    let told = ended.recv_timeout(Duration::from_secs(60));
                    (is_inside(), on_threads(device, is_inside), told.is_ok())
                })
            });
            begun.recv().expect("the first call begins");
            assert!(!on_threads(device, is_inside));
            end.send(()).expect("the first call waits for it");
            let (outer, inner, told) = first.join().expect("the first call ends");
            assert_eq!((outer, inner), (is_in_memory(device), is_in_memory(device)));
            assert!(told);
        });
    }
}
