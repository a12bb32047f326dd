//! Backends and the choice between them: the only file that names one.
//!
//! A tensor of Burn carries its [`Device`], so one compiled program can hold several backends. The
//! rule here is that what was asked for by cargo feature is what runs: the default backend, `flex`,
//! gives way to any other that is compiled in, and a request by name goes before everything.

mod error;
#[cfg(feature = "flex")]
mod flex;
#[cfg_attr(
    not(any(feature = "flex", feature = "ndarray", feature = "tch")),
    allow(dead_code, reason = "it is for these backends")
)]
mod host;
#[cfg(feature = "tch")]
mod libtorch;
#[cfg(not(feature = "tch"))]
#[path = "device/no_libtorch.rs"]
mod libtorch;
#[cfg(feature = "ndarray")]
mod ndarray;
mod probe;
mod threads;

use std::fmt;
use std::str::FromStr;

use burn::tensor::Device;
pub use error::DeviceError;
pub(crate) use host::{Host, OnHost, Reach};
pub use libtorch::{change_in_place, is_changeable, stay_on_this_thread};
use probe::probe;
pub use threads::on_threads;

/// Names a backend of Burn by its cargo feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// NVIDIA GPUs through CUDA.
    Cuda,
    /// AMD GPUs through ROCm.
    Rocm,
    /// Apple GPUs through Metal.
    Metal,
    /// GPUs through Vulkan.
    Vulkan,
    /// GPUs through whichever of Vulkan, Metal, DirectX 12 and WebGPU the machine has.
    Wgpu,
    /// The CPU through libtorch.
    Tch,
    /// The CPU through the `ndarray` crate.
    NdArray,
    /// The CPU in pure Rust, Burn's own; the default.
    Flex,
}

/// All backends, in the order in which they are preferred when several are compiled in.
const PREFERENCE: [Backend; 8] = [
    Backend::Cuda,
    Backend::Rocm,
    Backend::Metal,
    Backend::Vulkan,
    Backend::Wgpu,
    Backend::Tch,
    Backend::NdArray,
    Backend::Flex,
];

impl Backend {
    /// Returns the backends of this program, the preferred one first.
    pub fn compiled() -> Vec<Self> {
        PREFERENCE
            .into_iter()
            .filter(|backend| backend.device().is_some())
            .collect()
    }

    /// Returns the name of the cargo feature, which is also the name users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cuda => "cuda",
            Self::Rocm => "rocm",
            Self::Metal => "metal",
            Self::Vulkan => "vulkan",
            Self::Wgpu => "wgpu",
            Self::Tch => "tch",
            Self::NdArray => "ndarray",
            Self::Flex => "flex",
        }
    }

    /// Returns the backend's default device, without touching it, if the backend is compiled in.
    ///
    /// Nothing has been computed on it, unlike on that of [`choose`]: it may not work, and Burn still lets the types
    /// of its numbers be [configured](Device::configure).
    ///
    /// # Example
    ///
    /// ```
    /// use burn::tensor::{DType, FloatDType, Tensor};
    /// use transformer_core::device::Backend;
    ///
    /// let mut device = Backend::Flex.device().expect("flex is compiled in by default");
    /// device.configure(FloatDType::F64)?;
    /// assert_eq!(Tensor::<1>::zeros([3], &device).dtype(), DType::F64);
    /// # Ok::<(), burn::tensor::DeviceError>(())
    /// ```
    #[cfg_attr(
        any(feature = "ndarray", feature = "tch"),
        expect(
            deprecated,
            reason = "Burn 0.22 is the last release with these two backends"
        )
    )]
    pub fn device(self) -> Option<Device> {
        match self {
            #[cfg(feature = "cuda")]
            Self::Cuda => Some(Device::cuda(0usize)),
            #[cfg(feature = "rocm")]
            Self::Rocm => Some(Device::rocm(0usize)),
            #[cfg(feature = "metal")]
            Self::Metal => Some(Device::metal(Default::default())),
            #[cfg(feature = "vulkan")]
            Self::Vulkan => Some(Device::vulkan(Default::default())),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => Some(Device::wgpu(Default::default())),
            #[cfg(feature = "tch")]
            Self::Tch => Some(Device::libtorch()),
            #[cfg(feature = "ndarray")]
            Self::NdArray => Some(Device::ndarray()),
            #[cfg(feature = "flex")]
            Self::Flex => Some(Device::flex()),
            #[cfg(not(all(
                feature = "cuda",
                feature = "rocm",
                feature = "metal",
                feature = "vulkan",
                feature = "wgpu",
                feature = "tch",
                feature = "ndarray",
                feature = "flex"
            )))]
            _ => None,
        }
    }

    /// Returns the devices of this backend that the machine has, each of them once.
    fn devices(self) -> Vec<Device> {
        #[cfg(any(
            feature = "cuda",
            feature = "rocm",
            feature = "metal",
            feature = "vulkan",
            feature = "wgpu"
        ))]
        use burn::tensor::DeviceType;
        match self {
            #[cfg(feature = "cuda")]
            Self::Cuda => Device::enumerate(DeviceType::Cuda).into_vec(),
            #[cfg(feature = "rocm")]
            Self::Rocm => Device::enumerate(DeviceType::Rocm).into_vec(),
            #[cfg(feature = "metal")]
            Self::Metal => Device::enumerate(DeviceType::Metal).into_vec(),
            #[cfg(feature = "vulkan")]
            Self::Vulkan => Device::enumerate(DeviceType::Vulkan).into_vec(),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => Device::enumerate(DeviceType::Wgpu).into_vec(),
            // A CPU is one device, and what is not compiled in is none.
            _ => self.device().into_iter().collect(),
        }
    }

    /// Has a device of this backend compute something.
    fn try_out(self, device: &Device) -> Result<(), DeviceError> {
        probe(device).map_err(|reason| DeviceError::Unavailable {
            backend: self,
            remedy: self.remedy(),
            reason,
        })
    }

    /// Returns what helps when this backend has too few devices.
    fn remedy_for_few(self) -> &'static str {
        match self {
            Self::Cuda | Self::Rocm | Self::Metal | Self::Vulkan | Self::Wgpu => {
                "ask for no more than there are"
            }
            Self::Tch | Self::NdArray | Self::Flex => {
                "it is the CPU, whose cores share an update anyway"
            }
        }
    }

    /// Returns what helps when this backend finds no device.
    fn remedy(self) -> &'static str {
        match self {
            Self::Cuda => "install the NVIDIA driver and the CUDA toolkit, or set BURN_DEVICE=flex",
            Self::Rocm => "install ROCm, or set BURN_DEVICE=flex",
            Self::Metal => "Metal needs macOS and an Apple GPU; elsewhere set BURN_DEVICE=flex",
            Self::Vulkan | Self::Wgpu => {
                "install a Vulkan driver for your GPU, or a software one (on Debian: apt-get install \
                 mesa-vulkan-drivers libvulkan1), or set BURN_DEVICE=flex"
            }
            Self::Tch => "check that libtorch is on the library path, or set BURN_DEVICE=flex",
            Self::NdArray | Self::Flex => "this backend runs on every machine; please report this",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Backend {
    type Err = DeviceError;

    fn from_str(name: &str) -> Result<Self, DeviceError> {
        PREFERENCE
            .into_iter()
            .find(|backend| backend.name() == name)
            .ok_or_else(|| DeviceError::UnknownBackend {
                name: name.to_owned(),
            })
    }
}

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

/// Says whether the device's tensors live in the computer's memory and are computed on by the threads
/// that call.
pub fn is_host(device: &Device) -> bool {
    let hosts = [Backend::Flex, Backend::NdArray];
    hosts.into_iter().any(|host| is_backend(device, host))
}

/// Says whether the device's tensors live in the computer's memory, whoever computes on them.
pub fn is_in_memory(device: &Device) -> bool {
    is_host(device) || is_backend(device, Backend::Tch)
}

/// Computes on the backend of a device whose numbers lie in the computer's memory; `None` if they lie elsewhere.
#[cfg_attr(
    any(feature = "ndarray", feature = "tch"),
    expect(
        deprecated,
        reason = "Burn 0.22 is the last release with these two backends"
    )
)]
pub(crate) fn on_host<C: OnHost>(device: &Device, computation: C) -> Option<C::Output> {
    #[cfg(feature = "flex")]
    if is_backend(device, Backend::Flex) {
        return Some(computation.call::<burn::backend::Flex>());
    }
    #[cfg(feature = "ndarray")]
    if is_backend(device, Backend::NdArray) {
        return Some(computation.call::<burn::backend::NdArray>());
    }
    #[cfg(feature = "tch")]
    if is_backend(device, Backend::Tch) {
        return Some(computation.call::<burn::backend::LibTorch>());
    }
    let _ = (device, computation);
    None
}

/// Says whether the device is the backend's, with or without autodiff.
fn is_backend(device: &Device, backend: Backend) -> bool {
    // Devices are compared without regard to autodiff.
    backend.device().is_some_and(|its_own| its_own == *device)
}

#[cfg(test)]
mod tests {
    use super::*;

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
