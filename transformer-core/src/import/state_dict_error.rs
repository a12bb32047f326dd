//! [`StateDictError`]: the errors of reading a state dict.

use std::io;
use std::path::PathBuf;

#[cfg(feature = "pytorch")]
use pytorch_reader::PytorchError;
use safetensors::SafeTensorError;

/// Error in reading a file as a state dict.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "a field's name says what it holds")]
pub enum StateDictError {
    /// The file cannot be read.
    #[error("cannot read `{path}`")]
    Read { path: PathBuf, source: io::Error },
    /// The file starts like a safetensors file, but is damaged.
    #[error("`{path}` is damaged: it starts like a safetensors file; download or save it again")]
    Safetensors {
        path: PathBuf,
        source: SafeTensorError,
    },
    /// The file is not one of `torch.save`, or damaged.
    #[cfg(feature = "pytorch")]
    #[error(
        "`{path}` is neither a complete safetensors file nor one of torch.save; get the file again, or save the state \
         dict with one of them"
    )]
    Pytorch { path: PathBuf, source: PytorchError },
    /// The file is not one of safetensors, and the feature `pytorch` is off.
    #[error(
        "`{path}` is not a safetensors file, and this program was built without the cargo feature `pytorch`, which reads \
         files of torch.save; build it with that feature, or save the state dict as safetensors"
    )]
    NoPytorch { path: PathBuf },
    /// A tensor repeats values (stride 0), so that it needs far more memory than the file has bytes.
    #[cfg(feature = "pytorch")]
    #[error(
        "`{name}` in `{path}` repeats its values to {n_bytes} bytes, more than the file has; save it with \
         `.contiguous()`, or leave it out"
    )]
    TooLarge {
        path: PathBuf,
        name: String,
        /// The size of the expanded tensor, in bytes.
        n_bytes: usize,
    },
    /// A tensor has an unsupported data type.
    #[error("`{name}` in `{path}` has the data type {dtype}; save it as float32")]
    Dtype {
        path: PathBuf,
        name: String,
        /// Its data type, as the format calls it.
        dtype: String,
    },
}
