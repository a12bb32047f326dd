//! Comparison of the lists with those that are checked in.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;

use super::list::PublicApi;
use super::rustdoc::differences;
use crate::process::target_folder;

/// The libraries.
const PACKAGES: [&str; 3] = ["transformer-core", "transformer-infer", "transformer-train"];

/// Most differences that are shown of one library.
const MOST_SHOWN: usize = 40;

/// Compares what programs can use of the crates with the lists in `xtask/public-api`.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// Writes the lists anew.
    #[arg(long)]
    update: bool,
}

/// Compares the lists, or writes them anew.
pub(crate) fn run(root: &Path, flags: &Flags) -> Result<()> {
    if !flags.update {
        return check(root);
    }
    for package in PACKAGES {
        let api = read(root, package)?;
        let text: String = api.lines.iter().map(|line| format!("{line}\n")).collect();
        let path = list(root, package);
        fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
        println!("{}: {} lines", path.display(), api.lines.len());
    }
    Ok(())
}

/// Compares the lists with the sources, and with rustdoc's pages where `cargo doc` has made them.
pub(crate) fn check(root: &Path) -> Result<()> {
    let pages = target_folder(root)?.join("doc");
    let mut problems = Vec::new();
    for package in PACKAGES {
        let api = read(root, package)?;
        let path = list(root, package);
        let text = fs::read_to_string(&path);
        let text = text.with_context(|| format!("cannot read `{}`", path.display()))?;
        let before: Vec<&str> = text.lines().collect();
        let gone = before.iter().filter(|line| !api.lines.contains(**line));
        let new = api
            .lines
            .iter()
            .filter(|line| before.binary_search(&line.as_str()).is_err());
        let changed: Vec<String> = gone
            .map(|it| format!("- {it}"))
            .chain(new.map(|it| format!("+ {it}")))
            .collect();
        problems.extend(changed.iter().take(MOST_SHOWN).cloned());
        if changed.len() > MOST_SHOWN {
            problems.push(format!(
                "… and {} more lines of {package}",
                changed.len() - MOST_SHOWN
            ));
        }
        let page = pages.join(package.replace('-', "_")).join("all.html");
        if page.exists() {
            problems.extend(differences(&api, &page)?);
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    for problem in &problems {
        println!("{problem}");
    }
    bail!(
        "the crates offer other items than `xtask/public-api` says; run `cargo xtask public-api --update`, and name in \
         CHANGELOG.md what programs must change"
    )
}

fn read(root: &Path, package: &str) -> Result<PublicApi> {
    PublicApi::read(&root.join(package).join("src"), &package.replace('-', "_"))
}

fn list(root: &Path, package: &str) -> PathBuf {
    root.join("xtask/public-api").join(format!("{package}.txt"))
}
