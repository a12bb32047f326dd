//! [`DeviceError`]: the errors of choosing a device, with their remedies.

use super::Backend;

/// Error of choosing a device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "a field's name says what it holds")]
pub enum DeviceError {
    /// The program was built without any backend.
    #[error(
        "no backend is compiled in; build with one of the cargo features flex, ndarray, wgpu, vulkan, metal, tch, \
         cuda, rocm"
    )]
    NoBackend,
    /// No backend has this name.
    #[error(
        "unknown backend `{name}`; choose one of cuda, rocm, metal, vulkan, wgpu, tch, ndarray, flex"
    )]
    UnknownBackend { name: String },
    /// The requested name is empty.
    #[error(
        "BURN_DEVICE is set but empty; unset it, or set it to one of cuda, rocm, metal, vulkan, wgpu, tch, ndarray, \
         flex"
    )]
    EmptyName,
    /// The backend exists but is not compiled into this program.
    #[error(
        "backend `{requested}` is not compiled in (this program has: {compiled}); build again with `--features \
         {requested}`"
    )]
    NotCompiled {
        requested: Backend,
        /// The backends that are compiled in, separated by commas.
        compiled: String,
    },
    /// The backend is compiled in, but finds no hardware or driver to run on.
    #[error("backend `{backend}` finds no device on this machine: {remedy} ({reason})")]
    Unavailable {
        backend: Backend,
        remedy: &'static str,
        /// The backend's own message, on one line.
        reason: String,
    },
    /// The backend has fewer devices than requested.
    #[error(
        "{requested} devices are requested, and backend `{backend}` has {found} here: {remedy}"
    )]
    TooFew {
        backend: Backend,
        requested: usize,
        found: usize,
        remedy: &'static str,
    },
}
