//! [`Backend`]: Burn's backends, by the names of their cargo features.

use burn::tensor::Device;
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use super::DeviceError;

/// A backend of Burn, named after its cargo feature. The most preferred are first, for programs with several of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase", parse_err_ty = DeviceError, parse_err_fn = unknown)]
#[non_exhaustive]
pub enum Backend {
    /// NVIDIA GPUs through CUDA.
    Cuda,
    /// AMD GPUs through ROCm.
    Rocm,
    /// Apple GPUs through Metal.
    Metal,
    /// GPUs through Vulkan.
    Vulkan,
    /// GPUs through Vulkan, Metal, DirectX 12 or WebGPU, whichever the machine has.
    Wgpu,
    /// The CPU through libtorch.
    Tch,
    /// The CPU through the `ndarray` crate.
    NdArray,
    /// The CPU in pure Rust, Burn's own implementation; the default.
    Flex,
}

impl Backend {
    /// Returns the backends compiled into this program, most preferred first.
    pub fn compiled() -> Vec<Self> {
        let all = Self::VARIANTS.iter().copied();
        all.filter(|backend| backend.device().is_some()).collect()
    }

    /// Returns the name of the cargo feature, which is also the name for users.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the backend's default device without using it, or `None` if the backend is not compiled in.
    ///
    /// Unlike [`choose`](super::choose()), this computes nothing on the device: the device may not work, and its
    /// default element types can still be [configured](Device::configure).
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

    pub(super) fn devices(self) -> Vec<Device> {
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
            // The CPU is one device; a backend that is not compiled in has none.
            _ => self.device().into_iter().collect(),
        }
    }

    pub(super) fn remedy_for_few(self) -> &'static str {
        match self {
            Self::Cuda | Self::Rocm | Self::Metal | Self::Vulkan | Self::Wgpu => {
                "ask for no more than there are"
            }
            Self::Tch | Self::NdArray | Self::Flex => {
                "the CPU is one device; its cores already work on each update in parallel"
            }
        }
    }

    pub(super) fn remedy(self) -> &'static str {
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

fn unknown(name: &str) -> DeviceError {
    let name = name.to_owned();
    DeviceError::UnknownBackend { name }
}

pub(super) fn is_backend(device: &Device, backend: Backend) -> bool {
    // Equality of devices ignores autodiff.
    backend.device().is_some_and(|default| default == *device)
}
