//! The choice of a backend and its devices, and a check that a device can compute.
//!
//! A backend requested by name has priority. Without a request, any compiled-in backend is preferred to the default,
//! `flex`, because its cargo feature was enabled on purpose.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

use burn::tensor::{Device, Tensor};

use super::{Backend, DeviceError};

/// Chooses a backend and returns its default device, after a small test computation on it.
///
/// `requested` is the name of a backend, for example the value of the environment variable
/// `BURN_DEVICE`, which the program reads. Without a request, the choice is the first compiled-in
/// backend of CUDA, ROCm, Metal, Vulkan, wgpu, libtorch, ndarray and flex.
///
/// After the test computation, Burn refuses to [configure](Device::configure) the device's default element types.
/// During it, the process has a silent panic hook, because drivers panic if there is no device: a panic of another
/// thread is not printed, and a hook set meanwhile is lost. If either matters, use [`Backend::device`], which computes
/// nothing.
///
/// # Errors
///
/// Returns a [`DeviceError`] if the name is empty or unknown, the backend is not compiled in, or
/// the test computation fails.
///
/// # Example
///
/// ```
/// use transformer_core::device::{self, Backend};
///
/// let (backend, device) = device::choose(Some("flex"))?;
/// assert_eq!(backend, Backend::Flex);
/// # let _ = device;
/// # Ok::<(), transformer_core::device::DeviceError>(())
/// ```
pub fn choose(requested: Option<&str>) -> Result<(Backend, Device), DeviceError> {
    let compiled = Backend::compiled();
    let backend = match requested {
        // Burn reads BURN_DEVICE too, and panics at this value.
        Some("") => return Err(DeviceError::EmptyName),
        Some(name) => name.parse()?,
        None => *compiled.first().ok_or(DeviceError::NoBackend)?,
    };
    let device = backend.device().ok_or_else(|| DeviceError::NotCompiled {
        requested: backend,
        compiled: if compiled.is_empty() {
            "none".to_owned()
        } else {
            compiled
                .iter()
                .map(|backend| backend.name())
                .collect::<Vec<_>>()
                .join(", ")
        },
    })?;
    check(backend, &device)?;
    Ok((backend, device))
}

/// Returns `n_devices` devices of one backend, each after the same test computation as in [`choose`].
///
/// # Errors
///
/// Returns a [`DeviceError`] if the machine has fewer devices, or a test computation fails.
pub fn several(backend: Backend, n_devices: usize) -> Result<Vec<Device>, DeviceError> {
    let mut devices = backend.devices();
    if devices.len() < n_devices {
        return Err(DeviceError::TooFew {
            backend,
            requested: n_devices,
            found: devices.len(),
            remedy: backend.remedy_for_few(),
        });
    }
    devices.truncate(n_devices);
    for device in &devices {
        check(backend, device)?;
    }
    Ok(devices)
}

/// Checks by a test computation that a device of the backend works.
fn check(backend: Backend, device: &Device) -> Result<(), DeviceError> {
    probe(device).map_err(|reason| DeviceError::Unavailable {
        backend,
        remedy: backend.remedy(),
        reason,
    })
}

/// Returns the name of the device's hardware, or Burn's name of the device if the backend does not know it.
///
/// GPU backends know it. This shows, for example, when Vulkan runs on the CPU (`llvmpipe`). The
/// call initializes the device.
///
/// # Example
///
/// ```
/// use transformer_core::device;
///
/// let (_, device) = device::choose(Some("flex"))?;
/// assert_eq!(device::describe(&device), "Device<Flex(Cpu)>");
/// # Ok::<(), transformer_core::device::DeviceError>(())
/// ```
pub fn describe(device: &Device) -> String {
    #[cfg(any(
        feature = "cuda",
        feature = "rocm",
        feature = "metal",
        feature = "vulkan",
        feature = "wgpu"
    ))]
    if let Some(identity) = device.identity().filter(|it| !it.name.trim().is_empty()) {
        return identity.name.trim().to_owned();
    }
    format!("{device:?}")
}

/// Returns whether devices of this kind have an all-reduce, that is, can sum tensors without copies to CPU memory.
///
/// In Burn 0.22 only CUDA has it, through NCCL; the other backends panic, or have a single device.
pub fn has_collectives(device: &Device) -> bool {
    Backend::Cuda.devices().contains(device)
}

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

#[cfg(test)]
mod tests {
    use strum::VariantArray;

    use super::*;
    #[cfg(feature = "flex")]
    use crate::device::is_rust_cpu;

    #[test]
    fn an_empty_name_is_refused_with_the_variable_and_the_names() {
        let error = choose(Some("")).expect_err("there is no backend of that name");
        let expected = "BURN_DEVICE is set but empty; unset it, or set it to one of cuda, rocm, metal, vulkan, \
                        wgpu, tch, ndarray, flex";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn unknown_names_are_refused_with_the_known_ones() {
        let error = choose(Some("gpu")).expect_err("there is no backend of that name");
        assert!(
            error
                .to_string()
                .starts_with("unknown backend `gpu`; choose one of cuda")
        );
    }

    #[cfg(feature = "flex")]
    #[test]
    fn the_cpu_is_one_device() {
        let error = several(Backend::Flex, 2).expect_err("flex has one device");
        let expected = "2 devices are requested, and backend `flex` has 1 here: the CPU is one \
                        device; its cores already work on each update in parallel";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn every_other_backend_is_preferred_to_the_default() {
        assert_eq!(Backend::VARIANTS.last(), Some(&Backend::Flex));
    }

    #[cfg(feature = "flex")]
    #[test]
    fn autodiff_does_not_change_the_backend_of_a_device() {
        let device = Device::flex();
        assert!(is_rust_cpu(&device) && is_rust_cpu(&device.autodiff()));
    }

    #[cfg(feature = "flex")]
    #[test]
    fn the_cpu_has_the_name_that_burn_gives_it() {
        assert_eq!(describe(&Device::flex()), "Device<Flex(Cpu)>");
    }

    #[cfg(not(feature = "cuda"))]
    #[test]
    fn backends_that_are_not_compiled_in_are_refused_with_the_feature_to_add() {
        let error = choose(Some("cuda")).expect_err("cuda is not compiled in");
        assert!(error.to_string().contains("--features cuda"), "{error}");
    }
}
