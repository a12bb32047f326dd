//! The choice of a backend and its devices.
//!
//! The rule is that what was asked for by cargo feature is what runs: the default backend, `flex`, gives way to any other
//! that is compiled in, and a request by name goes before everything.

use burn::tensor::Device;

use super::{Backend, DeviceError};

/// Chooses the backend and returns its device, after one small computation on it has succeeded.
///
/// `requested` is a backend's name, for example what the user put into the environment variable
/// `BURN_DEVICE`; reading it is left to the program. Without one, the first of CUDA, ROCm, Metal,
/// Vulkan, wgpu, libtorch, ndarray and flex that is compiled in is taken.
///
/// That computation is the device's first: from then on Burn refuses to [configure](Device::configure) the types of its
/// numbers. While it lasts, the panic hook of the process is one that says nothing, since drivers panic where
/// there is no device: a panic of another thread is not told, and a hook set meanwhile is lost. Where either
/// matters, take [`Backend::device`], which computes nothing.
///
/// # Errors
///
/// Returns a [`DeviceError`] when the name is empty or unknown, the backend not compiled in, or nothing on the
/// machine can run it.
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
        // Burn reads the variable too, and panics at this value.
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
    backend.try_out(&device)?;
    Ok((backend, device))
}

/// Returns so many devices of one backend, each of which has computed something, with what [`choose`] says about
/// that.
///
/// # Errors
///
/// Returns a [`DeviceError`] when the machine has fewer, or one of them does not compute.
pub fn several(backend: Backend, n_devices: usize) -> Result<Vec<Device>, DeviceError> {
    let mut devices = backend.devices();
    if devices.len() < n_devices {
        return Err(DeviceError::TooFew {
            backend,
            wanted: n_devices,
            found: devices.len(),
            remedy: backend.remedy_for_few(),
        });
    }
    devices.truncate(n_devices);
    for device in &devices {
        backend.try_out(device)?;
    }
    Ok(devices)
}

/// Names the hardware behind a device where the backend knows it, and else the device as Burn does.
///
/// The backends for GPUs know it, so that somebody sees when a program computes Vulkan's commands on the CPU
/// (`llvmpipe`). The device is opened for it, if it was not before.
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

/// Says whether devices of this kind add up tensors between them by themselves, without the host.
///
/// Burn 0.22 does so on CUDA alone, by NCCL; its other backends panic or hold a single device.
pub fn has_collectives(device: &Device) -> bool {
    Backend::Cuda.devices().contains(device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::backend::PREFERENCE;
    use crate::device::is_host;

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
                .starts_with("`gpu` names no backend; choose one of cuda")
        );
    }

    #[cfg(feature = "flex")]
    #[test]
    fn a_processor_is_one_device() {
        let error = several(Backend::Flex, 2).expect_err("flex has one device");
        let expected = "2 devices are asked for, and backend `flex` has 1 here: it is the CPU, whose cores \
                        share an update anyway";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn the_default_backend_gives_way_to_any_other() {
        assert_eq!(PREFERENCE.last(), Some(&Backend::Flex));
    }

    #[cfg(feature = "flex")]
    #[test]
    fn autodiff_does_not_change_where_a_device_is() {
        let device = Device::flex();
        assert!(is_host(&device) && is_host(&device.autodiff()));
    }

    #[cfg(feature = "flex")]
    #[test]
    fn a_device_without_hardware_of_its_own_is_called_as_burn_calls_it() {
        assert_eq!(describe(&Device::flex()), "Device<Flex(Cpu)>");
    }

    #[cfg(not(feature = "cuda"))]
    #[test]
    fn backends_that_are_not_compiled_in_are_refused_with_the_feature_to_add() {
        let error = choose(Some("cuda")).expect_err("cuda is not compiled in");
        assert!(error.to_string().contains("--features cuda"), "{error}");
    }
}
