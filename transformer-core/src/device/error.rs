//! [`DeviceError`]: the errors of choosing a device, with their remedies.

use super::Backend;

/// Error of choosing a device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The program was built without any backend.
    #[error(
        "no backend is compiled in; build with one of the cargo features flex, ndarray, wgpu, vulkan, \
         metal, tch, cuda, rocm"
    )]
    NoBackend,
    /// No backend has this name.
    #[error(
        "unknown backend `{name}`; choose one of cuda, rocm, metal, vulkan, wgpu, tch, ndarray, flex"
    )]
    UnknownBackend {
        /// The given name.
        name: String,
    },
    /// The requested name is empty.
    #[error(
        "BURN_DEVICE is set but empty; unset it, or set it to one of cuda, rocm, metal, vulkan, wgpu, tch, \
         ndarray, flex"
    )]
    EmptyName,
    /// The backend exists but is not compiled into this program.
    #[error(
        "backend `{requested}` is not compiled in (this program has: {compiled}); build again with \
         `--features {requested}`"
    )]
    NotCompiled {
        /// The requested backend.
        requested: Backend,
        /// The backends that are compiled in, separated by commas.
        compiled: String,
    },
    /// The backend is compiled in, but finds no hardware or driver to run on.
    #[error("backend `{backend}` finds no device on this machine: {remedy} ({reason})")]
    Unavailable {
        /// The requested backend.
        backend: Backend,
        /// The remedy: the software to install, or an alternative.
        remedy: &'static str,
        /// The backend's own message, on one line.
        reason: String,
    },
    /// The backend has fewer devices than requested.
    #[error(
        "{requested} devices are requested, and backend `{backend}` has {found} here: {remedy}"
    )]
    TooFew {
        /// The requested backend.
        backend: Backend,
        /// Number of requested devices.
        requested: usize,
        /// Number of devices on this machine.
        found: usize,
        /// The remedy.
        remedy: &'static str,
    },
}
