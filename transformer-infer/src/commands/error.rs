//! [`CommandError`]: errors of a command.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use transformer_core::QuantizeError;
use transformer_core::device::DeviceError;
use transformer_core::directory::{DirectoryError, ExtendVocabularyError};
use transformer_core::export::ExportError;
use transformer_core::import::MarianError;
use transformer_core::lines::LineError;
use transformer_infer::TranslatorError;
use transformer_infer::document::format::{Format, FormatError};
use transformer_infer::document::{DocumentError, ProtectionError};
use transformer_infer::search::SearchError;
use transformer_program::{OutputError, ThreadsError};

use super::{OutputPathError, PictureError};

#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    #[error(
        "cannot start the thread that reads standard input; raise the limit of processes (`ulimit -u`), or give the \
         text as arguments"
    )]
    InputThread(#[source] io::Error),
    #[error(transparent)]
    Translator(#[from] TranslatorError),
    #[error(transparent)]
    Usage(#[from] SearchError),
    #[error(transparent)]
    Picture(#[from] PictureError),
    #[error(transparent)]
    OutputPath(#[from] OutputPathError),
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    #[error(transparent)]
    Reduce(#[from] QuantizeError),
    #[error(transparent)]
    Extend(#[from] ExtendVocabularyError),
    #[error("{origin}: {source}")]
    Piece {
        origin: String,
        source: ExtendVocabularyError,
    },
    #[error("more than {max} pieces to add; give only the most frequent ones")]
    TooManyPieces { max: usize },
    #[error(transparent)]
    Marian(#[from] MarianError),
    #[error(transparent)]
    Export(#[from] ExportError),
    #[error(transparent)]
    Lines(#[from] LineError),
    #[error(
        "`{}` has {n_first} lines and `{}` has {n_other}; every line needs its {counterpart}",
        first.display(),
        other.display()
    )]
    LineCounts {
        first: PathBuf,
        n_first: u64,
        other: PathBuf,
        n_other: u64,
        counterpart: &'static str,
    },
    #[cfg(feature = "serve")]
    #[error("cannot read `{}`, the file of `--config`; check its path and permissions", path.display())]
    ReadConfig { path: PathBuf, source: io::Error },
    #[cfg(feature = "serve")]
    #[error("`{}`: {problem}", path.display())]
    Config { path: PathBuf, problem: String },
    #[error("`--calibrate` is for `--format bergamot` only; leave it out")]
    CalibrateFormat,
    #[error("`{}` was replaced while its shortlist was learned; run the command again", path.display())]
    ModelChanged { path: PathBuf },
    #[error("`-` is standard input, which can be read only once; give files for the others")]
    StandardInputTwice,
    #[error("`-` is standard input and cannot be combined with text; leave out one of them")]
    DashAmongText,
    #[error(
        "`{text}` of `--ban` is blank or has characters that the vocabulary lacks, so it is never generated; leave it \
         out"
    )]
    Ban { text: String },
    #[error(
        "`{token}` of `--ban-token` is not in the vocabulary; ban text with `--ban`, or see tokens with `--json \
         --token-scores`"
    )]
    BanToken { token: String },
    #[error(
        "`{path}` has {n_prefixes} lines, but the text has {}; give each line a prefix, or a blank line for none",
        if *has_more { "fewer" } else { "more" }
    )]
    Prefixes {
        path: PathBuf,
        n_prefixes: u64,
        has_more: bool,
    },
    #[error(
        "`--smooth-value` applies only to `--smooth floor` and `--smooth add-k`; give one of these"
    )]
    SmoothValue,
    #[error(
        "`--mbr {mbr}` chooses among {mbr} translations, with --n-best {n_best} and a beam of {beam}; choose --n-best from 1 to {mbr}, and a beam of at least {mbr}"
    )]
    Mbr {
        mbr: usize,
        n_best: usize,
        beam: usize,
    },
    #[error(
        "`--tokenize {name}` splits lines by a SentencePiece model; give its file by `--tokenize-model FILE`"
    )]
    NoTokenizeModel { name: &'static str },
    #[error(
        "`--tokenize-model` applies only to `--tokenize flores101` and `flores200`; give one of these"
    )]
    TokenizeModel,
    #[error("`{path}` is not a model for `--tokenize flores101` or `flores200`: {problem}")]
    WrongTokenizeModel { path: PathBuf, problem: String },
    #[error("`{path}` has no line to score")]
    NothingToScore { path: PathBuf },
    #[error(
        "`{}` has `model.tying` \"none\", and a shortlist needs the target embeddings as output matrix; train a model with \
         \"decoder\" or \"all\"",
        path.display()
    )]
    UntiedOutput { path: PathBuf },
    #[error("`{}` has no line to learn from; give parallel text, or raise --max-len", path.display())]
    NothingToLearn { path: PathBuf },
    #[error(
        "`{}`, line {line}: `{link}` is not a pair of word indices of both lines, counted from 0, such as `0-2`; align \
         the lines as they are",
        path.display()
    )]
    Alignment {
        path: PathBuf,
        line: usize,
        link: String,
    },
    #[error(
        "only one translation to compare; give `--hyp` at least twice, or --html for a page about one"
    )]
    OneSystem,
    #[error("cannot write `{path}`")]
    WriteFile { path: PathBuf, source: io::Error },
    #[error(
        "`--out -` would mix translations with scores; give it a file, or use `translate` and then `bleu`"
    )]
    OutIsDash,
    #[error("the format of a document from standard input is unknown; give --format")]
    NoFormat,
    #[error(transparent)]
    Format(#[from] FormatError),
    #[error("`{flag}` does not apply to documents in the format {format}; leave it out")]
    FormatFlag { flag: &'static str, format: Format },
    #[error(transparent)]
    Protection(#[from] ProtectionError),
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error("cannot open `{path}`; check the path")]
    OpenFile { path: PathBuf, source: io::Error },
    #[error("`{path}` does not hold rules for XML; correct it at the place that the reason names")]
    Rules {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("`{path}` is both input and output; write to another file with --out")]
    OutIsInput { path: PathBuf },
    #[cfg(feature = "serve")]
    #[error(transparent)]
    Serve(#[from] transformer_infer::serve::ServeError),
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl CommandError {
    pub(crate) fn output(source: io::Error) -> Self {
        Self::Output(source.into())
    }

    /// Returns whether the reader of the output has closed it, as `head` does; this is not a failure.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.is_closed_pipe())
    }

    /// Returns 2 for wrong usage and 1 for other failures.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_)
            | Self::StandardInputTwice
            | Self::DashAmongText
            | Self::Ban { .. }
            | Self::BanToken { .. }
            | Self::SmoothValue
            | Self::NoTokenizeModel { .. }
            | Self::Mbr { .. }
            | Self::TokenizeModel
            | Self::OneSystem
            | Self::OutputPath(_)
            | Self::OutIsDash
            | Self::NoFormat
            | Self::Format(_)
            | Self::FormatFlag { .. }
            | Self::Protection(_)
            | Self::OutIsInput { .. } => ExitCode::from(2),
            #[cfg(feature = "serve")]
            Self::Config { .. } => ExitCode::from(2),
            Self::Translator(TranslatorError::NoLayer { .. } | TranslatorError::NoHead { .. })
            | Self::Picture(PictureError::Ending { .. } | PictureError::NoPage { .. })
            | Self::Reduce(
                QuantizeError::AlreadyQuantized { .. }
                | QuantizeError::FullPrecision { .. }
                | QuantizeError::Run { .. },
            ) => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }
}
