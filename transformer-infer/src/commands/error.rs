//! Why a command ended early.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use burn::store::RecordError;
use transformer_core::QuantizeError;
use transformer_core::device::DeviceError;
use transformer_core::directory::DirectoryError;
use transformer_core::export::ExportError;
use transformer_core::import::MarianError;
use transformer_core::lines::LineError;
use transformer_infer::TranslatorError;
use transformer_infer::attention::AttentionError;
use transformer_infer::search::SearchError;

use super::{PictureError, PlaceError};

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
    /// There is no attention to show.
    #[error(transparent)]
    Attention(#[from] AttentionError),
    /// The picture cannot be written.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// Nothing may be written where it is wanted.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The model directory is broken.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The model cannot be stored in less precision.
    #[error(transparent)]
    Reduce(#[from] QuantizeError),
    /// A model from elsewhere cannot be imported.
    #[error(transparent)]
    Marian(#[from] MarianError),
    /// A model from elsewhere says to search as nobody can.
    #[error(
        "the generation settings of the model in `{}` describe no search; correct its generation_config.json, or \
         config.json",
        from.display()
    )]
    Generation {
        /// The folder of the model.
        from: PathBuf,
        /// What is wrong, in our words.
        source: SearchError,
    },
    /// A model cannot be exported.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// Weights cannot be put into a file.
    #[error("the weights cannot be put into a file")]
    Record(#[from] RecordError),
    /// A text file or standard input cannot be read.
    #[error(transparent)]
    Lines(#[from] LineError),
    /// Lines of files do not belong together.
    #[error(
        "`{}` has {n_first} lines and `{}` has {n_other}; every line needs its {counterpart}",
        first.display(), other.display()
    )]
    LineCounts {
        /// The file that was read first.
        first: PathBuf,
        /// Its number of lines.
        n_first: usize,
        /// The file that differs.
        other: PathBuf,
        /// Its number of lines.
        n_other: usize,
        /// What a line is without.
        counterpart: &'static str,
    },
    /// Standard input was named more than once.
    #[error(
        "`-` stands for standard input, which can be read only once; give files for the others"
    )]
    StandardInputTwice,
    /// Standard input was named among text.
    #[error(
        "`-` stands for standard input and must come alone; leave it out, or leave out the text"
    )]
    DashAmongText,
    /// Text that the model never writes is banned.
    #[error(
        "`{text}` of `--ban` is blank or has characters that the vocabulary lacks, so that it is never \
         generated; leave it out"
    )]
    Ban {
        /// The text.
        text: String,
    },
    /// A token that the model does not have is banned.
    #[error(
        "`{token}` of `--ban-token` is no token of the vocabulary; `--ban` takes text, and \
         `--json --token-scores` shows tokens"
    )]
    BanToken {
        /// The token, as it was given.
        token: String,
    },
    /// The prefixes do not belong to the text.
    #[error(
        "`{}` has {n_prefixes} lines, and the text has {}; every line needs its prefix, a blank one for none",
        path.display(), if *has_more { "fewer" } else { "more" }
    )]
    Prefixes {
        /// The file with the prefixes.
        path: PathBuf,
        /// Its number of lines.
        n_prefixes: usize,
        /// Whether it has more lines than the text.
        has_more: bool,
    },
    /// A number was given to a smoothing that has none.
    #[error("`--smooth-value` belongs to `--smooth floor` or `--smooth add-k`; give one of these")]
    SmoothValue,
    /// There is nothing to score.
    #[error("`{}` has no line to score", path.display())]
    NothingToScore {
        /// The file without lines.
        path: PathBuf,
    },
    /// There is nothing to compare with the baseline.
    #[error("there is only one translation to compare; give `--hyp` at least twice")]
    OneSystem,
    /// A file cannot be written.
    #[error("cannot write `{}`", path.display())]
    WriteFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Translations and scores would be one text.
    #[error(
        "`--out -` would mix translations with scores; give it a file, or take `translate` and then `bleu`"
    )]
    OutIsDash,
    /// The output would take the place of an input.
    #[error("`{}` is read as well as written; give --out another file", path.display())]
    OutIsInput {
        /// The file.
        path: PathBuf,
    },
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
            Self::Usage(_)
            | Self::StandardInputTwice
            | Self::DashAmongText
            | Self::Ban { .. }
            | Self::BanToken { .. }
            | Self::SmoothValue
            | Self::OneSystem
            | Self::Place(_)
            | Self::OutIsDash
            | Self::OutIsInput { .. } => ExitCode::from(2),
            Self::Attention(AttentionError::NoLayer { .. } | AttentionError::NoHead { .. })
            | Self::Picture(PictureError::Ending { .. })
            | Self::Reduce(
                QuantizeError::AlreadyQuantized { .. } | QuantizeError::FullPrecision { .. },
            ) => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }
}
