//! Which threads work.

use burn::tensor::Device;

use super::{Backend, is_backend, is_in_memory, stay_on_this_thread};

/// Works on a thread of the rayon pool, where the device's numbers lie in the computer's memory: a step of decoding is many
/// small operations, and finds the other threads of the pool awake there.
///
/// Who calls from elsewhere has a thread woken for each operation that threads share. On libtorch, that thread computes
/// alone from then on what libtorch computes, as by [`stay_on_this_thread`].
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
    match is_in_memory(device) {
        true => rayon::scope(|_| {
            if is_backend(device, Backend::Tch) {
                stay_on_this_thread();
            }
            work()
        }),
        false => work(),
    }
}
