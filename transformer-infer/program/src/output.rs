//! Arguments, and standard output that must arrive.
//!
//! A program must fail if its output is lost, on a full disk for example. A closed pipe, such as `head`, is not a
//! failure: the reader wants no more. Rust's runtime opens `/dev/null` in place of a standard stream that is closed
//! when a program starts (`>&-` in a shell), before any code of the program runs; so that case looks like `>
//! /dev/null`.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use clap::{Command, Parser};

use transformer_text::one_line;

/// Standard output did not accept everything that was printed.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output")]
pub struct OutputError(#[from] io::Error);

impl OutputError {
    /// Returns whether the reader of the output has closed it, as `head` does; this is not a failure.
    pub fn is_closed_pipe(&self) -> bool {
        self.0.kind() == ErrorKind::BrokenPipe
    }
}

/// Parses the arguments of the program. Prints help, the version, or the error of the arguments.
///
/// # Errors
///
/// Returns the exit code of a program that ends now: 0 after help, 2 after wrong arguments, and 1 if the output did not
/// arrive.
pub fn parse_arguments<P: Parser>() -> Result<P, ExitCode> {
    parse_arguments_of(P::command())
}

/// Like [`parse_arguments`], for a command that differs from the one of the type.
///
/// # Errors
///
/// Returns an exit code as [`parse_arguments`] does.
pub fn parse_arguments_of<P: Parser>(mut command: Command) -> Result<P, ExitCode> {
    let matches = command.try_get_matches_from_mut(std::env::args_os());
    let parsed = matches.and_then(|matches| {
        let parsed = P::from_arg_matches(&matches);
        parsed.map_err(|error| error.format(&mut command))
    });
    let error = match parsed {
        Ok(arguments) => return Ok(arguments),
        Err(error) => error,
    };
    let printed = error.print();
    if error.use_stderr() {
        // If standard error is closed, nothing can be reported.
        return Err(ExitCode::from(2));
    }
    let printed = printed.map_err(OutputError).and_then(|()| check_output());
    Err(match printed {
        Err(error) if !error.is_closed_pipe() => {
            let _ = writeln!(io::stderr(), "error: {}", one_line(&error));
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    })
}

/// Checks that everything printed so far has left the program. Call this before a program reports success.
///
/// # Errors
///
/// Returns an [`OutputError`] if the rest cannot be written, or if standard output is not open for writing, which `std`
/// does not report.
pub fn check_output() -> Result<(), OutputError> {
    io::stdout().flush()?;
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        // `std` ignores EBADF, the error if standard output is open only for reading. An empty write also returns it,
        // and prints nothing.
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        if let Err(error) = std::fs::File::from(output).write(&[])
            && error.raw_os_error() == Some(libc::EBADF)
        {
            return Err(error.into());
        }
    }
    Ok(())
}
