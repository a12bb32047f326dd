//! `cargo xtask`: the chores of this repository.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that is called by hand talks to people"
)]

mod ci;
mod tidy;

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;

/// A chore, and what to type for it.
struct Chore {
    name: &'static str,
    purpose: &'static str,
    run: fn(root: &Path) -> Result<()>,
}

const CHORES: [Chore; 2] = [
    Chore {
        name: "ci",
        purpose: "runs everything that must pass before a commit, the quickest first",
        run: ci::run,
    },
    Chore {
        name: "tidy",
        purpose: "checks the rules that no other tool knows: layers, links, one build of Burn",
        run: tidy::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let arguments: Vec<Cow<'_, str>> = arguments.iter().map(|it| it.to_string_lossy()).collect();
    let arguments: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
    match choose(&arguments) {
        Ok(None) => {
            print!("{}", help());
            ExitCode::SUCCESS
        }
        Ok(Some(chore)) => match (chore.run)(&root()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error:#}");
                ExitCode::FAILURE
            }
        },
        Err(misuse) => {
            eprint!("error: {misuse}\n\n{}", help());
            ExitCode::from(2)
        }
    }
}

/// Returns the chore that the arguments ask for, or `None` if they ask for help.
fn choose(arguments: &[&str]) -> Result<Option<&'static Chore>, String> {
    match arguments {
        [] | ["--help" | "-h" | "help"] => Ok(None),
        [name] => match CHORES.iter().find(|chore| chore.name == *name) {
            Some(chore) => Ok(Some(chore)),
            None => Err(format!("there is no command `{name}`")),
        },
        [name, ..] => Err(format!("`{name}` takes no further arguments")),
    }
}

fn help() -> String {
    let chores = CHORES
        .iter()
        .map(|Chore { name, purpose, .. }| format!("    cargo xtask {name:<6}{purpose}\n"));
    format!("Commands:\n{}", chores.collect::<String>())
}

/// Returns the folder of the repository: the parent of this package, as cargo names it at run time.
///
/// The path at compile time would be wrong when two clones share a target folder, where cargo runs the
/// program that the other one built.
fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package
        .parent()
        .map_or_else(|| package.clone(), Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chore_is_found_by_its_name() {
        let chore = choose(&["tidy"]).expect("tidy is a chore");
        assert!(chore.is_some_and(|chore| chore.name == "tidy"));
    }

    #[test]
    fn no_arguments_ask_for_help() {
        assert!(choose(&[]).is_ok_and(|chore| chore.is_none()));
    }

    #[test]
    fn an_unknown_command_is_named() {
        let misuse = choose(&["clean"]).err();
        assert_eq!(misuse.as_deref(), Some("there is no command `clean`"));
    }

    #[test]
    fn a_chore_with_arguments_is_misuse() {
        assert!(choose(&["ci", "now"]).is_err());
    }

    #[test]
    fn help_lists_every_chore() {
        let help = help();
        assert!(CHORES.iter().all(|chore| help.contains(chore.purpose)));
    }
}
