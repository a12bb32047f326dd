//! `cargo xtask`: the chores of this repository.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program prints its results"
)]

mod bench_backends;
mod book_pages;
mod ci;
mod dist;
mod gpu;
mod libtorch;
mod notices;
mod package;
mod process;
mod quick;
mod tidy;
mod web;
mod wheel;

use std::env;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

/// The chores of this repository.
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    disable_help_subcommand = true
)]
enum Chore {
    /// Runs all checks that must pass before a commit, the quickest first.
    Ci,
    /// Checks what changed in minutes: format, rules, lints and unit tests of what it affects, listings of documents.
    Quick(quick::Flags),
    /// Checks the rules that no other tool knows: lengths of files, links, listings, one build of Burn.
    Tidy,
    /// Builds the book of docs/book; runs its programs on request.
    Book(book_pages::Flags),
    /// Packages the crates, compiles them from their packages alone, and runs a program that uses them.
    Package,
    /// Writes THIRD-PARTY.txt: the licenses of the crates in the programs.
    Notices,
    /// Downloads libtorch for the CPU, from PyPI's wheels, to where the build finds it.
    Libtorch,
    /// Builds one benchmark for each backend and compares them: results, speed and memory.
    BenchBackends(bench_backends::Flags),
    /// Runs everything that needs a GPU: comparisons with PyTorch's values, benchmarks, memory over many updates.
    Gpu(gpu::Flags),
    /// Builds the npm package of the translator in the browser.
    Web(web::Flags),
    /// Builds the Python package of the translator.
    Wheel(wheel::Flags),
    /// Builds files to install on Linux: an archive, a Debian package and a container image, with checksums.
    Dist(dist::Flags),
}

fn main() -> ExitCode {
    let root = root();
    let chore = match Chore::try_parse() {
        Ok(chore) => chore,
        Err(error) => {
            let printed = error.print().and_then(|()| io::stdout().flush());
            return match printed {
                _ if error.use_stderr() => ExitCode::from(2),
                Err(lost) if lost.kind() != ErrorKind::BrokenPipe => {
                    eprintln!("error: cannot write to standard output: {lost}");
                    ExitCode::FAILURE
                }
                _ => ExitCode::SUCCESS,
            };
        }
    };
    let result = match chore {
        Chore::Ci => ci::run(&root),
        Chore::Quick(flags) => quick::run(&root, &flags),
        Chore::Tidy => tidy::run(&root),
        Chore::Book(flags) => book_pages::run(&root, &flags),
        Chore::Package => package::run(&root),
        Chore::Notices => notices::write(&root),
        Chore::Libtorch => libtorch::run(&root),
        Chore::BenchBackends(flags) => bench_backends::run(&root, &flags),
        Chore::Gpu(flags) => gpu::run(&root, &flags),
        Chore::Web(flags) => web::run(&root, &flags),
        Chore::Wheel(flags) => wheel::run(&root, &flags),
        Chore::Dist(flags) => dist::run(&root, &flags),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the folder of the repository: the parent of this package, as cargo names it at run time.
///
/// The path at compile time would be wrong if two clones share a target folder: cargo may run the program that the
/// other clone built.
fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package
        .parent()
        .map_or_else(|| package.clone(), Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Chore::command().debug_assert();
    }

    #[test]
    fn unknown_arguments_are_refused() {
        assert!(Chore::try_parse_from(["cargo xtask", "ci", "now"]).is_err());
    }
}
