//! [`ServeError`]: errors at the start of the server.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use transformer_translate::TranslatorError;

/// Error at the start of the server, with its remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum ServeError {
    #[error(
        "cannot listen on {address}; choose another --port, or stop the program that listens there"
    )]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
    /// The asynchronous runtime, or the handler of signals, cannot be started.
    #[error(
        "cannot start the threads of the server; raise the limits of processes and open files (`ulimit -u -n`)"
    )]
    Start(#[source] io::Error),
    #[error("no model to serve; give at least one --model, or a --models-dir with models")]
    NoModel,
    #[error("cannot read `{}`, the folder of --models-dir; check its path and permissions", path.display())]
    ModelsDir { path: PathBuf, source: io::Error },
    /// A model cannot be loaded, its attention cannot be read, or the threads that translate cannot be started.
    #[error(transparent)]
    Translator(#[from] TranslatorError),
    #[error("loading a model panicked; report the message above with the model")]
    Panic,
    #[error("`{}` and `{}` have the same name, `{name}`; rename one of the folders", first.display(), other.display())]
    SameName {
        name: String,
        first: PathBuf,
        other: PathBuf,
    },
    #[error(
        "`{first}` and `{other}` both translate from {source_language} to {target}; serve one of them, or start a \
         second server"
    )]
    SamePair {
        first: String,
        other: String,
        source_language: String,
        target: String,
    },
    #[error(
        "no model translates {direction} {language}, the language of --pivot; add one with --model, or omit --pivot"
    )]
    Pivot {
        /// `from` or `into`.
        direction: &'static str,
        language: String,
    },
    #[error(
        "the system lets the server open {allowed} files, and it needs {needed}; raise the limit (`ulimit -n {needed}`)"
    )]
    OpenFiles { allowed: u64, needed: u64 },
    #[error(
        "cannot write translated files to `{}`, the temporary folder; set TMPDIR to a folder that this user can write",
        path.display()
    )]
    TemporaryFolder { path: PathBuf, source: io::Error },
    #[error(
        "cannot write glossaries to `{}`, the folder of --glossaries; check its path and permissions", path.display()
    )]
    Glossaries { path: PathBuf, source: io::Error },
    #[error("cannot read the API keys in `{path}`; check its path and permissions")]
    ReadKeys { path: PathBuf, source: io::Error },
    /// A line of the file of API keys is wrong.
    #[error("`{path}`, line {line}: {problem}")]
    Keys {
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// The fault and the expectation, without the key.
        problem: &'static str,
    },
    #[error(
        "invalid origin `{origin}`; give `*`, or a scheme and a host such as https://example.org or chrome-extension://ID"
    )]
    Origin { origin: String },
}
