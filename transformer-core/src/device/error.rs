//! [`DeviceError`]: why no device could be had, and what to do.

use super::Backend;

/// Says why no device could be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The program holds no backend at all.
    #[error(
        "no backend is compiled in; build with one of the cargo features flex, ndarray, wgpu, vulkan, \
         metal, tch, cuda, rocm"
    )]
    NoBackend,
    /// The name is no backend's.
    #[error(
        "`{name}` names no backend; choose one of cuda, rocm, metal, vulkan, wgpu, tch, ndarray, flex"
    )]
    UnknownBackend {
        /// The name given.
        name: String,
    },
    /// The name is empty.
    #[error(
        "BURN_DEVICE is set but empty; unset it, or set it to one of cuda, rocm, metal, vulkan, wgpu, tch, \
         ndarray, flex"
    )]
    EmptyName,
    /// The backend exists but is not part of this program.
    #[error(
        "backend `{requested}` is not compiled in (this program has: {compiled}); build again with \
         `--features {requested}`"
    )]
    NotCompiled {
        /// The backend asked for.
        requested: Backend,
        /// The backends that are compiled in, separated by commas.
        compiled: String,
    },
    /// The backend is compiled in, but finds nothing to run on.
    #[error("backend `{backend}` finds no device on this machine: {remedy} ({reason})")]
    Unavailable {
        /// The backend asked for.
        backend: Backend,
        /// What to install or to do instead.
        remedy: &'static str,
        /// What the backend itself said, on one line.
        reason: String,
    },
    /// The backend has fewer devices than are wanted.
    #[error("{wanted} devices are asked for, and backend `{backend}` has {found} here: {remedy}")]
    TooFew {
        /// The backend asked for.
        backend: Backend,
        /// Number of devices asked for.
        wanted: usize,
        /// Number of devices there are.
        found: usize,
        /// What to do instead.
        remedy: &'static str,
    },
}
