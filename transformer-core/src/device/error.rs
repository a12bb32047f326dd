//! [`DeviceError`]: the errors of choosing a device, with their remedies.

use super::Backend;

/// Error of choosing a device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum DeviceError {
    #[error(
        "no backend is compiled in; build with one of the cargo features flex, ndarray, wgpu, vulkan, metal, tch, \
         cuda, rocm"
    )]
    NoBackend,
    #[error(
        "unknown backend `{name}`; choose one of cuda, rocm, metal, vulkan, wgpu, tch, ndarray, flex"
    )]
    UnknownBackend { name: String },
    #[error(
        "BURN_DEVICE is set but empty; unset it, or set it to one of cuda, rocm, metal, vulkan, wgpu, tch, ndarray, \
         flex"
    )]
    EmptyName,
    #[error(
        "backend `{requested}` is not compiled in (this program has: {compiled}); build again with `--features \
         {requested}`"
    )]
    NotCompiled {
        requested: Backend,
        /// The backends that are compiled in, separated by commas.
        compiled: String,
    },
    #[error("backend `{backend}` finds no device on this machine: {remedy} ({reason})")]
    Unavailable {
        backend: Backend,
        remedy: &'static str,
        /// The backend's own message, on one line.
        reason: String,
    },
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
