//! Why a command ended early.

use std::io;
use std::process::ExitCode;

use transformer_core::device::DeviceError;
use transformer_infer::TranslatorError;
use transformer_infer::search::SearchError;

/// Says why a command ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// No backend can be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The model cannot be read or does not work.
    #[error(transparent)]
    Translator(#[from] TranslatorError),
    /// The flags contradict each other.
    #[error(transparent)]
    Usage(#[from] SearchError),
    /// The text to translate is no text.
    #[error(
        "standard input, line {line}: byte {byte} is not UTF-8; convert the text first, for example \
         with `iconv -f latin1 -t utf-8`"
    )]
    NotUtf8 {
        /// The line, counted from 1.
        line: usize,
        /// The first offending byte in it, counted from 1.
        byte: usize,
    },
    /// Standard input cannot be read.
    #[error("cannot read standard input")]
    Read(#[source] io::Error),
    /// The translation cannot be written.
    #[error("cannot write to standard output")]
    Write(#[source] io::Error),
}

impl CommandError {
    /// Says whether the reader of the output went away, as `head` does: not an error.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Write(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Returns 2 for wrong usage and 1 for failure.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }
}
