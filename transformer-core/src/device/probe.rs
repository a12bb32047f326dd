//! A check that a device can compute.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

use burn::tensor::{Device, Tensor};

/// Computes `1 + 1` on the device; a driver's panic is returned as one line of text.
pub(super) fn probe(device: &Device) -> Result<(), String> {
    // The panic hook is process-wide: two probes at the same time could leave the silent hook in place.
    static PROBING: Mutex<()> = Mutex::new(());
    let _guard = PROBING.lock().unwrap_or_else(PoisonError::into_inner);
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let computed = panic::catch_unwind(AssertUnwindSafe(|| {
        Tensor::<1>::ones([1], device)
            .add_scalar(1.0)
            .try_into_data()
            .map(|data| data.iter::<f32>().next())
    }));
    panic::set_hook(hook);
    match computed {
        Ok(Ok(Some(2.0))) => Ok(()),
        Ok(Ok(other)) => Err(format!("it computes 1 + 1 = {other:?}")),
        Ok(Err(error)) => Err(first_line(&error.to_string())),
        Err(payload) => {
            let text = payload
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| payload.downcast_ref::<&str>().copied());
            Err(first_line(text.unwrap_or("no reason given")))
        }
    }
}

fn first_line(text: &str) -> String {
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default()
        .to_owned()
}
